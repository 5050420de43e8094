package dev.shardsmith.reshard.pattern;

import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * The stages that a user asks for.
 *
 * @param ppSize pipeline size
 * @param vpSize virtual stages of each rank; empty leaves it to the pattern or is none
 * @param pattern a pattern to use; its layers must be those of the model
 * @param layerCounts layers of each stage in model order; empty if not given
 */
public record StageTarget(int ppSize, OptionalInt vpSize, Optional<HybridPattern> pattern, List<Integer> layerCounts) {
    /** Copies the list. */
    public StageTarget {
        layerCounts = List.copyOf(layerCounts);
    }

    /** So many pipeline and virtual stages, divided as evenly as possible. */
    public static StageTarget of(int ppSize, int vpSize) {
        return new StageTarget(
                ppSize, vpSize > 1 ? OptionalInt.of(vpSize) : OptionalInt.empty(), Optional.empty(), List.of());
    }
}
