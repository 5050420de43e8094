package dev.shardsmith.verify.check;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.Mamba2Mixer.Options;
import dev.shardsmith.verify.forward.Mamba2Mixer.Shard;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/** Mistakes with a Mamba-2 mixer. */
final class Mamba2Hypotheses {
    private static final int Z = 2;
    private static final int X = 3;
    private static final int B = 4;
    private static final int C = 5;
    private static final int STEP = 6;

    private final Hypotheses.Pair pair;
    private final Mamba2Mixer left;
    private final Mamba2Mixer right;

    Mamba2Hypotheses(Hypotheses.Pair pair, Mamba2Mixer left, Mamba2Mixer right) {
        this.pair = pair;
        this.left = left;
        this.right = right;
    }

    void add() {
        addComponents();
        addConvolution();
        addHeads();
        addForms();
        addCuts();
        addBiases();
    }

    private int[] rows(Shard s) {
        int inner = s.heads() * right.options().headDim();
        int columns = s.groups() * right.options().state();
        return new int[] {s.bypass(), s.bypass(), inner, inner, columns, columns, s.heads()};
    }

    private int[] channels(Shard s) {
        int inner = s.heads() * right.options().headDim();
        int columns = s.groups() * right.options().state();
        return new int[] {inner, columns, columns};
    }

    private void each(String text, UnaryOperator<Shard> change) {
        pair.right(text, right.withShards(change));
    }

    private static Shard inProj(Shard s, RowOrder order) {
        return s.withInProj(order.of(s.inProj())).withInBias(order.of(s.inBias()));
    }

    private static Shard conv(Shard s, RowOrder order) {
        return s.withConv(order.of(s.conv())).withConvBias(order.of(s.convBias()));
    }

    private void addComponents() {
        each("z and x are exchanged in in_proj", s -> inProj(s, RowOrder.exchanged(rows(s), Z, X)));
        each("B and C are exchanged in in_proj", s -> inProj(s, RowOrder.exchanged(rows(s), B, C)));
        each("B and C are exchanged in the convolution", s -> conv(s, RowOrder.exchanged(channels(s), 1, 2)));
        each(
                "B and C are exchanged in in_proj and the convolution",
                s -> conv(inProj(s, RowOrder.exchanged(rows(s), B, C)), RowOrder.exchanged(channels(s), 1, 2)));
    }

    private void addConvolution() {
        for (int by : new int[] {-1, 1}) {
            each("the channels of the convolution are shifted by one", s -> {
                int count = IntStream.of(channels(s)).sum();
                return conv(s, RowOrder.shifted(count, by));
            });
            each("the taps of the convolution are shifted by one", s -> s.withConv(taps(s, by)));
        }
        each("the taps of the convolution are in reverse order", s -> {
            int kernel = kernel(s);
            return s.withConv(everyRow(s.conv(), RowOrder.reversed(kernel).rows()));
        });
    }

    private int kernel(Shard s) {
        return s.conv().elements() / IntStream.of(channels(s)).sum();
    }

    private WeightSource taps(Shard s, int by) {
        return everyRow(s.conv(), RowOrder.shifted(kernel(s), by).rows());
    }

    private static WeightSource everyRow(WeightSource weight, int[] order) {
        int[] all = new int[weight.elements()];
        for (int i = 0; i < all.length; i++) {
            all[i] = i / order.length * order.length + order[i % order.length];
        }
        return weight.gather(1, all);
    }

    private void addHeads() {
        for (int by : new int[] {-1, 1}) {
            each(
                    "the heads of A_log are shifted by one",
                    s -> s.withALog(heads(s, by).of(s.aLog())));
            each(
                    "the heads of dt_bias are shifted by one",
                    s -> s.withDtBias(heads(s, by).of(s.dtBias())));
            each("the heads of D are shifted by one", s -> s.withD(heads(s, by).of(s.d())));
            each("the heads of dt are shifted by one in in_proj", s -> inProj(s, part(s, STEP, by, 1)));
            each(
                    "the heads of z are shifted by one in in_proj",
                    s -> inProj(s, part(s, Z, by, right.options().headDim())));
            each(
                    "the heads of x are shifted by one in in_proj",
                    s -> inProj(s, part(s, X, by, right.options().headDim())));
            each(
                    "the columns of out_proj are shifted by one head",
                    s -> s.withOutProj(columns(s, by * right.options().headDim())));
            each(
                    "the weights of the gated norm are shifted by one head",
                    s -> s.withNorm(heads(s, by).of(s.norm())));
        }
        each("heads are in the order of group h modulo the number of groups", this::modulo);
    }

    private static RowOrder heads(Shard s, int by) {
        return RowOrder.shifted(s.heads(), by);
    }

    private RowOrder part(Shard s, int component, int by, int unit) {
        int[] sizes = rows(s);
        int from = IntStream.range(0, component).map(i -> sizes[i]).sum();
        return RowOrder.shiftedPart(IntStream.of(sizes).sum(), from, sizes[component], by * unit);
    }

    private WeightSource columns(Shard s, int by) {
        int width = s.outProj().elements() / right.width();
        return everyRow(
                s.outProj(),
                RowOrder.shiftedPart(width, s.bypass(), width - s.bypass(), by).rows());
    }

    /** Brings heads that were laid out for {@code h % groups} into the order of {@code h / (heads / groups)}. */
    private Shard modulo(Shard s) {
        int perGroup = s.heads() / s.groups();
        int headDim = right.options().headDim();
        int[] heads = IntStream.range(0, s.heads())
                .map(i -> i % perGroup * s.groups() + i / perGroup)
                .toArray();
        int[] rows = rows(s);
        int all = IntStream.of(rows).sum();
        int z = 2 * s.bypass();
        RowOrder order = RowOrder.heads(heads, headDim, z, all)
                .then(RowOrder.heads(heads, headDim, z + rows[Z], all))
                .then(RowOrder.heads(heads, 1, all - s.heads(), all));
        RowOrder channels =
                RowOrder.heads(heads, headDim, 0, IntStream.of(channels(s)).sum());
        RowOrder single = new RowOrder(heads);
        RowOrder columns = RowOrder.heads(heads, headDim, s.bypass(), s.bypass() + rows[Z]);
        return conv(inProj(s, order), channels)
                .withALog(single.of(s.aLog()))
                .withD(single.of(s.d()))
                .withDtBias(single.of(s.dtBias()))
                .withNorm(single.of(s.norm()))
                .withOutProj(everyRow(s.outProj(), columns.rows()));
    }

    private void addForms() {
        Options o = right.options();
        int inner =
                right.shards().stream().mapToInt(s -> s.heads() * o.headDim()).sum();
        int groups = right.shards().stream().mapToInt(Shard::groups).sum();
        int local = right.shards().get(0).heads() * o.headDim();
        for (int group : new int[] {left.options().normGroup(), local, o.headDim(), inner / groups, local / groups}) {
            if (group > 0 && group != o.normGroup() && local % group == 0) {
                pair.right(
                        "the gated norm takes " + o.normGroup() + " channels together, not " + group,
                        right.withOptions(new Options(
                                o.headDim(), o.state(), o.timeStep(), group, o.epsilon(), o.normBeforeGate())));
            }
        }
        pair.right(
                "the gate comes on the other side of the norm",
                right.withOptions(new Options(
                        o.headDim(), o.state(), o.timeStep(), o.normGroup(), o.epsilon(), !o.normBeforeGate())));
        for (TimeStep step : List.of(left.options().timeStep(), TimeStep.SOFTPLUS)) {
            pair.right(
                    "time steps are limited to [%s, %s]"
                            .formatted(o.timeStep().min(), o.timeStep().max()),
                    right.withOptions(
                            new Options(o.headDim(), o.state(), step, o.normGroup(), o.epsilon(), o.normBeforeGate())));
        }
        pair.left("D is missing or zero", left.withShards(s -> s.withD(s.d().scaled(0))));
        pair.left(
                "A_log was stored as exp(A_log), or read as such",
                left.withShards(s -> s.withALog(new Exponential(s.aLog()))));
    }

    private void addCuts() {
        int ranks = right.shards().size();
        if (ranks == 1) {
            int others = left.shards().size();
            Shard whole = right.shards().get(0);
            if (RowOrder.divides(rows(whole), others)) {
                each(
                        "in_proj holds the ranks' parts one after the other",
                        s -> inProj(s, RowOrder.ranksToComponents(rows(s), others)));
            }
            if (RowOrder.divides(channels(whole), others)) {
                each(
                        "the convolution holds the ranks' parts one after the other",
                        s -> conv(s, RowOrder.ranksToComponents(channels(s), others)));
            }
            return;
        }
        if (right.shards().stream().map(Shard::heads).distinct().count() == 1) {
            pair.right("in_proj was cut over ranks as one block", recut(true));
            pair.right("the convolution was cut over ranks as one block", recut(false));
        }
        pair.right("the ranks of out_proj are in another order", reordered());
    }

    private Mamba2Mixer recut(boolean projection) {
        int ranks = right.shards().size();
        WeightSource weights = WeightSource.concat(right.shards().stream()
                .map(s -> projection ? s.inProj() : s.conv())
                .toList());
        List<Optional<WeightSource>> biases = right.shards().stream()
                .map(s -> projection ? s.inBias() : s.convBias())
                .toList();
        Optional<WeightSource> bias = biases.get(0).isPresent()
                ? Optional.of(WeightSource.concat(WeightSource.present(biases)))
                : Optional.empty();
        List<Shard> shards = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            Shard s = right.shards().get(rank);
            int[] sizes = IntStream.of(projection ? rows(s) : channels(s))
                    .map(size -> size * ranks)
                    .toArray();
            int all = IntStream.of(sizes).sum();
            RowOrder order = RowOrder.ofRank(sizes, ranks, rank);
            WeightSource own = order.from(weights, all);
            Optional<WeightSource> ownBias = bias.map(whole -> order.from(whole, all));
            shards.add(
                    projection
                            ? s.withInProj(own).withInBias(ownBias)
                            : s.withConv(own).withConvBias(ownBias));
        }
        return new Mamba2Mixer(right.width(), right.options(), shards, right.outBias());
    }

    private Mamba2Mixer reordered() {
        List<Shard> shards = new ArrayList<>();
        int ranks = right.shards().size();
        for (int rank = 0; rank < ranks; rank++) {
            shards.add(right.shards()
                    .get(rank)
                    .withOutProj(right.shards().get((rank + 1) % ranks).outProj()));
        }
        return new Mamba2Mixer(right.width(), right.options(), shards, right.outBias());
    }

    private void addBiases() {
        pair.left("the bias of the convolution is missing", left.withShards(s -> s.withConvBias(Optional.empty())));
        pair.left("the bias of in_proj is missing", left.withShards(s -> s.withInBias(Optional.empty())));
        OutBiases.add(
                pair,
                left.outBias(),
                left::withOutBias,
                left.shards().size(),
                right.shards().size());
    }

    /** {@code log(-A)} where the decays themselves were taken for their logarithms. */
    private record Exponential(WeightSource source) implements WeightSource {
        @Override
        public int elements() {
            return source.elements();
        }

        @Override
        public Set<DType> types() {
            return source.types();
        }

        @Override
        public float[] load() throws IOException {
            float[] values = source.load().clone();
            for (int i = 0; i < values.length; i++) {
                values[i] = (float) Math.exp(values[i]);
            }
            return values;
        }
    }
}
