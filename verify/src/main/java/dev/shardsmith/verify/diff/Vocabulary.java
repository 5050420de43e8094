package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** Which tensors have one row for each token. */
final class Vocabulary {
    private static final List<String> INPUT = List.of(
            "embedding.word_embeddings.weight",
            "backbone.embedding.weight",
            "backbone.embeddings.weight",
            "model.embed_tokens.weight",
            "embed_tokens.weight",
            "embeddings.weight",
            "embedding.weight");
    private static final List<String> OUTPUT = List.of("output_layer.weight", "lm_head.weight");
    private static final List<String> OUTPUT_BIAS = List.of("output_layer.bias", "lm_head.bias");

    private Vocabulary() {}

    static boolean isInput(String name) {
        return matches(INPUT, name);
    }

    static boolean isOutput(String name) {
        return matches(OUTPUT, name);
    }

    /** True if the tensor has a row for each token and at least {@code rows} of them. */
    static boolean hasRows(String name, Shape shape, long rows) {
        boolean perToken = isInput(name) || isOutput(name) ? shape.rank() == 2 : matches(OUTPUT_BIAS, name);
        return perToken && shape.rank() > 0 && shape.size(0) >= rows;
    }

    /** Says so if none of these tensors has so many rows for tokens, so that there is nothing to cut. */
    static Optional<String> uncut(long rows, Collection<LogicalTensor> tensors) {
        return tensors.stream().anyMatch(tensor -> hasRows(tensor.name(), tensor.shape(), rows))
                ? Optional.empty()
                : Optional.of("no padding of a vocabulary is left out: no tensor has a row for each token and at least "
                        + rows + " of them");
    }

    /** True if both have a row for each token, in different numbers and of one size. */
    static boolean differsInRowsAlone(LogicalTensor left, LogicalTensor right) {
        return hasRows(left.name(), left.shape(), 1)
                && hasRows(right.name(), right.shape(), 1)
                && left.shape().rank() == right.shape().rank()
                && left.shape().with(0, right.shape().size(0)).equals(right.shape());
    }

    private static boolean matches(List<String> names, String name) {
        return names.stream().anyMatch(known -> name.equals(known) || name.endsWith("." + known));
    }
}
