package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayerReading;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.ReadAhead;
import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.StepFloor;
import dev.shardsmith.verify.forward.Timeline;
import dev.shardsmith.verify.forward.WeightReader;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;

/**
 * Compares two models layer by layer.
 *
 * <p>Each layer gets an input of its own, the same on both sides, so that one wrong layer does not hide the next.
 */
public final class ForwardCheck {
    private final ForwardBackend backend;
    private final LayeredModel left;
    private final LayeredModel right;
    private final List<Block> leftBlocks;
    private final List<Block> rightBlocks;
    private final List<String> notes;
    private final WideBackend precise;
    private final LayerComparison comparison;
    private final CheckOptions options;
    private final Timeline timeline;

    /** A comparison on a backend, which stays the caller's. */
    public ForwardCheck(ForwardBackend backend, LayeredModel left, LayeredModel right, CheckOptions options) {
        this(backend, left, right, options, new Timeline());
    }

    /** A comparison that notes when it read and computed what. */
    public ForwardCheck(
            ForwardBackend backend, LayeredModel left, LayeredModel right, CheckOptions options, Timeline timeline) {
        this.timeline = timeline;
        this.backend = backend;
        Casts.Sides sides = Casts.sides(left, right);
        this.left = sides.left();
        this.right = sides.right();
        this.notes = new ArrayList<>(sides.notes());
        StepFloor.note(left, right).ifPresent(notes::add);
        this.leftBlocks = this.left.comparedBlocks();
        this.rightBlocks = this.right.comparedBlocks();
        this.options = options;
        this.precise = new WideBackend(backend);
        this.comparison = new LayerComparison(backend, precise, left.width());
    }

    /** The first model as it is compared: its weights are rounded where the other one stores them in a narrower type. */
    public LayeredModel left() {
        return left;
    }

    /** The second model as it is compared. */
    public LayeredModel right() {
        return right;
    }

    /**
     * Runs it.
     *
     * @param progress hears of every row as soon as it is there
     */
    public CheckReport run(Consumer<LayerRow> progress) throws IOException {
        List<LayerRow> rows = new ArrayList<>();
        if (left.width() != right.width()) {
            add(
                    rows,
                    LayerRow.missing(
                            0, Optional.empty(), "model", "widths differ: " + left.width() + " and " + right.width()),
                    progress);
            return new CheckReport(rows, List.of());
        }
        add(rows, embedding(), progress);
        int count = Math.max(leftBlocks.size(), rightBlocks.size());
        HeadComparison head = new HeadComparison(left, right);
        try (ReadAhead ahead = new ReadAhead(backend, steps(count, head), timeline)) {
            for (int i = 0; i < count; i++) {
                Optional<LayerRow> row = row(i, ahead);
                if (row.isPresent()) {
                    add(rows, row.get(), progress);
                }
            }
            add(rows, head(count + 1, head, ahead), progress);
        }
        for (LayerRow row : remainder(count + 2)) {
            add(rows, row, progress);
        }
        return new CheckReport(List.copyOf(rows), notes);
    }

    /** Copies that differ, what either side holds and does not run, and what its weights deny; each once. */
    private List<LayerRow> remainder(int index) throws IOException {
        List<LayerRow> rows = new ArrayList<>(CopyCheck.differences(left, "first", index, options.layers()));
        rows.addAll(CopyCheck.differences(right, "second", index + rows.size(), options.layers()));
        Set<Remainder.NotRun> parts = new LinkedHashSet<>(left.remainder().notRun());
        parts.addAll(right.remainder().notRun());
        for (Remainder.NotRun part : parts) {
            if (part.layer().map(options.layers()::test).orElse(true)) {
                rows.add(LayerRow.notRun(index + rows.size(), part.layer(), part.kind(), part.reason()));
            }
        }
        Set<String> doubts = new LinkedHashSet<>(left.remainder().doubts());
        doubts.addAll(right.remainder().doubts());
        StepFloor.difference(left, right).ifPresent(doubts::add);
        doubts.forEach(doubt -> rows.add(LayerRow.denied(index + rows.size(), doubt)));
        return rows;
    }

    /** What is read, in the order in which it is compared. */
    private List<ReadAhead.Step> steps(int count, HeadComparison head) {
        List<ReadAhead.Step> steps = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            if (isCompared(i)) {
                Block a = leftBlocks.get(i);
                Block b = rightBlocks.get(i);
                steps.add(new ReadAhead.Step(a.layer() + " " + a.kind(), List.of(a.weights(), b.weights())));
            }
        }
        steps.addAll(head.steps());
        return steps;
    }

    private boolean isCompared(int i) {
        return i < leftBlocks.size()
                && i < rightBlocks.size()
                && options.layers().test(leftBlocks.get(i).layer())
                && leftBlocks.get(i).kind().equals(rightBlocks.get(i).kind())
                && leftBlocks.get(i).notRun().isEmpty()
                && rightBlocks.get(i).notRun().isEmpty();
    }

    private static void add(List<LayerRow> rows, LayerRow row, Consumer<LayerRow> progress) {
        rows.add(row);
        progress.accept(row);
    }

    private LayerRow embedding() throws IOException {
        int vocabulary = Math.min(rows(left), rows(right));
        SplittableRandom random = new SplittableRandom(options.seed());
        int length = Math.min(options.length(), Math.min(left.longest(), right.longest()));
        int[] ids = random.ints((long) options.batch() * length, 0, vocabulary).toArray();
        float[] a = left.embed(ids, length);
        float[] b = right.embed(ids, length);
        double[] exact = new double[ids.length];
        Deviation deviation = Deviation.of(
                new Output(new Output.Single(a), exact),
                new Output(new Output.Single(b), exact),
                left.width(),
                left.width());
        TableComparison tokens = TableComparison.ofTokens(left, right);
        TableComparison positions = TableComparison.ofPositions(left, right);
        Optional<String> explanation = Optional.empty();
        if (!deviation.ok()) {
            explanation = Optional.of("the rows of the vocabulary differ");
        }
        Optional<Deviation> token = deviation.ok() ? tokens.difference() : Optional.empty();
        Optional<Deviation> position = deviation.ok() && token.isEmpty() ? positions.difference() : Optional.empty();
        if (token.isPresent()) {
            explanation = Optional.of("row %d of the vocabulary differs".formatted(row(token.get())));
        } else if (position.isPresent()) {
            explanation = Optional.of("row %d of the learned positions differs".formatted(row(position.get())));
        }
        LayerRow row = LayerRow.of(
                0, Optional.empty(), "embedding", token.or(() -> position).orElse(deviation), explanation);
        Optional<String> unmatched = tokens.unmatched(left, right, "rows of the vocabulary");
        if (unmatched.isEmpty()) {
            unmatched = positions.unmatched("learned positions");
        }
        return unmatched.map(row::doubted).orElse(row);
    }

    private static int row(Deviation difference) {
        return difference.where().orElseThrow().token();
    }

    private static int rows(LayeredModel model) {
        return model.embedding().stream()
                .mapToInt(shard -> shard.elements() / model.width())
                .sum();
    }

    private Optional<LayerRow> row(int i, ReadAhead ahead) throws IOException {
        if (i >= leftBlocks.size() || i >= rightBlocks.size()) {
            Block there = i < leftBlocks.size() ? leftBlocks.get(i) : rightBlocks.get(i);
            String side = i < leftBlocks.size() ? "second" : "first";
            return Optional.of(LayerRow.missing(
                    i + 1, Optional.of(there.layer()), there.kind(), "the " + side + " checkpoint has no such layer"));
        }
        Block a = leftBlocks.get(i);
        Block b = rightBlocks.get(i);
        if (!options.layers().test(a.layer())) {
            return Optional.empty();
        }
        if (!a.kind().equals(b.kind())) {
            return Optional.of(LayerRow.missing(
                    i + 1, Optional.of(a.layer()), a.kind(), "the second checkpoint has " + b.kind() + " here"));
        }
        Optional<String> notRun = a.notRun().or(b::notRun);
        if (notRun.isPresent()) {
            return Optional.of(LayerRow.notRun(i + 1, Optional.of(a.layer()), a.kind(), notRun.get()));
        }
        try (LayerReading weights = ahead.next()) {
            return Optional.of(compare(i, a, b, weights));
        }
    }

    private LayerRow compare(int i, Block a, Block b, WeightReader weights) throws IOException {
        float[] input = input(i + 1);
        LayerComparison.Finding finding;
        try {
            finding = comparison.run(a, b, input, options.batch(), weights);
        } catch (IllegalArgumentException e) {
            return LayerRow.missing(i + 1, Optional.of(a.layer()), a.kind(), "shapes do not fit: " + e.getMessage());
        }
        Optional<String> explanation = finding.deviation().ok()
                ? Optional.empty()
                : Optional.of(comparison.explain(a, b, input, options.batch(), finding, weights));
        return LayerRow.of(i + 1, Optional.of(a.layer()), a.kind(), finding.deviation(), explanation);
    }

    private LayerRow head(int index, HeadComparison head, ReadAhead ahead) throws IOException {
        Deviation deviation = head.run(backend, precise, input(index), options.batch(), ahead);
        Optional<String> explanation =
                deviation.ok() ? Optional.empty() : Optional.of("the final norm or rows of the head differ");
        LayerRow row = LayerRow.of(index, Optional.empty(), "head", deviation, explanation);
        return TableComparison.ofHeads(left, right)
                .unmatched(left, right, "rows of the head")
                .map(row::doubted)
                .orElse(row);
    }

    private float[] input(int index) {
        int count = Math.multiplyExact(options.batch() * options.length(), left.width());
        if (options.input().isPresent()) {
            float[] given = options.input().get();
            if (given.length != count) {
                throw new IllegalArgumentException("the input has " + given.length + " elements, not " + count);
            }
            return given;
        }
        SplittableRandom random = new SplittableRandom(options.seed() * 0x9E3779B97F4A7C15L + index);
        float[] input = new float[count];
        for (int i = 0; i < count; i++) {
            input[i] = (float) random.nextGaussian();
        }
        return input;
    }
}
