package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.verify.diff.TensorPairs;
import dev.shardsmith.verify.inspect.ReplicaDisagreement;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * An output layer that the options tie to the embedding and that the files hold once more, with other values.
 *
 * <p>Which of the two a library runs depends on its version and on the order of the files, so that such a checkpoint is two models.
 */
final class TiedHead {
    private static final List<String> EMBEDDINGS = List.of(
            "embedding.word_embeddings.weight",
            "backbone.embedding.weight",
            "model.embed_tokens.weight",
            "backbone.embeddings.weight",
            "backbone.embedding.weight");
    private static final List<String> HEADS = List.of("output_layer.weight", "lm_head.weight");

    private TiedHead() {}

    /** Reads the two where both are stored, and says so if they differ. */
    static void check(ModelView view, Findings findings) throws IOException {
        Optional<LogicalTensor> embedding = first(view.tensors(), EMBEDDINGS);
        Optional<String> option = option(view);
        if (embedding.isEmpty() || option.isEmpty()) {
            return;
        }
        // That saved options tie a head which is there is known from its name.
        Optional<LogicalTensor> head = view.config().isEmpty() ? Optional.empty() : first(view.tensors(), HEADS);
        if (head.isPresent() && head.get().dtype() == embedding.get().dtype()) {
            if (!head.get().shape().equals(embedding.get().shape())
                    || TensorPairs.compare(embedding.get(), head.get()).isPresent()) {
                say(option.get(), head.get().name(), embedding.get(), findings);
            }
        } else if (head.isPresent()) {
            say(option.get(), head.get().name(), embedding.get(), findings);
        }
        // Where a reader has made the head a copy of the embedding.
        Optional<String> copied = view.ranks().stream()
                .flatMap(rank -> rank.tensors().keySet().stream())
                .filter(HEADS::contains)
                .findFirst();
        if (head.isEmpty()
                && copied.isPresent()
                && !ReplicaDisagreement.of(embedding.get()).isEmpty()) {
            say(option.get(), copied.get(), embedding.get(), findings);
        }
    }

    /** Says so if a stage that has the embedding has an output layer too, although the saved options tie them. */
    static void surplus(ModelView view, Findings findings) {
        boolean tied = view.layout() == ModelView.Layout.MEGATRON
                && view.state().args().map(MegatronArgs::tiedEmbeddings).orElse(false);
        for (RankShard rank : view.ranks()) {
            Set<String> names = rank.tensors().keySet();
            boolean first = rank.pipeline() == 0 && rank.virtual() == 0 && names.contains(EMBEDDINGS.get(0));
            if (tied && first && names.contains(HEADS.get(0))) {
                findings.error(
                        "keys.surplus",
                        HEADS.get(0),
                        "untie_embeddings_and_output_weights is False, so that a stage with the embedding has no output"
                                + " layer of its own, but this one is there",
                        "convert --set untie_embeddings_and_output_weights=True if it is one of its own");
                return;
            }
        }
    }

    private static void say(String option, String head, LogicalTensor embedding, Findings findings) {
        findings.error(
                "config.tied",
                option,
                "it ties the output layer to %s, but %s is stored with other values".formatted(embedding.name(), head),
                "");
    }

    private static Optional<LogicalTensor> first(Map<String, LogicalTensor> tensors, List<String> names) {
        return names.stream().filter(tensors::containsKey).findFirst().map(tensors::get);
    }

    /** The option that ties the two, if one does. */
    private static Optional<String> option(ModelView view) {
        Map<String, Object> config = view.config();
        if (Boolean.TRUE.equals(config.get("tie_word_embeddings"))) {
            return Optional.of("config.json, tie_word_embeddings");
        }
        if (MambaConfig.isOne(config)) {
            return new MambaConfig(config).tied() ? Optional.of("config.json, tie_embeddings") : Optional.empty();
        }
        return config.isEmpty()
                        && view.state().args().isPresent()
                        && view.state().args().get().tiedEmbeddings()
                ? Optional.of("args.untie_embeddings_and_output_weights")
                : Optional.empty();
    }
}
