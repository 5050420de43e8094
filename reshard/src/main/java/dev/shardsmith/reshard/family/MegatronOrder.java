package dev.shardsmith.reshard.family;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;

/** The order in which a Megatron model registers its parameters: embedding, layers, final norm, predictions, output layer. */
public final class MegatronOrder {
    private record Key(int section, int layer, int phase, String prefix, int row, int expert, String name) {}

    private static final Comparator<Key> ORDER = Comparator.comparingInt(Key::section)
            .thenComparingInt(Key::layer)
            .thenComparingInt(Key::phase)
            .thenComparing(Key::prefix, MegatronOrder::byNumbers)
            .thenComparingInt(Key::expert)
            .thenComparingInt(Key::row)
            .thenComparing(Key::name);

    private MegatronOrder() {}

    /** The names in the order of the model; opaque states follow the parameters of their module. */
    public static List<String> sorted(Collection<String> names) {
        List<Key> keys = new ArrayList<>();
        for (String name : names) {
            keys.add(key(MegatronName.parse(name)));
        }
        keys.sort(ORDER);
        return keys.stream().map(Key::name).toList();
    }

    private static Key key(MegatronName name) {
        int section = switch (name.scope()) {
            case LAYER -> 1;
            case MTP, MTP_LAYER -> 3;
            case MODEL ->
                name.suffix().startsWith("embedding.") ? 0 : name.suffix().startsWith("output_layer") ? 4 : 2;
        };
        return new Key(
                section,
                name.layer().orElse(name.depth().orElse(0)),
                phase(name),
                name.prefix(),
                row(name),
                Math.max(-1, MegatronTable.expertNumber(name.suffix())),
                name.key());
    }

    /** A prediction block registers its inner layers between its projection and its last norm. */
    private static int phase(MegatronName name) {
        return switch (name.scope()) {
            case MODEL, LAYER -> 0;
            case MTP -> name.suffix().startsWith("final_layernorm") ? 2 : 0;
            case MTP_LAYER -> 1;
        };
    }

    /** Position in the table; an opaque state comes behind the last parameter of its module. */
    private static int row(MegatronName name) {
        String suffix = MegatronTable.withoutExpertNumber(name.suffix());
        String module = name.isExtraState() ? suffix.substring(0, suffix.length() - "_extra_state".length()) : null;
        int last = Integer.MAX_VALUE / 2;
        int found = -1;
        for (ParameterRule rule : MegatronTable.rules(name.scope())) {
            if (module != null && rule.suffix().startsWith(module)) {
                found = 2 * rule.order() + 1;
            } else if (rule.suffix().equals(suffix)) {
                return 2 * rule.order();
            }
        }
        return found >= 0 ? found : last;
    }

    /** Compares prefixes so that layer 10 comes after layer 9. */
    static int byNumbers(String a, String b) {
        int byLength = Integer.compare(a.length(), b.length());
        return byLength != 0 ? byLength : a.compareTo(b);
    }
}
