package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.MlpMixer.Shard;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Mistakes with a feed-forward layer. */
final class MlpHypotheses {
    private final Hypotheses.Pair pair;
    private final MlpMixer left;
    private final MlpMixer right;

    MlpHypotheses(Hypotheses.Pair pair, MlpMixer left, MlpMixer right) {
        this.pair = pair;
        this.left = left;
        this.right = right;
    }

    void add() {
        MlpMixer exchanged = exchanged(right);
        pair.right("gate and up are exchanged", exchanged);
        if (right.form() != MlpMixer.Form.PLAIN) {
            addCuts();
        }
        for (Activation other : Activation.values()) {
            if (other != right.activation()) {
                pair.right(
                        "the activation is " + right.activation() + ", not " + other,
                        right.withForm(right.form(), other));
            }
        }
        pair.left("the bias of the first projection is missing", withoutFirstBias(left));
        OutBiases.add(
                pair,
                left.outBias(),
                left::withOutBias,
                left.shards().size(),
                right.shards().size());
        if (right.shards().size() > 1) {
            pair.right("the ranks of the second projection are in another order", reordered());
        }
    }

    static MlpMixer exchanged(MlpMixer mixer) {
        MlpMixer.Form other = switch (mixer.form()) {
            case PLAIN -> MlpMixer.Form.PLAIN;
            case GATE_FIRST -> MlpMixer.Form.VALUE_FIRST;
            case VALUE_FIRST -> MlpMixer.Form.GATE_FIRST;
        };
        return mixer.withForm(other, mixer.activation());
    }

    private static MlpMixer withoutFirstBias(MlpMixer mixer) {
        return mixer.withShards(mixer.shards().stream()
                .map(s -> s.withFc1Bias(Optional.empty()))
                .toList());
    }

    private int rows(Shard s) {
        return s.fc1().elements() / right.width();
    }

    private void addCuts() {
        int ranks = right.shards().size();
        if (ranks == 1) {
            Shard s = right.shards().get(0);
            int half = rows(s) / 2;
            int[] sizes = {half, half};
            if (RowOrder.divides(sizes, left.shards().size())) {
                RowOrder order = RowOrder.ranksToComponents(sizes, left.shards().size());
                pair.right(
                        "the gated projection holds the ranks' parts one after the other",
                        right.withShards(List.of(s.withFc1(order.of(s.fc1())).withFc1Bias(order.of(s.fc1Bias())))));
            }
            return;
        }
        if (right.shards().stream().map(this::rows).distinct().count() == 1) {
            pair.right("the gated projection was cut over ranks as one block", recut());
        }
    }

    private MlpMixer recut() {
        int ranks = right.shards().size();
        int half = rows(right.shards().get(0)) / 2 * ranks;
        int[] sizes = {half, half};
        WeightSource all =
                WeightSource.concat(right.shards().stream().map(Shard::fc1).toList());
        List<Optional<WeightSource>> biases =
                right.shards().stream().map(Shard::fc1Bias).toList();
        List<Shard> shards = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            Shard s = right.shards().get(rank);
            RowOrder order = RowOrder.ofRank(sizes, ranks, rank);
            Optional<WeightSource> bias = biases.get(0).isPresent()
                    ? Optional.of(order.from(WeightSource.concat(WeightSource.present(biases)), 2 * half))
                    : Optional.empty();
            shards.add(s.withFc1(order.from(all, 2 * half)).withFc1Bias(bias));
        }
        return right.withShards(shards);
    }

    private MlpMixer reordered() {
        List<Shard> shards = new ArrayList<>();
        int ranks = right.shards().size();
        for (int rank = 0; rank < ranks; rank++) {
            shards.add(right.shards()
                    .get(rank)
                    .withFc2(right.shards().get((rank + 1) % ranks).fc2()));
        }
        return right.withShards(shards);
    }
}
