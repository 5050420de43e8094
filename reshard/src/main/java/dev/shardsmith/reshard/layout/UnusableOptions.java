package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.ConvNaming;
import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * Refuses options that a target has no place for.
 *
 * <p>A conversion that took no notice of an option would succeed with another result than the one asked for. Sizes of 1 are
 * always accepted: every target has them.
 */
final class UnusableOptions {
    private final List<String> names = new ArrayList<>();

    private UnusableOptions() {}

    /** Fails if an option changes nothing in a target of this layout. */
    static void refuse(ConversionOptions options, Family family, Layout to) throws CheckpointException {
        boolean ranks = to == Layout.MEGATRON || to == Layout.TORCH_DIST && family == Family.MEGATRON;
        boolean folder = to == Layout.HUGGINGFACE;
        boolean rebuilt = ranks || folder && family == Family.MEGATRON;
        UnusableOptions unusable = new UnusableOptions();
        unusable.add("--tp", divides(options.tensor()) && !ranks && to != Layout.MAMBA_SSM);
        unusable.add("--pp", divides(options.pipeline()) && !ranks);
        unusable.add("--vpp", divides(options.virtual()) && !ranks);
        unusable.add("--ep", divides(options.expert()) && !ranks);
        unusable.add("--etp", divides(options.expertTensor()) && !ranks);
        unusable.add("--pp-layers", !options.pipelineLayers().isEmpty() && !ranks);
        unusable.add("--pattern", options.pattern().isPresent() && !rebuilt);
        unusable.add("--vocab-size", options.vocabulary().isPresent() && !rebuilt);
        unusable.add("--pad-vocab-to", options.padVocabularyTo().isPresent() && !rebuilt);
        unusable.add("--strip-padding", options.stripPadding() && !rebuilt);
        unusable.add("--conv1d-naming", options.convNaming() != ConvNaming.KEEP && !ranks);
        unusable.add("--tie", options.tie() != Tie.KEEP && !folder);
        unusable.add(
                "--max-shard-size",
                options.maxShardSize().isPresent() && !folder && (ranks || to != Layout.TORCH_DIST));
        unusable.add("--set", !options.set().isEmpty() && !ranks);
        unusable.add("--multiple-of", options.multipleOf().isPresent() && to != Layout.MAMBA_SSM);
        unusable.add("--drop-layers", !options.dropLayers().isEmpty() && !ranks);
        unusable.add("--norm-naming", options.normNaming() != NormNaming.KEEP && !ranks);
        unusable.add("--model", options.model().isPresent() && !ranks);
        unusable.add("--experts", options.experts().isPresent() && to != Layout.MEGATRON);
        unusable.refuse(family, to);
    }

    private static boolean divides(OptionalInt size) {
        return size.orElse(1) > 1;
    }

    private void add(String name, boolean asked) {
        if (asked) {
            names.add(name);
        }
    }

    private void refuse(Family family, Layout to) throws CheckpointException {
        if (!names.isEmpty()) {
            throw CheckpointException.of(
                            Kind.REFUSED,
                            "",
                            "a conversion of the family " + family.id() + " to " + to.id() + " cannot do "
                                    + String.join(", ", names))
                    .withHint("leave out what is named here, or choose another layout with --to");
        }
    }
}
