package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What a set of parameters belongs to: a whole model, or one of its modules saved alone, whose names lack what leads to it. */
enum MambaFrame {
    MODEL(""),
    MIXER("mixer."),
    MLP("mlp."),
    EMBEDDING("backbone.embedding."),
    /** A column-parallel Linear alone. */
    COLUMN("column."),
    /** A row-parallel Linear alone. */
    ROW("row.");

    private static final Pattern LAYER = Pattern.compile("(backbone\\.layers\\.\\d{1,9}\\.)(.+)");

    /** What stands before a parameter's name in the table. */
    private final String prefix;

    MambaFrame(String prefix) {
        this.prefix = prefix;
    }

    /**
     * Parameters that are divided together: those of one layer, or of the model itself.
     *
     * @param prefix what all their names begin with
     * @param keys names by what the table calls them
     */
    record Layer(String prefix, Map<String, String> keys) {
        /** Shapes by what the table calls the parameters; those that {@code shapes} lacks are left out. */
        Map<String, Shape> shapes(Map<String, Shape> shapes) {
            Map<String, Shape> own = new LinkedHashMap<>();
            keys.forEach((suffix, key) -> {
                if (shapes.containsKey(key)) {
                    own.put(suffix, shapes.get(key));
                }
            });
            return own;
        }
    }

    /** What the parameters of some ranks belong to, told from their names and, of a Linear, from what is cut. */
    static MambaFrame of(List<Map<String, Shape>> ranks) {
        Map<String, Shape> first = ranks.get(0);
        Set<String> names = first.keySet();
        if (names.contains("fc1.weight") || names.contains("fc2.weight")) {
            return MLP;
        }
        if (names.contains("in_proj.weight") || names.contains("A_log")) {
            return MIXER;
        }
        if (names.contains("word_embeddings.weight") || names.contains("position_embeddings.weight")) {
            return EMBEDDING;
        }
        return names.contains("weight") && Set.of("weight", "bias").containsAll(names) ? linear(ranks) : MODEL;
    }

    /** Rows that differ, or a bias on every rank as long as the rank's rows, are a column split; rank 0's bias is a row split. */
    private static MambaFrame linear(List<Map<String, Shape>> ranks) {
        Shape first = ranks.get(0).get("weight");
        boolean rows = false;
        boolean columns = false;
        boolean biased = ranks.get(0).containsKey("bias");
        boolean biasedElsewhere = false;
        for (Map<String, Shape> rank : ranks.subList(1, ranks.size())) {
            Shape own = rank.getOrDefault("weight", first);
            if (own.rank() != 2 || first.rank() != 2) {
                return MODEL;
            }
            rows |= own.size(0) != first.size(0);
            columns |= own.size(1) != first.size(1);
            biasedElsewhere |= rank.containsKey("bias");
        }
        if (rows == columns && !(biased && ranks.size() > 1)) {
            return MODEL;
        }
        return rows || !columns && biasedElsewhere ? COLUMN : ROW;
    }

    /** The parameters of each layer, in the order of their first parameter. */
    List<Layer> layers(Collection<String> names) {
        Map<String, Layer> layers = new LinkedHashMap<>();
        for (String name : names) {
            Matcher layer = LAYER.matcher(name);
            boolean inLayer = layer.matches();
            String before = inLayer ? layer.group(1) : "";
            String suffix = inLayer ? layer.group(2) : prefix + name;
            layers.computeIfAbsent(before, none -> new Layer(before, new LinkedHashMap<>()))
                    .keys()
                    .put(suffix, name);
        }
        return new ArrayList<>(layers.values());
    }
}
