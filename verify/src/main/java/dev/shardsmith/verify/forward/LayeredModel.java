package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A language model as a list of blocks.
 *
 * @param width channels of the residual stream
 * @param embedding rows of the vocabulary, rank after rank; each [rows, width]
 * @param positions rows that are added to embedded tokens by their place in the sequence, [places, width]
 * @param embeddingScale factor of an embedded token
 * @param blocks the layers in order
 * @param predictors layers of multi-token prediction, which come after the logits
 * @param finalNorm in front of the head
 * @param head rows of the vocabulary, rank after rank; each [rows, width]
 * @param logitScale factor of the logits
 * @param vocabularySize which rows of the vocabulary mean something
 * @param remainder what the checkpoint holds besides
 * @param stepFloor the least time step that its library takes in Mamba-2 layers, whatever the training framework took; 0 for none
 */
public record LayeredModel(
        int width,
        List<WeightSource> embedding,
        Optional<WeightSource> positions,
        float embeddingScale,
        List<Block> blocks,
        List<Block> predictors,
        Optional<PreNorm> finalNorm,
        List<WeightSource> head,
        float logitScale,
        VocabularySize vocabularySize,
        Remainder remainder,
        double stepFloor) {
    private static final int HEAD_ROWS = 8192;

    /** A model that is all that its checkpoint holds. */
    public LayeredModel(
            int width,
            List<WeightSource> embedding,
            float embeddingScale,
            List<Block> blocks,
            Optional<PreNorm> finalNorm,
            List<WeightSource> head,
            float logitScale) {
        this(
                width,
                embedding,
                Optional.empty(),
                embeddingScale,
                blocks,
                List.of(),
                finalNorm,
                head,
                logitScale,
                VocabularySize.UNKNOWN,
                Remainder.NONE,
                0);
    }

    /** The same of a checkpoint that holds more. */
    public LayeredModel withRemainder(Remainder rest) {
        return with(draft -> draft.remainder = rest);
    }

    /** The same, of whose vocabulary more is known. */
    public LayeredModel withVocabulary(VocabularySize size) {
        return with(draft -> draft.vocabularySize = size);
    }

    /** The same, whose library takes no shorter time steps. */
    public LayeredModel withStepFloor(double floor) {
        return with(draft -> draft.stepFloor = floor);
    }

    /** The same with more that acts on its tokens. */
    public LayeredModel with(Optional<WeightSource> learnedPositions, List<Block> predictionLayers) {
        return with(draft -> {
            draft.positions = learnedPositions;
            draft.predictors = predictionLayers;
        });
    }

    /** The same with other weights of the vocabulary, of positions and of the final norm. */
    public LayeredModel mappedEnds(WeightMap map) {
        return with(draft -> {
            draft.embedding = mapped("embedding.weight", embedding, map);
            draft.positions = map.of("positions.weight", positions);
            draft.finalNorm = finalNorm.map(norm -> norm.mapped(map.under("final_norm.")));
            draft.head = mapped("head.weight", head, map);
        });
    }

    /** The same with other blocks, those of multi-token prediction too. */
    public LayeredModel withBlocks(List<Block> otherBlocks, List<Block> otherPredictors) {
        return with(draft -> {
            draft.blocks = otherBlocks;
            draft.predictors = otherPredictors;
        });
    }

    private static List<WeightSource> mapped(String name, List<WeightSource> shards, WeightMap map) {
        return shards.stream().map(shard -> map.of(name, shard)).toList();
    }

    private LayeredModel with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.model();
    }

    /** A model as it is being changed. */
    private static final class Draft {
        private int width;
        private List<WeightSource> embedding;
        private Optional<WeightSource> positions;
        private float embeddingScale;
        private List<Block> blocks;
        private List<Block> predictors;
        private Optional<PreNorm> finalNorm;
        private List<WeightSource> head;
        private float logitScale;
        private VocabularySize vocabularySize;
        private Remainder remainder;
        private double stepFloor;

        Draft(LayeredModel of) {
            width = of.width;
            embedding = of.embedding;
            positions = of.positions;
            embeddingScale = of.embeddingScale;
            blocks = of.blocks;
            predictors = of.predictors;
            finalNorm = of.finalNorm;
            head = of.head;
            logitScale = of.logitScale;
            vocabularySize = of.vocabularySize;
            remainder = of.remainder;
            stepFloor = of.stepFloor;
        }

        LayeredModel model() {
            return new LayeredModel(
                    width,
                    embedding,
                    positions,
                    embeddingScale,
                    blocks,
                    predictors,
                    finalNorm,
                    head,
                    logitScale,
                    vocabularySize,
                    remainder,
                    stepFloor);
        }
    }

    /** What is compared one by one: the parts of layers and those of multi-token prediction. */
    public List<Block> comparedBlocks() {
        return Stream.concat(blocks.stream(), predictors.stream())
                .flatMap(block -> block.parts().stream())
                .toList();
    }

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

    /** Takes the logits of some rows of the head, as soon as they are there. */
    private interface LogitsSink {
        /** Logits of [tokens, columns], from an entry of the vocabulary on. */
        void take(Pass pass, Signal logits, int from);
    }

    /**
     * Runs the whole model; the weights of one layer at a time are in memory.
     *
     * @param ids [batch, length]
     * @return logits of [batch, length, vocabulary]
     */
    public float[] logits(ForwardBackend backend, int[] ids, int batch, int length, Progress progress)
            throws IOException {
        float[] all = new float[Math.multiplyExact(batch * length, vocabulary())];
        LogitsSink sink =
                (pass, part, from) -> Columns.place(pass.read(part), part.width(), all, vocabulary(), from, ids.length);
        run(backend, ids, batch, length, progress, sink);
        return all;
    }

    /**
     * Runs the whole model as {@link #logits} does, and gives the logits in the precision of the backend.
     *
     * @param ids [batch, length]
     * @return logits of [batch, length, vocabulary]
     */
    public double[] logitsWide(ForwardBackend backend, int[] ids, int batch, int length, Progress progress)
            throws IOException {
        double[] all = new double[Math.multiplyExact(batch * length, vocabulary())];
        LogitsSink sink = (pass, part, from) ->
                Columns.place(pass.readWide(part), part.width(), all, vocabulary(), from, ids.length);
        run(backend, ids, batch, length, progress, sink);
        return all;
    }

    private void run(ForwardBackend backend, int[] ids, int batch, int length, Progress progress, LogitsSink sink)
            throws IOException {
        refuseParts();
        float[] embedded = embed(ids, length);
        double[] hidden = WideArray.widened(embedded);
        int done = 0;
        List<ReadAhead.Step> steps = new ArrayList<>();
        for (Block block : blocks) {
            steps.add(new ReadAhead.Step(block.kind(), List.of(block.weights())));
        }
        List<HeadPart> parts = headParts(vocabulary());
        parts.forEach(part -> steps.add(new ReadAhead.Step("head", List.of(weights(part)))));
        try (ReadAhead ahead = new ReadAhead(backend, steps, new Timeline())) {
            for (Block block : blocks) {
                try (LayerReading weights = ahead.next();
                        Pass pass = new Pass(backend, batch, length, weights)) {
                    pass.embed(embedded, width);
                    double[] branch = pass.readWide(block.branch(pass, pass.inputWide(hidden, width)));
                    double[] next = new double[hidden.length];
                    for (int i = 0; i < next.length; i++) {
                        next[i] = hidden[i] + branch[i];
                    }
                    hidden = next;
                }
                progress.done(++done, blocks.size());
            }
            for (HeadPart part : parts) {
                try (LayerReading weights = ahead.next();
                        Pass pass = new Pass(backend, batch, length, weights)) {
                    sink.take(pass, logits(pass, pass.inputWide(hidden, width), part), part.from());
                }
            }
        }
    }

    /** Logits of a model of which a part is left out would be wrong; multi-token prediction comes after them. */
    private void refuseParts() throws CheckpointException {
        for (String doubt : remainder.doubts()) {
            throw CheckpointException.of(CheckpointException.Kind.INCONSISTENT, "the model", doubt);
        }
        for (Block block : blocks) {
            if (block.notRun().isPresent()) {
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        "layer " + block.layer() + ", " + block.kind(),
                        block.notRun().get());
            }
        }
        for (Remainder.NotRun part : remainder.notRun()) {
            if (!part.kind().equals("mtp")) {
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        part.layer().map(layer -> "layer " + layer).orElse("the model"),
                        "no forward pass is known for " + part.reason());
            }
        }
    }

    /**
     * The embedded tokens, [tokens, width]. Only the rows that they need are read.
     *
     * @param length tokens of each sequence
     */
    public float[] embed(int[] ids, int length) throws IOException {
        float[] hidden = new float[Math.multiplyExact(ids.length, width)];
        int first = 0;
        for (WeightSource shard : embedding) {
            int start = first;
            int end = first + shard.elements() / width;
            int[] here = IntStream.range(0, ids.length)
                    .filter(t -> ids[t] >= start && ids[t] < end)
                    .toArray();
            int[] rows = IntStream.of(here).map(t -> ids[t] - start).toArray();
            float[] values =
                    rows.length == 0 ? new float[0] : shard.gather(width, rows).load();
            for (int i = 0; i < values.length; i++) {
                hidden[here[i / width] * width + i % width] = values[i] * embeddingScale;
            }
            first = end;
        }
        for (int t = 0; t < ids.length; t++) {
            if (ids[t] < 0 || ids[t] >= first) {
                throw new IllegalArgumentException(
                        "token id " + ids[t] + " at position " + t + ", but the vocabulary has " + first + " rows");
            }
        }
        if (positions.isPresent()) {
            addPositions(positions.get(), hidden, length);
        }
        return hidden;
    }

    /** The longest sequence that can be embedded. */
    public int longest() {
        return positions.map(rows -> rows.elements() / width).orElse(Integer.MAX_VALUE);
    }

    private void addPositions(WeightSource rows, float[] hidden, int length) throws IOException {
        if (length > longest()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    "the position embeddings",
                    "sequences of " + length + " tokens, but there are " + longest() + " learned positions");
        }
        float[] values = rows.rows(width, 0, length).load();
        for (int i = 0; i < hidden.length; i++) {
            hidden[i] += values[i % values.length];
        }
    }

    /**
     * Some rows of the head.
     *
     * @param from first row, over all ranks
     * @param weight [rows, width], with the factor of the logits
     */
    public record HeadPart(int from, WeightSource weight) {}

    /** The first {@code vocabulary} rows of the head in parts that are small enough to be loaded whole. */
    public List<HeadPart> headParts(int vocabulary) {
        List<HeadPart> parts = new ArrayList<>();
        for (int from = 0; from < vocabulary; from += HEAD_ROWS) {
            parts.add(new HeadPart(
                    from, headRows(from, Math.min(vocabulary, from + HEAD_ROWS)).scaled(logitScale)));
        }
        return parts;
    }

    /** Rows [from, to) over all ranks. */
    private WeightSource headRows(int from, int to) {
        List<WeightSource> rows = new ArrayList<>();
        int first = 0;
        for (WeightSource shard : head) {
            int count = shard.elements() / width;
            int begin = Math.max(from, first);
            int end = Math.min(to, first + count);
            if (begin < end) {
                rows.add(end - begin == count ? shard : shard.rows(width, begin - first, end - begin));
            }
            first += count;
        }
        return WeightSource.concat(rows);
    }

    /**
     * The logits that some rows of the head make of hidden activations.
     *
     * @param hidden [tokens, width]
     */
    public Signal logits(Pass pass, Signal hidden, HeadPart part) throws IOException {
        Signal normed = finalNorm.isPresent() ? finalNorm.get().apply(pass, hidden) : hidden;
        return pass.linear(normed, part.weight(), Optional.empty());
    }

    /** The weights of a part of the head and of the norm in front of it. */
    public List<WeightSource> weights(HeadPart part) {
        List<WeightSource> weights = new ArrayList<>();
        finalNorm.ifPresent(norm -> weights.addAll(norm.weights()));
        weights.add(part.weight());
        return weights;
    }
}
