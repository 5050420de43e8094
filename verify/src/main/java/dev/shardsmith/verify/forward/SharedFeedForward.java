package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.Optional;

/**
 * The MLP of a shared transformer and the projection of its result, which is a layer's own.
 *
 * @param mlp the feed-forward layer
 * @param out [width, width]
 */
public record SharedFeedForward(MlpMixer mlp, WeightSource out) implements Mixer {

    @Override
    public int width() {
        return mlp.width();
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        return pass.linear(mlp.forward(pass, input), out, Optional.empty());
    }

    @Override
    public SharedFeedForward mapped(WeightMap map) {
        return new SharedFeedForward(mlp.mapped(map), map.of("linear.weight", out));
    }
}
