package dev.shardsmith.reshard.pattern;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** For each kind, which layers are of it: the i-th entry is the number of the i-th such layer. */
public final class LayerMaps {
    private final Map<LayerKind, List<Integer>> positions = new EnumMap<>(LayerKind.class);

    private LayerMaps() {}

    /** The maps of these layers. */
    public static LayerMaps of(List<LayerKind> layers) {
        LayerMaps maps = new LayerMaps();
        for (int layer = 0; layer < layers.size(); layer++) {
            maps.positions
                    .computeIfAbsent(layers.get(layer), kind -> new ArrayList<>())
                    .add(layer);
        }
        return maps;
    }

    /** The layers of a kind, ascending. */
    public List<Integer> layersOf(LayerKind kind) {
        return List.copyOf(positions.getOrDefault(kind, List.of()));
    }
}
