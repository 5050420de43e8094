package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A mixer that each rank runs on its own heads, as if it were a smaller one; the ranks' outputs are added up.
 *
 * @param ranks one mixer per rank, without output biases
 */
public record SummedMixer(List<Mixer> ranks) implements Mixer {
    /** A sum over ranks; there is at least one. */
    public SummedMixer {
        ranks = List.copyOf(ranks);
        if (ranks.isEmpty()) {
            throw new IllegalArgumentException("a sum over no ranks");
        }
    }

    @Override
    public int width() {
        return ranks.get(0).width();
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        List<Signal> parts = new ArrayList<>();
        for (Mixer rank : ranks) {
            parts.add(rank.forward(pass, input));
        }
        return pass.sum(parts, Optional.empty());
    }

    @Override
    public SummedMixer mapped(WeightMap map) {
        return new SummedMixer(ranks.stream().map(rank -> rank.mapped(map)).toList());
    }
}
