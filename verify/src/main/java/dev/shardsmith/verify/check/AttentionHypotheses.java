package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.AttentionMixer.Options;
import dev.shardsmith.verify.forward.AttentionMixer.Shard;
import dev.shardsmith.verify.forward.Rotary;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.IntStream;

/** Mistakes with attention. */
final class AttentionHypotheses {
    private final Hypotheses.Pair pair;
    private final AttentionMixer left;
    private final AttentionMixer right;

    AttentionHypotheses(Hypotheses.Pair pair, AttentionMixer left, AttentionMixer right) {
        this.pair = pair;
        this.left = left;
        this.right = right;
    }

    void add() {
        int headDim = right.options().headDim();
        rows("k and v are exchanged", s -> RowOrder.exchanged(rows(s), 1, 2));
        rows("q, k and v are in blocks where groups are expected", this::interleaved);
        rows("q, k and v are in groups where blocks are expected", s -> inverse(interleaved(s)));
        rows("query heads take key head h modulo the number of key heads", this::modulo);
        for (int by : new int[] {-1, 1}) {
            rows("the query heads are shifted by one", s -> RowOrder.shiftedPart(all(s), 0, rows(s)[0], by * headDim));
            rows(
                    "the key heads are shifted by one",
                    s -> RowOrder.shiftedPart(all(s), rows(s)[0], rows(s)[1], by * headDim));
            rows(
                    "the value heads are shifted by one",
                    s -> RowOrder.shiftedPart(all(s), rows(s)[0] + rows(s)[1], rows(s)[2], by * headDim));
        }
        addForms();
        pair.left("the bias of q, k and v is missing", left.withShards(s -> s.withInBias(Optional.empty())));
        OutBiases.add(
                pair,
                left.outBias(),
                left::withOutBias,
                left.shards().size(),
                right.shards().size());
        if (right.shards().size() > 1) {
            pair.right("the ranks of the output projection are in another order", reordered());
        }
    }

    private int[] rows(Shard s) {
        int headDim = right.options().headDim();
        int gates = right.options().outputGate() ? s.heads() * headDim : 0;
        int keys = s.keyHeads() * headDim;
        return new int[] {s.heads() * headDim, keys, keys, gates, s.mlp(), s.mlp()};
    }

    private int all(Shard s) {
        return IntStream.of(rows(s)).sum();
    }

    private void rows(String text, Function<Shard, RowOrder> order) {
        pair.right(text, right.withShards(s -> {
            RowOrder own = order.apply(s);
            return s.withInProj(own.of(s.inProj())).withInBias(own.of(s.inBias()));
        }));
    }

    /** For each row in blocks its row in groups. */
    private RowOrder interleaved(Shard s) {
        int headDim = right.options().headDim();
        int perKey = s.heads() / s.keyHeads();
        List<Integer> rows = new ArrayList<>();
        for (int group = 0; group < s.keyHeads(); group++) {
            addHeads(rows, group * perKey, perKey, headDim);
            addHeads(rows, s.heads() + group, 1, headDim);
            addHeads(rows, s.heads() + s.keyHeads() + group, 1, headDim);
        }
        addRest(rows, s);
        return new RowOrder(rows.stream().mapToInt(Integer::intValue).toArray());
    }

    private RowOrder modulo(Shard s) {
        int headDim = right.options().headDim();
        int perKey = s.heads() / s.keyHeads();
        List<Integer> rows = new ArrayList<>();
        for (int head = 0; head < s.heads(); head++) {
            addHeads(rows, head % perKey * s.keyHeads() + head / perKey, 1, headDim);
        }
        addHeads(rows, s.heads(), 2 * s.keyHeads(), headDim);
        addRest(rows, s);
        return new RowOrder(rows.stream().mapToInt(Integer::intValue).toArray());
    }

    private static void addHeads(List<Integer> rows, int first, int count, int headDim) {
        IntStream.range(first * headDim, (first + count) * headDim).forEach(rows::add);
    }

    private void addRest(List<Integer> rows, Shard s) {
        IntStream.range(rows.size(), all(s)).forEach(rows::add);
    }

    private static RowOrder inverse(RowOrder order) {
        int[] inverse = new int[order.rows().length];
        for (int i = 0; i < inverse.length; i++) {
            inverse[order.rows()[i]] = i;
        }
        return new RowOrder(inverse);
    }

    private void addForms() {
        Options o = right.options();
        form(
                "the scale of the scores differs",
                new Options(o.headDim(), left.options().scale(), o.causal(), o.rotary(), o.outputGate()));
        form(
                "the position embedding differs",
                new Options(o.headDim(), o.scale(), o.causal(), left.options().rotary(), o.outputGate()));
        if (o.rotary().isPresent()) {
            Rotary r = o.rotary().get();
            Rotary other = new Rotary(r.rotated(), r.base(), !r.interleaved());
            form(
                    "rotated pairs are taken as halves for neighbours, or the other way",
                    new Options(o.headDim(), o.scale(), o.causal(), Optional.of(other), o.outputGate()));
        }
        form("the mask differs", new Options(o.headDim(), o.scale(), !o.causal(), o.rotary(), o.outputGate()));
    }

    private void form(String text, Options options) {
        pair.right(text, right.withOptions(options));
    }

    private AttentionMixer reordered() {
        List<Shard> shards = new ArrayList<>();
        int ranks = right.shards().size();
        for (int rank = 0; rank < ranks; rank++) {
            shards.add(right.shards()
                    .get(rank)
                    .withOutProj(right.shards().get((rank + 1) % ranks).outProj()));
        }
        return new AttentionMixer(right.width(), right.options(), shards, right.outBias());
    }
}
