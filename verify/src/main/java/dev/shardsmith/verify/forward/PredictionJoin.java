package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * How a depth of multi-token prediction begins: the normalised embedded tokens and the normalised residual stream, side by side,
 * are projected to the width of one of them. Every rank computes some of the channels.
 *
 * @param width channels of the residual stream
 * @param embeddedNorm of the embedded tokens; that of the residual stream is the norm in front
 * @param shards one per rank, [channels of this rank, 2·width]
 */
public record PredictionJoin(int width, PreNorm embeddedNorm, List<WeightSource> shards) implements Mixer {

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        Signal both = pass.concat(List.of(embeddedNorm.apply(pass, pass.embedded()), input));
        List<Signal> parts = new ArrayList<>();
        for (WeightSource shard : shards) {
            parts.add(pass.linear(both, shard, Optional.empty()));
        }
        return pass.concat(parts);
    }

    @Override
    public PredictionJoin mapped(WeightMap map) {
        List<WeightSource> changed =
                shards.stream().map(shard -> map.of("eh_proj.weight", shard)).toList();
        return new PredictionJoin(width, embeddedNorm.mapped(map.under("enorm.")), changed);
    }
}
