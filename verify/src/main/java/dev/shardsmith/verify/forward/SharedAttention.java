package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.List;

/**
 * The attention of a shared transformer, with its norm: it reads the residual stream and the embedded tokens side by side.
 *
 * @param norm of [hidden, embedded]
 * @param attention from twice the residual stream's width to that width
 */
public record SharedAttention(PreNorm norm, AttentionMixer attention) implements Mixer {

    @Override
    public int width() {
        return attention.width();
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        return attention.forward(pass, norm.apply(pass, pass.concat(List.of(input, pass.embedded()))));
    }

    @Override
    public SharedAttention mapped(WeightMap map) {
        return new SharedAttention(norm.mapped(map.under("norm.")), attention.mapped(map));
    }
}
