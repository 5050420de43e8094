package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The stages of a whole model: who builds which layers.
 *
 * <p>Stages are listed in the order of the model: segment {@code vp * pipelineSize + pp}.
 *
 * @param pattern the pattern, with the pipes that make these stages if it has any
 * @param ppSize pipeline size
 * @param vpSize virtual stages of each pipeline rank; 1 is none
 * @param stages all stages in model order
 * @param remarks what is odd about them; layers lost or doubled are errors here
 */
public record StageLayout(
        HybridPattern pattern, int ppSize, int vpSize, List<Stage> stages, List<StageRemark> remarks) {

    /** Copies the lists. */
    public StageLayout {
        stages = List.copyOf(stages);
        remarks = List.copyOf(remarks);
    }

    /**
     * The stages that a run with these sizes builds.
     *
     * @param vpSize virtual stages asked for; if empty, as many as the pipes give
     * @throws CheckpointException of kind {@code REFUSED} if the framework would refuse
     */
    public static StageLayout of(HybridPattern pattern, int ppSize, OptionalInt vpSize, EdgeStages edges)
            throws CheckpointException {
        try {
            return ofOrFault(pattern, ppSize, vpSize, edges);
        } catch (PatternFault fault) {
            throw fault.problem().toException("hybrid layer pattern " + PatternProblem.shown(pattern.text()));
        }
    }

    /**
     * The stages that hold so many layers each, in model order.
     *
     * @throws CheckpointException of kind {@code REFUSED} if their sum is not the number of layers, or their number is no
     *     multiple of the pipeline size
     */
    public static StageLayout ofLayerCounts(HybridPattern pattern, int ppSize, List<Integer> counts)
            throws CheckpointException {
        try {
            return ofOrFault(countedOrFault(pattern, ppSize, counts), ppSize, OptionalInt.empty(), EdgeStages.NONE);
        } catch (PatternFault fault) {
            throw fault.problem().toException("layers per stage " + counts);
        }
    }

    static HybridPattern countedOrFault(HybridPattern pattern, int ppSize, List<Integer> counts) throws PatternFault {
        requireSize("pipeline", ppSize);
        if (counts.isEmpty() || counts.size() % ppSize != 0) {
            String message = "%d counts are given for %d pipeline stages".formatted(counts.size(), ppSize);
            throw new PatternFault(
                    Rule.LAYER_COUNTS, message, 0, "give one count for each stage, or a multiple for virtual stages");
        }
        return pattern.withPipesOrFault(counts);
    }

    static StageLayout ofOrFault(HybridPattern pattern, int ppSize, OptionalInt vpSize, EdgeStages edges)
            throws PatternFault {
        requireSize("pipeline", ppSize);
        if (vpSize.isPresent()) {
            requireSize("virtual pipeline", vpSize.getAsInt());
        }
        String main = pattern.main().orElse("");
        int segments = pattern.segments().size();
        int virtual = 1;
        if (segments > 1) {
            if (segments % ppSize != 0) {
                throw StageSelection.unevenSegments(main, segments, ppSize);
            }
            virtual = segments / ppSize;
        }
        if (vpSize.isPresent() && vpSize.getAsInt() != virtual) {
            throw virtualMismatch(segments, ppSize, vpSize.getAsInt(), virtual);
        }
        List<Stage> stages = new ArrayList<>();
        for (int vp = 0; vp < virtual; vp++) {
            OptionalInt stage = virtual > 1 ? OptionalInt.of(vp) : OptionalInt.empty();
            for (int pp = 0; pp < ppSize; pp++) {
                stages.add(StageSelection.selectOrFault(main, pp, ppSize, stage, edges));
            }
        }
        return new StageLayout(pattern, ppSize, virtual, stages, remarks(pattern, ppSize, virtual, edges, stages));
    }

    private static void requireSize(String what, int size) throws PatternFault {
        // Ranks are written with at most a handful of digits; more would only be a slip.
        if (size < 1 || size > 1_000_000) {
            throw new PatternFault(Rule.STAGES, "a %s size of %d is impossible".formatted(what, size), 0, "");
        }
    }

    private static PatternFault virtualMismatch(int segments, int ppSize, int asked, int virtual) {
        if (segments == 1) {
            return new PatternFault(
                    Rule.VIRTUAL_WITHOUT_PIPES,
                    "%d virtual stages need a pattern whose stages are divided by |".formatted(asked),
                    0,
                    "divide the layers into %d segments".formatted((long) asked * ppSize));
        }
        String message = "%d segments on %d pipeline stages make %d virtual stages, not %d"
                .formatted(segments, ppSize, virtual, asked);
        return new PatternFault(Rule.NO_SUCH_SEGMENT, message, 0, "use %d segments".formatted((long) asked * ppSize));
    }

    private static List<StageRemark> remarks(
            HybridPattern pattern, int ppSize, int virtual, EdgeStages edges, List<Stage> stages) {
        List<StageRemark> remarks = new ArrayList<>();
        int[] owners = new int[pattern.layerCount()];
        for (Stage stage : stages) {
            for (int i = 0; i < stage.layerCount(); i++) {
                int layer = stage.offset() + i;
                if (layer >= 0 && layer < owners.length) {
                    owners[layer]++;
                }
            }
        }
        lostAndDoubled(owners, remarks);
        if (edges.given() && ppSize == 1) {
            remarks.add(StageRemark.warning("counts for the first or last stage mean nothing with one pipeline stage"));
        }
        if (ppSize == 1 && virtual > 1) {
            remarks.add(StageRemark.error(
                    "virtual stages with one pipeline rank: training does not start, and a run without virtual stages"
                            + " would build the first segment only; remove the pipes"));
        } else if (ppSize == 2 && virtual > 1) {
            remarks.add(StageRemark.warning(
                    "virtual stages with a pipeline size of 2 need --overlap-p2p-communication to be on"));
        }
        List<String> empty = stages.stream()
                .filter(stage -> stage.layerCount() == 0)
                .map(stage -> "pp " + stage.pp() + (virtual > 1 ? " vp " + stage.vp() : ""))
                .toList();
        if (!empty.isEmpty()) {
            remarks.add(StageRemark.warning("no layers on " + String.join(", ", empty)));
        }
        return remarks;
    }

    private static void lostAndDoubled(int[] owners, List<StageRemark> remarks) {
        List<Integer> lost = new ArrayList<>();
        List<Integer> doubled = new ArrayList<>();
        for (int layer = 0; layer < owners.length; layer++) {
            if (owners[layer] == 0) {
                lost.add(layer);
            } else if (owners[layer] > 1) {
                doubled.add(layer);
            }
        }
        if (!lost.isEmpty()) {
            remarks.add(StageRemark.error("no stage builds layer " + ranges(lost)
                    + ", and the framework does not say so; the stage sizes must add up to " + owners.length));
        }
        if (!doubled.isEmpty()) {
            remarks.add(StageRemark.error("more than one stage builds layer " + ranges(doubled)
                    + ", and the framework does not say so; the stage sizes must add up to " + owners.length));
        }
    }

    private static String ranges(List<Integer> numbers) {
        List<String> texts = new ArrayList<>();
        int start = 0;
        for (int i = 1; i <= numbers.size(); i++) {
            if (i == numbers.size() || numbers.get(i) != numbers.get(i - 1) + 1) {
                int from = numbers.get(start);
                int to = numbers.get(i - 1);
                texts.add(from == to ? Integer.toString(from) : from + "-" + to);
                start = i;
            }
        }
        return String.join(", ", texts);
    }

    /** So many layers for each of {@code stages} stages, as even as possible; the first ones take one more. */
    public static List<Integer> balanced(int layers, int stages) {
        List<Integer> counts = new ArrayList<>(Collections.nCopies(stages, layers / stages));
        for (int stage = 0; stage < layers % stages; stage++) {
            counts.set(stage, counts.get(stage) + 1);
        }
        return counts;
    }

    /** Layers of each stage, in model order. */
    public List<Integer> layerCounts() {
        return stages.stream().map(Stage::layerCount).toList();
    }

    /**
     * One stage.
     *
     * @throws IndexOutOfBoundsException if there is no such stage
     */
    public Stage stage(int pp, int vp) {
        return stages.get(vp * ppSize + pp);
    }

    /** The stage that builds a layer, by the layer's global number; the first if there are several. */
    public Optional<Stage> stageOf(int globalLayer) {
        return stages.stream().filter(stage -> stage.holds(globalLayer)).findFirst();
    }

    /** The first thing that makes this layout unusable, if anything does. */
    public Optional<StageRemark> error() {
        return remarks.stream()
                .filter(remark -> remark.severity() == StageRemark.Severity.ERROR)
                .findFirst();
    }
}
