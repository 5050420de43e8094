package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.completeness.Completeness;
import dev.shardsmith.reshard.completeness.Gap;
import dev.shardsmith.reshard.completeness.ShapeAgreement;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OptimizerContent;
import dev.shardsmith.reshard.view.OptimizerState;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** Plans conversions: from any model view to any layout that its family has. */
public final class Conversion {
    private static final int MOST_NAMED = 10;
    private static final int MOST_CONFLICTS = 3;

    private Conversion() {}

    /**
     * Makes the plan; reads no tensor data and writes nothing.
     *
     * @param source what to convert
     * @param options what the user wants; without a layout, that of the source
     * @throws CheckpointException of kind REFUSED if it cannot be done, with everything that stands against it
     */
    public static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        Layout to = options.to().orElse(source.layout());
        if (!layouts(source.family()).contains(to)) {
            throw noEquivalent(source, to);
        }
        UnusableOptions.refuse(options, source.family(), to);
        requireAgreement(source);
        List<Gap> accepted = requireComplete(source, options);
        requireFit(source);
        source.requireMerged();
        requirePlaceForOptimizer(source, options, to);
        Plan plan = withoutOptimizer(source, options, changed(source, options, to));
        return accepted.isEmpty()
                ? plan
                : plan.withNote("missing in the source, as accepted: "
                        + accepted.stream().map(Gap::name).collect(Collectors.joining(", ")));
    }

    /** Files of several iterations or runs make no model. */
    private static void requireAgreement(ModelView source) throws CheckpointException {
        List<String> conflicts = source.conflicts();
        if (!conflicts.isEmpty()) {
            int shown = Math.min(MOST_CONFLICTS, conflicts.size());
            throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            source.path().toString(),
                            "the rank files are not of one checkpoint: "
                                    + String.join("; ", conflicts.subList(0, shown))
                                    + (conflicts.size() > shown ? "; and " + (conflicts.size() - shown) + " more" : ""))
                    .withHint("bring the files of one iteration of one run together");
        }
    }

    /** Parameters whose shapes contradict each other make no model. */
    private static void requireFit(ModelView source) throws CheckpointException {
        List<String> problems = ShapeAgreement.problems(source);
        if (!problems.isEmpty()) {
            int shown = Math.min(MOST_CONFLICTS, problems.size());
            throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            source.path().toString(),
                            "shapes do not fit each other: " + String.join("; ", problems.subList(0, shown))
                                    + (problems.size() > shown ? "; and " + (problems.size() - shown) + " more" : ""))
                    .withHint("compare the files with their originals; shardsmith validate lists all");
        }
    }

    /** The state of an optimizer is never lost without a word. */
    private static Plan withoutOptimizer(ModelView source, ConversionOptions options, Plan plan) {
        if (!hasOptimizer(source) || options.optimizer() == Keep.KEEP) {
            return plan;
        }
        return plan.withDropped(new Dropped(
                optimizer(source),
                0,
                source.optimizer().bytes(),
                "only the model is converted; --optimizer keep takes it along where its form allows that"));
    }

    private static boolean hasOptimizer(ModelView source) {
        boolean there = source.state().entries().containsKey("optimizer")
                || source.optimizer().files() > 0;
        return source.family() == Family.MEGATRON && there;
    }

    private static String optimizer(ModelView source) {
        OptimizerContent content = source.optimizer();
        return "the optimizer's state (" + content.tensors() + " tensors"
                + (content.files() > 0 ? ", " + content.files() + " files of their own" : "") + ")";
    }

    /** State that is to be kept needs a form that does not depend on ranks, and a target with a place for it. */
    private static void requirePlaceForOptimizer(ModelView source, ConversionOptions options, Layout to)
            throws IOException {
        if (!hasOptimizer(source) || options.optimizer() != Keep.KEEP) {
            return;
        }
        OptimizerState state = source.optimizerState();
        String reason = state.obstacle()
                .map(obstacle -> "it is saved as " + state.encoding() + ": " + obstacle)
                .orElse("a target of the layout " + to.id() + " has no place for it");
        if (state.obstacle().isPresent() || to != Layout.TORCH_DIST) {
            throw CheckpointException.of(
                            state.damaged() ? Kind.INCOMPLETE : Kind.REFUSED,
                            source.path().toString(),
                            optimizer(source) + " cannot be kept: " + reason)
                    .withHint("--optimizer drop writes the weights without it"
                            + (state.obstacle().isPresent()
                                    ? "; or save again with --ckpt-format torch_dist and"
                                            + " --dist-ckpt-optim-fully-reshardable"
                                    : "; --to torch_dist keeps it"));
        }
    }

    /** The plan, of a model that the target's family must see as its own if it comes from the other one. */
    private static Plan changed(ModelView source, ConversionOptions options, Layout to) throws IOException {
        if (source.family() == Family.MEGATRON && to == Layout.MAMBA_SSM) {
            FamilyChange change = FamilyChange.toMamba(source);
            return change.with(plan(change.view(), options, to));
        }
        if (source.family() == Family.MAMBA_SSM && to == Layout.MEGATRON) {
            FamilyChange change = FamilyChange.toMegatron(source);
            return change.with(plan(change.view(), options, to));
        }
        return plan(source, options, to);
    }

    private static Plan plan(ModelView source, ConversionOptions options, Layout to) throws IOException {
        return switch (to) {
            case MEGATRON -> MegatronWriter.plan(source, options);
            case HUGGINGFACE ->
                switch (source.family()) {
                    case MAMBA_SSM -> MambaWriter.planHuggingFace(source, options);
                    case MEGATRON -> NemotronWriter.plan(source, options);
                    case HUGGINGFACE, PLAIN -> HuggingFaceWriter.plan(source, options);
                };
            case TORCH_DIST ->
                source.family() == Family.MEGATRON
                        ? TorchDistWriter.plan(source, options)
                        : PlainDcpWriter.plan(source, options);
            case MAMBA_SSM -> MambaWriter.planRanks(source, options);
            case SAFETENSORS -> PlainFiles.planSafetensors(source, options);
            case PT -> PlainFiles.planPt(source, options);
        };
    }

    /** The layouts that a family can be written in. */
    private static List<Layout> layouts(Family family) {
        return switch (family) {
            case MEGATRON ->
                List.of(
                        Layout.MEGATRON,
                        Layout.TORCH_DIST,
                        Layout.HUGGINGFACE,
                        Layout.MAMBA_SSM,
                        Layout.SAFETENSORS,
                        Layout.PT);
            case MAMBA_SSM ->
                List.of(
                        Layout.MAMBA_SSM,
                        Layout.HUGGINGFACE,
                        Layout.MEGATRON,
                        Layout.TORCH_DIST,
                        Layout.SAFETENSORS,
                        Layout.PT);
            case HUGGINGFACE -> List.of(Layout.HUGGINGFACE, Layout.TORCH_DIST, Layout.SAFETENSORS, Layout.PT);
            case PLAIN -> List.of(Layout.TORCH_DIST, Layout.SAFETENSORS, Layout.PT);
        };
    }

    /**
     * What is missing may only stay so with the user's leave, name by name.
     *
     * @return what is missing with leave
     */
    private static List<Gap> requireComplete(ModelView source, ConversionOptions options) throws CheckpointException {
        List<Gap> gaps = Completeness.of(source).stream()
                // A given pattern says how many layers there are, whatever was saved.
                .filter(gap ->
                        gap.kind() != Gap.Kind.LAST_LAYER || options.pattern().isEmpty())
                .toList();
        List<Gap> missing = gaps.stream()
                .filter(gap -> options.allowMissing().stream().noneMatch(glob -> glob.matches(gap.name())))
                .toList();
        if (!missing.isEmpty()) {
            String named = missing.stream()
                    .limit(MOST_NAMED)
                    .map(gap -> gap.name() + " (" + gap.reason() + ")")
                    .collect(Collectors.joining(", "));
            int more = missing.size() - MOST_NAMED;
            throw CheckpointException.of(
                            Kind.INCOMPLETE,
                            source.path().toString(),
                            "tensors are missing: " + named + (more > 0 ? " and " + more + " more" : ""))
                    .withHint("find the missing files, or accept the gaps with --allow-missing GLOB for each");
        }
        return gaps;
    }

    private static CheckpointException noEquivalent(ModelView source, Layout to) {
        return CheckpointException.of(
                        Kind.REFUSED,
                        source.path().toString(),
                        "a checkpoint of the family " + source.family().id() + " cannot be written as " + to.id())
                .withHint("--to "
                        + layouts(source.family()).stream().map(Layout::id).collect(Collectors.joining(", or --to ")));
    }
}
