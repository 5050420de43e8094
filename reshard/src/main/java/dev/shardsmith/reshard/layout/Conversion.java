package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/** Plans conversions: from any model view to any layout that its family has. */
public final class Conversion {
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
        requireMerged(source);
        return switch (to) {
            case MEGATRON -> MegatronWriter.plan(source, options);
            case HUGGINGFACE ->
                source.family() == Family.MAMBA_SSM
                        ? MambaWriter.planHuggingFace(source, options)
                        : NemotronWriter.plan(source, options);
            case TORCH_DIST -> TorchDistWriter.plan(source, options);
            case MAMBA_SSM -> MambaWriter.planRanks(source, options);
            case SAFETENSORS -> PlainFiles.planSafetensors(source, options);
            case PT -> PlainFiles.planPt(source, options);
        };
    }

    /** Shards that no rule knows how to put together cannot be written as anything. */
    private static void requireMerged(ModelView source) throws CheckpointException {
        boolean guessed = source.family() == Family.MAMBA_SSM && source.ranks().size() > 1;
        List<String> unmerged = source.unknown().stream()
                .filter(name -> guessed || !source.tensors().containsKey(name))
                .toList();
        if (!unmerged.isEmpty()) {
            throw CheckpointException.of(
                            Kind.REFUSED,
                            source.path().toString(),
                            "no rule says how the ranks share these parameters: " + String.join(", ", unmerged))
                    .withHint("--rule '" + unmerged.get(0)
                            + "=replicate', or =column (each rank has some rows), or =row (some columns)");
        }
    }

    /** The layouts that a family can be written in. */
    private static List<Layout> layouts(Family family) {
        return switch (family) {
            case MEGATRON ->
                List.of(Layout.MEGATRON, Layout.TORCH_DIST, Layout.HUGGINGFACE, Layout.SAFETENSORS, Layout.PT);
            case MAMBA_SSM -> List.of(Layout.MAMBA_SSM, Layout.HUGGINGFACE, Layout.SAFETENSORS, Layout.PT);
            case HUGGINGFACE, PLAIN -> List.of(Layout.SAFETENSORS, Layout.PT);
        };
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
