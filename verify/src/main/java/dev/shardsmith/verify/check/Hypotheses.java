package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.Rounding;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The mistakes that are known to happen to each kind of layer. */
final class Hypotheses {
    private Hypotheses() {}

    static List<Hypothesis> of(Block left, Block right) {
        List<Hypothesis> all = new ArrayList<>();
        for (int i = 0; i < Math.min(left.mixers().size(), right.mixers().size()); i++) {
            Mixer a = left.mixers().get(i);
            Mixer b = right.mixers().get(i);
            Pair pair = new Pair(left, right, i, all);
            if (a instanceof Mamba2Mixer first && b instanceof Mamba2Mixer second) {
                new Mamba2Hypotheses(pair, first, second).add();
            } else if (a instanceof AttentionMixer first && b instanceof AttentionMixer second) {
                new AttentionHypotheses(pair, first, second).add();
            } else if (a instanceof MlpMixer first && b instanceof MlpMixer second) {
                new MlpHypotheses(pair, first, second).add();
            } else if (a instanceof ExpertsMixer first && b instanceof ExpertsMixer second) {
                new ExpertHypotheses(pair, first, second).add();
            }
        }
        if (left.norm().isPresent() && right.norm().isPresent()) {
            addNorms(left, left.norm().get(), right, right.norm().get(), all);
        }
        for (Rounding rounding : List.of(Rounding.BF16, Rounding.F16)) {
            all.add(new Hypothesis(
                    "its weights are rounded to " + rounding.type().torchName(),
                    left.mapped((role, weight) -> weight.rounded(rounding)),
                    right));
        }
        return all;
    }

    /** Collects hypotheses about one mixer of a block. */
    record Pair(Block left, Block right, int mixer, List<Hypothesis> all) {

        /** The second checkpoint's mixer, put right. */
        void right(String text, Mixer corrected) {
            all.add(new Hypothesis(text, left, right.withMixer(mixer, corrected)));
        }

        /** The first checkpoint's mixer with the same mistake. */
        void left(String text, Mixer spoilt) {
            all.add(new Hypothesis(text, left.withMixer(mixer, spoilt), right));
        }
    }

    private static void addNorms(Block left, PreNorm leftNorm, Block right, PreNorm norm, List<Hypothesis> all) {
        Norm form = norm.norm();
        Norm.Kind other = form.kind() == Norm.Kind.RMS ? Norm.Kind.LAYER : Norm.Kind.RMS;
        all.add(norm(
                left,
                right,
                "the norm's weights are taken without, or with, an added 1",
                new PreNorm(
                        new Norm(form.kind(), form.epsilon(), 1 - form.weightOffset()), norm.weight(), norm.bias())));
        all.add(norm(
                left,
                right,
                "the norm is of the other kind (RMS or layer norm)",
                new PreNorm(new Norm(other, form.epsilon(), form.weightOffset()), norm.weight(), norm.bias())));
        all.add(norm(
                left, right, "the norm's epsilon differs", new PreNorm(leftNorm.norm(), norm.weight(), norm.bias())));
        if (norm.bias().isEmpty() && leftNorm.bias().isPresent()) {
            all.add(new Hypothesis(
                    "the bias of the norm is missing",
                    left.withNorm(new PreNorm(leftNorm.norm(), leftNorm.weight(), Optional.empty())),
                    right));
        }
        all.add(norm(
                left,
                right,
                "the weights of the norm in front differ",
                new PreNorm(form, leftNorm.weight(), leftNorm.bias())));
    }

    private static Hypothesis norm(Block left, Block right, String text, PreNorm norm) {
        return new Hypothesis(text, left, right.withNorm(norm));
    }
}
