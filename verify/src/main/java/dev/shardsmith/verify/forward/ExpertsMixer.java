package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * A mixture of experts.
 *
 * @param width channels of the residual stream
 * @param routing how experts are chosen and weighted
 * @param router [experts, width]
 * @param routerBias [experts], part of the scores
 * @param choiceBias [experts], added to the scores for the choice only
 * @param experts the experts, of the residual stream's width or of the latent width
 * @param shared an expert that every token uses, always of the residual stream's width
 * @param sharedGate [1, width], whose sigmoid multiplies what the shared expert gives
 * @param toLatent [latent, width], before the routed experts
 * @param fromLatent [width, latent], after them
 */
public record ExpertsMixer(
        int width,
        ExpertRouting routing,
        WeightSource router,
        Optional<WeightSource> routerBias,
        Optional<WeightSource> choiceBias,
        List<MlpMixer> experts,
        Optional<MlpMixer> shared,
        Optional<WeightSource> sharedGate,
        Optional<WeightSource> toLatent,
        Optional<WeightSource> fromLatent)
        implements Mixer {

    /** Checks that the router knows the experts. */
    public ExpertsMixer {
        if (router.elements() != (long) experts.size() * width || routing.top() > experts.size()) {
            throw new IllegalArgumentException(
                    "a router of %d elements and %d of %d experts of a token, for %d channels"
                            .formatted(router.elements(), routing.top(), experts.size(), width));
        }
        int count = routing.groups().count();
        int considered = Math.min(routing.groups().top(), count);
        if (experts.size() % count != 0 || (long) considered * (experts.size() / count) < routing.top()) {
            throw new IllegalArgumentException("%d experts in %d groups, %d of which give %d experts of a token"
                    .formatted(experts.size(), count, considered, routing.top()));
        }
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        Signal logits = pass.linear(input, router, routerBias);
        float[] bias = choiceBias.isPresent() ? pass.load(choiceBias.get()) : new float[experts.size()];
        ExpertRouting.Choice choice = routing.choose(pass.readWide(logits), bias, experts.size(), logits.error());
        Signal latent = toLatent.isPresent() ? pass.linear(input, toLatent.get(), Optional.empty()) : input;
        Signal routed = routed(pass, latent, choice);
        if (fromLatent.isPresent()) {
            routed = pass.linear(routed, fromLatent.get(), Optional.empty());
        }
        if (shared.isEmpty()) {
            return routed;
        }
        Signal always = shared.get().forward(pass, input);
        if (sharedGate.isPresent()) {
            always = pass.gateBySigmoid(pass.linear(input, sharedGate.get(), Optional.empty()), always);
        }
        return pass.add(routed, always, 1);
    }

    private Signal routed(Pass pass, Signal input, ExpertRouting.Choice choice) throws IOException {
        double[] values = pass.readWide(input);
        double[] sums = new double[values.length];
        double[] variance = new double[pass.tokens()];
        for (int expert = 0; expert < experts.size(); expert++) {
            int[] tokens = choice.tokensOf(expert);
            if (tokens.length > 0) {
                expert(pass, input, values, choice, expert, tokens, sums, variance);
            }
        }
        double[] error = new double[pass.tokens()];
        for (int t = 0; t < error.length; t++) {
            error[t] = choice.ambiguous()[t] ? Double.POSITIVE_INFINITY : Math.sqrt(variance[t]);
        }
        return pass.signalWide(sums, input.width(), error);
    }

    private void expert(
            Pass pass,
            Signal input,
            double[] values,
            ExpertRouting.Choice choice,
            int expert,
            int[] tokens,
            double[] sums,
            double[] variance)
            throws IOException {
        int channels = input.width();
        double[] picked = new double[Math.multiplyExact(tokens.length, channels)];
        double[] pickedError = new double[tokens.length];
        for (int i = 0; i < tokens.length; i++) {
            System.arraycopy(values, tokens[i] * channels, picked, i * channels, channels);
            pickedError[i] = input.error()[tokens[i]];
        }
        try (Pass own = pass.over(tokens.length)) {
            Signal out = experts.get(expert).forward(own, own.signalWide(picked, channels, pickedError));
            double[] result = own.readWide(out);
            float[] sizes = own.backend().rowMaxima(out.values(), tokens.length, channels);
            for (int i = 0; i < tokens.length; i++) {
                int t = tokens[i];
                double weight = choice.weight(t, expert);
                for (int c = 0; c < channels; c++) {
                    sums[t * channels + c] += weight * result[i * channels + c];
                }
                double moved = Pass.root(
                        weight * out.error()[i],
                        choice.weightError()[t] * sizes[i],
                        2 * pass.unit() * weight * sizes[i]);
                variance[t] += moved * moved;
            }
        }
    }

    @Override
    public ExpertsMixer mapped(WeightMap map) {
        WeightMap inExpert = map.under("experts.");
        return new ExpertsMixer(
                width,
                routing,
                map.of("router.weight", router),
                map.of("router.bias", routerBias),
                map.of("router.expert_bias", choiceBias),
                experts.stream().map(expert -> expert.mapped(inExpert)).toList(),
                shared.map(expert -> expert.mapped(map.under("shared_experts."))),
                map.of("shared_experts.gate", sharedGate),
                map.of("to_latent.weight", toLatent),
                map.of("from_latent.weight", fromLatent));
    }

    /** The same with every expert in use, each for some of the tokens. */
    public ExpertsMixer dealt() {
        return withRouting(routing.dealt());
    }

    /** The same with other routing. */
    public ExpertsMixer withRouting(ExpertRouting other) {
        return new ExpertsMixer(
                width, other, router, routerBias, choiceBias, experts, shared, sharedGate, toLatent, fromLatent);
    }

    /** The same with other biases of the choice. */
    public ExpertsMixer withChoiceBias(Optional<WeightSource> bias) {
        return new ExpertsMixer(
                width, routing, router, routerBias, bias, experts, shared, sharedGate, toLatent, fromLatent);
    }

    /** The same with other experts. */
    public ExpertsMixer withExperts(List<MlpMixer> others, Optional<MlpMixer> otherShared) {
        return new ExpertsMixer(
                width, routing, router, routerBias, choiceBias, others, otherShared, sharedGate, toLatent, fromLatent);
    }
}
