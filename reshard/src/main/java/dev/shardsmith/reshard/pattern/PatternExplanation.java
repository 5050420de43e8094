package dev.shardsmith.reshard.pattern;

import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * All there is to say about a pattern: its layers, its stages, or what is wrong with it.
 *
 * @param text the pattern that was explained
 * @param pattern the pattern, if it could be read
 * @param stages the stages, if they could be laid out; without sizes, those of the pipes
 * @param problem what is wrong, if anything is
 * @param warnings what is accepted but odd
 */
public record PatternExplanation(
        String text,
        Optional<HybridPattern> pattern,
        Optional<StageLayout> stages,
        Optional<PatternProblem> problem,
        List<String> warnings) {

    /** Copies the list. */
    public PatternExplanation {
        warnings = List.copyOf(warnings);
    }

    /**
     * Explains a pattern.
     *
     * @param ppSize pipeline size; if empty, every segment is a stage of its own, or {@code vpSize} of them share a rank
     * @param vpSize virtual stages of each rank; if empty, what the pipes give
     * @param layerCounts layers of each stage; empty if not given
     */
    public static PatternExplanation of(
            String text, OptionalInt ppSize, OptionalInt vpSize, List<Integer> layerCounts) {
        HybridPattern pattern;
        try {
            pattern = HybridPattern.parseOrFault(text);
        } catch (PatternFault fault) {
            return new PatternExplanation(
                    text, Optional.empty(), Optional.empty(), Optional.of(fault.problem()), List.of());
        }
        List<String> warnings = new ArrayList<>(pattern.remarks());
        try {
            StageLayout layout = layout(pattern, ppSize, vpSize, layerCounts, warnings);
            Optional<PatternProblem> problem =
                    layout.error().map(remark -> new PatternProblem(Rule.STAGES, remark.message(), 0, ""));
            layout.remarks().stream()
                    .filter(remark -> remark.severity() == StageRemark.Severity.WARNING)
                    .forEach(remark -> warnings.add(remark.message()));
            return new PatternExplanation(text, Optional.of(pattern), Optional.of(layout), problem, warnings);
        } catch (PatternFault fault) {
            return new PatternExplanation(
                    text, Optional.of(pattern), Optional.empty(), Optional.of(fault.problem()), warnings);
        }
    }

    /** Explains the pattern that ratio options stand for, divided as {@link #of} does. */
    public static PatternExplanation ofRatios(
            int layers,
            double attention,
            double mlp,
            OptionalInt ppSize,
            OptionalInt vpSize,
            List<Integer> layerCounts) {
        try {
            String text = RatioPattern.ofOrFault(layers, attention, mlp).text();
            return of(text, ppSize, vpSize, layerCounts);
        } catch (PatternFault fault) {
            return new PatternExplanation(
                    "", Optional.empty(), Optional.empty(), Optional.of(fault.problem()), List.of());
        }
    }

    private static StageLayout layout(
            HybridPattern pattern,
            OptionalInt ppSize,
            OptionalInt vpSize,
            List<Integer> layerCounts,
            List<String> warnings)
            throws PatternFault {
        int segments = layerCounts.isEmpty() ? pattern.segments().size() : layerCounts.size();
        int virtual = Math.max(1, vpSize.orElse(1));
        int pipeline = ppSize.orElse(segments % virtual == 0 ? segments / virtual : segments);
        if (!layerCounts.isEmpty()) {
            if (pattern.hasPipes()) {
                warnings.add("the pipes of the pattern are replaced by the given layers per stage");
            }
            HybridPattern counted = StageLayout.countedOrFault(pattern, pipeline, layerCounts);
            return StageLayout.ofOrFault(counted, pipeline, vpSize, EdgeStages.NONE);
        }
        return StageLayout.ofOrFault(pattern, pipeline, vpSize, EdgeStages.NONE);
    }

    /** Whether the pattern, and the stages asked of it, are usable. */
    public boolean valid() {
        return problem.isEmpty();
    }
}
