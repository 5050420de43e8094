package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.function.Function;

/** Mistakes with the bias of a row-parallel layer, which is to be added once. */
final class OutBiases {
    private OutBiases() {}

    static void add(
            Hypotheses.Pair pair,
            Optional<WeightSource> bias,
            Function<Optional<WeightSource>, Mixer> with,
            int leftRanks,
            int rightRanks) {
        if (bias.isEmpty()) {
            return;
        }
        pair.left("the output bias is missing", with.apply(Optional.empty()));
        for (int times : new TreeSet<>(List.of(2, Math.max(2, leftRanks), Math.max(2, rightRanks)))) {
            pair.left(
                    "the output bias is added " + times + " times (on every rank)",
                    with.apply(Optional.of(bias.get().scaled(times))));
            pair.left(
                    "the output bias is divided by " + times,
                    with.apply(Optional.of(bias.get().scaled(1f / times))));
        }
    }
}
