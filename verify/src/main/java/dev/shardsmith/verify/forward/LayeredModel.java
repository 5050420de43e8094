package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * A language model as a list of blocks.
 *
 * @param width channels of the residual stream
 * @param embedding rows of the vocabulary, rank after rank; each [rows, width]
 * @param embeddingScale factor of an embedded token
 * @param blocks the layers in order
 * @param finalNorm in front of the head
 * @param head rows of the vocabulary, rank after rank; each [rows, width]
 * @param logitScale factor of the logits
 */
public record LayeredModel(
        int width,
        List<WeightSource> embedding,
        float embeddingScale,
        List<Block> blocks,
        Optional<PreNorm> finalNorm,
        List<WeightSource> head,
        float logitScale) {
    private static final int HEAD_ROWS = 8192;

    /** Hears of each layer as a whole run goes on. */
    @FunctionalInterface
    public interface Progress {
        /** A number of blocks out of all is done. */
        void done(int blocks, int all);
    }

    /** Rows of the vocabulary, padding included. */
    public int vocabulary() {
        return head.stream().mapToInt(WeightSource::elements).sum() / width;
    }

    /**
     * Runs the whole model; the weights of one layer at a time are in memory.
     *
     * @param ids [batch, length]
     * @return logits of [batch, length, vocabulary]
     */
    public float[] logits(ForwardBackend backend, int[] ids, int batch, int length, Progress progress)
            throws IOException {
        float[] hidden = embed(ids);
        int done = 0;
        for (Block block : blocks) {
            try (Pass pass = new Pass(backend, batch, length, 0)) {
                float[] branch = pass.read(block.branch(pass, pass.input(hidden, width)));
                float[] next = new float[hidden.length];
                for (int i = 0; i < next.length; i++) {
                    next[i] = hidden[i] + branch[i];
                }
                hidden = next;
            }
            progress.done(++done, blocks.size());
        }
        return head(backend, hidden, batch, length, 0).values();
    }

    /** The embedded tokens, [tokens, width]. */
    public float[] embed(int[] ids) throws IOException {
        float[] hidden = new float[Math.multiplyExact(ids.length, width)];
        boolean[] found = new boolean[ids.length];
        int first = 0;
        for (WeightSource shard : embedding) {
            float[] rows = shard.load();
            int count = rows.length / width;
            for (int t = 0; t < ids.length; t++) {
                int row = ids[t] - first;
                if (row >= 0 && row < count) {
                    for (int c = 0; c < width; c++) {
                        hidden[t * width + c] = rows[row * width + c] * embeddingScale;
                    }
                    found[t] = true;
                }
            }
            first += count;
        }
        for (int t = 0; t < ids.length; t++) {
            if (!found[t]) {
                throw new IllegalArgumentException(
                        "token id " + ids[t] + " at position " + t + ", but the vocabulary has " + first + " rows");
            }
        }
        return hidden;
    }

    /**
     * What the head makes of hidden activations.
     *
     * @param values logits of [tokens, vocabulary]
     * @param error estimated rounding error of each token
     */
    public record Logits(float[] values, double[] error) {}

    /** The logits of hidden activations of [tokens, width]. */
    public Logits head(ForwardBackend backend, float[] hidden, int batch, int length, double weightUnit)
            throws IOException {
        int vocabulary = vocabulary();
        float[] logits = new float[Math.multiplyExact(batch * length, vocabulary)];
        double[] error = new double[batch * length];
        try (Pass pass = new Pass(backend, batch, length, weightUnit)) {
            Signal input = pass.input(hidden, width);
            Signal normed = finalNorm.isPresent() ? finalNorm.get().apply(pass, input) : input;
            int column = 0;
            for (WeightSource shard : head) {
                int rows = shard.elements() / width;
                for (int from = 0; from < rows; from += HEAD_ROWS) {
                    int count = Math.min(HEAD_ROWS, rows - from);
                    WeightSource part = count == rows ? shard : shard.rows(width, from, count);
                    Signal columns = pass.linear(normed, part.scaled(logitScale), Optional.empty());
                    float[] values = pass.read(columns);
                    for (int t = 0; t < batch * length; t++) {
                        System.arraycopy(values, t * count, logits, t * vocabulary + column + from, count);
                        error[t] = Math.max(error[t], columns.error()[t]);
                    }
                }
                column += rows;
            }
        }
        return new Logits(logits, error);
    }
}
