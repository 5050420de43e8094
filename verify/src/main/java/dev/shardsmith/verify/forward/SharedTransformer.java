package dev.shardsmith.verify.forward;

import java.io.IOException;

/**
 * A transformer block that several layers share and whose result is added to what a layer's own norm sees, as in Zamba2.
 *
 * <p>It has no residual branches of its own: {@code out(mlp(mlpNorm(attention(norm([hidden, embedded])))))}.
 *
 * @param attention with its norm
 * @param mlpNorm in front of the MLP
 * @param feedForward the MLP and the layer's own projection
 */
public record SharedTransformer(SharedAttention attention, PreNorm mlpNorm, SharedFeedForward feedForward) {

    Signal forward(Pass pass, Signal hidden) throws IOException {
        return feedForward.forward(pass, mlpNorm.apply(pass, attention.forward(pass, hidden)));
    }

    SharedTransformer mapped(WeightMap map) {
        return new SharedTransformer(
                attention.mapped(map.under("attention.")),
                mlpNorm.mapped(map.under("mlp_norm.")),
                feedForward.mapped(map.under("mlp.")));
    }
}
