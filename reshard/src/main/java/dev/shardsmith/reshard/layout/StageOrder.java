package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.family.MegatronName;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Whether stages lie in the order of the model: the embedding before all layers, the last norm behind them. */
final class StageOrder {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final String FINAL = "decoder.final_";

    private final TreeMap<Integer, String> embeddings = new TreeMap<>();
    private final TreeMap<Integer, String> norms = new TreeMap<>();
    private final TreeMap<Integer, String> layers = new TreeMap<>();

    /** Looks at what a stage holds; stages are numbered in the order of the model. */
    void add(int stage, String file, Collection<String> names) {
        for (String name : names) {
            if (name.equals(EMBEDDING)) {
                embeddings.putIfAbsent(stage, file);
            } else if (name.startsWith(FINAL)) {
                norms.putIfAbsent(stage, file);
            } else if (MegatronName.parse(name).layer().isPresent()) {
                layers.putIfAbsent(stage, file);
            }
        }
    }

    /** What lies where no run puts it. */
    List<String> conflicts() {
        List<String> conflicts = new ArrayList<>();
        if (!embeddings.isEmpty() && !layers.isEmpty() && embeddings.firstKey() > layers.firstKey()) {
            conflicts.add("the embedding is in " + embeddings.firstEntry().getValue() + ", but layers before it are in "
                    + layers.firstEntry().getValue() + ": the folders of stages are swapped");
        }
        Map.Entry<Integer, String> last = layers.lastEntry();
        if (!norms.isEmpty() && last != null && norms.lastKey() < last.getKey()) {
            conflicts.add("the norm after the last layer is in "
                    + norms.lastEntry().getValue() + ", but layers behind it are in " + last.getValue()
                    + ": the folders of stages are swapped");
        }
        return conflicts;
    }
}
