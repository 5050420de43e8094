package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A transformer block that several layers share and whose result is added to what a layer's own norm sees, as in Zamba2.
 *
 * <p>It reads the residual stream and the embedded tokens side by side, and has no residual branches of its own:
 * {@code out(mlp(mlpNorm(attention(norm([hidden, embedded])))))}.
 *
 * @param norm of [hidden, embedded]
 * @param attention from twice the residual stream's width to that width
 * @param mlpNorm in front of the MLP
 * @param mlp the feed-forward layer
 * @param out [width, width], the layer's own projection
 */
public record SharedTransformer(
        PreNorm norm, AttentionMixer attention, PreNorm mlpNorm, MlpMixer mlp, WeightSource out) {

    Signal forward(Pass pass, Signal hidden) throws IOException {
        Signal both = norm.apply(pass, pass.concat(List.of(hidden, pass.embedded())));
        Signal attended = attention.forward(pass, both);
        Signal fed = mlp.forward(pass, mlpNorm.apply(pass, attended));
        return pass.linear(fed, out, Optional.empty());
    }

    List<WeightSource> weights() {
        List<WeightSource> all = new ArrayList<>();
        all.addAll(norm.weights());
        all.addAll(attention.weights());
        all.addAll(mlpNorm.weights());
        all.addAll(mlp.weights());
        all.add(out);
        return all;
    }
}
