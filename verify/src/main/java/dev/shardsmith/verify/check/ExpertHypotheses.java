package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.ExpertRouting;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.MlpMixer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/** Mistakes with a mixture of experts. */
final class ExpertHypotheses {
    private final Hypotheses.Pair pair;
    private final ExpertsMixer left;
    private final ExpertsMixer right;

    ExpertHypotheses(Hypotheses.Pair pair, ExpertsMixer left, ExpertsMixer right) {
        this.pair = pair;
        this.left = left;
        this.right = right;
    }

    void add() {
        for (int by : new int[] {-1, 1}) {
            List<MlpMixer> shifted = new ArrayList<>(right.experts());
            Collections.rotate(shifted, by);
            pair.right("the experts are shifted by one", right.withExperts(shifted, right.shared()));
        }
        List<MlpMixer> exchanged =
                right.experts().stream().map(MlpHypotheses::exchanged).toList();
        pair.right("gate and up are exchanged in the experts", right.withExperts(exchanged, right.shared()));
        pair.right(
                "gate and up are exchanged in the shared expert",
                right.withExperts(right.experts(), right.shared().map(MlpHypotheses::exchanged)));
        pair.left("the shared expert is missing", left.withExperts(left.experts(), Optional.empty()));
        pair.left("the bias of the experts' choice is missing", left.withChoiceBias(Optional.empty()));
        addRouting();
    }

    private void addRouting() {
        ExpertRouting r = right.routing();
        pair.right("experts are chosen or weighted in another way", right.withRouting(left.routing()));
        for (ExpertRouting.Scores other : ExpertRouting.Scores.values()) {
            if (other != r.scores() && other != ExpertRouting.Scores.DEALT) {
                pair.right(
                        "the router's scores are " + r.scores() + ", not " + other,
                        right.withRouting(new ExpertRouting(other, r.top(), r.normalized(), r.scale(), r.groups())));
            }
        }
        pair.right(
                "the experts' weights are divided by their sum, or are not",
                right.withRouting(new ExpertRouting(r.scores(), r.top(), !r.normalized(), r.scale(), r.groups())));
    }
}
