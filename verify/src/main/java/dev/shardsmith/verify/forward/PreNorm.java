package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.List;
import java.util.Optional;

/**
 * The norm in front of a mixer or of the head.
 *
 * @param norm how it normalises
 * @param weight one per channel
 * @param bias one per channel
 */
public record PreNorm(Norm norm, WeightSource weight, Optional<WeightSource> bias) {

    Signal apply(Pass pass, Signal input) throws IOException {
        return pass.normalize(input, norm, Optional.of(weight), bias, input.width());
    }

    /** The same with other weights. */
    public PreNorm mapped(WeightMap map) {
        return new PreNorm(norm, map.of("weight", weight), map.of("bias", bias));
    }

    List<WeightSource> weights() {
        return WeightSource.present(List.of(Optional.of(weight), bias));
    }
}
