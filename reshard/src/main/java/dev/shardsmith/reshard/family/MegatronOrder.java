package dev.shardsmith.reshard.family;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The order in which a Megatron model registers its parameters: embedding, layers, final norm, predictions, output layer. */
public final class MegatronOrder {
    /** Where parameters of one suffix stand among those of their layer or block. */
    private record Place(int section, int phase, int block, int expert, int row) {}

    private record Key(int layer, String prefix, Place place, String name) {}

    /** Row of what the table does not know: behind all others. */
    private static final int UNKNOWN = Integer.MAX_VALUE / 2;

    private static final String MODULES = "mlp.experts.local_experts.";

    private MegatronOrder() {}

    /** The names in the order of the model; opaque states follow the parameters of their module. */
    public static List<String> sorted(Collection<String> names) {
        List<Key> keys = new ArrayList<>(names.size());
        // One string for each layer and one place for each suffix, not for each parameter: there may be a million.
        Map<String, String> prefixes = new HashMap<>();
        Map<MegatronName.Scope, Map<String, Place>> places = new EnumMap<>(MegatronName.Scope.class);
        for (String name : names) {
            MegatronName parsed = MegatronName.parse(name);
            String prefix = prefixes.computeIfAbsent(parsed.prefix(), same -> same);
            Place place = places.computeIfAbsent(parsed.scope(), scope -> new HashMap<>())
                    .computeIfAbsent(parsed.suffix(), suffix -> place(parsed));
            int layer = parsed.layer().isPresent()
                    ? parsed.layer().getAsInt()
                    : parsed.depth().orElse(0);
            keys.add(new Key(layer, prefix, place, name));
        }
        keys.sort(MegatronOrder::compare);
        List<String> sorted = new ArrayList<>(keys.size());
        for (Key key : keys) {
            sorted.add(key.name());
        }
        return sorted;
    }

    @SuppressWarnings("ReferenceEquality") // the same place and prefix are one object, and mostly so
    private static int compare(Key a, Key b) {
        Place one = a.place();
        Place other = b.place();
        int order = Integer.compare(one.section(), other.section());
        order = order != 0 ? order : Integer.compare(a.layer(), b.layer());
        order = order != 0 ? order : Integer.compare(one.phase(), other.phase());
        order = order != 0 || a.prefix() == b.prefix() ? order : byNumbers(a.prefix(), b.prefix());
        order = order != 0 ? order : Integer.compare(one.block(), other.block());
        order = order != 0 ? order : Integer.compare(one.expert(), other.expert());
        order = order != 0 ? order : Integer.compare(one.row(), other.row());
        return order != 0 ? order : a.name().compareTo(b.name());
    }

    private static Place place(MegatronName name) {
        int section = switch (name.scope()) {
            case LAYER -> 1;
            case MTP, MTP_LAYER -> 3;
            case MODEL ->
                name.suffix().startsWith("embedding.") ? 0 : name.suffix().startsWith("output_layer") ? 4 : 2;
        };
        int row = row(name);
        return new Place(section, phase(name), block(name, row), MegatronTable.expertNumber(name.suffix()), row);
    }

    /** A prediction block registers its inner layers between its projection and its last norm. */
    private static int phase(MegatronName name) {
        return switch (name.scope()) {
            case MODEL, LAYER -> 0;
            case MTP -> name.suffix().startsWith("final_layernorm") ? 2 : 0;
            case MTP_LAYER -> 1;
        };
    }

    /** Names with the experts of each layer by their numbers; everything else stays where it is. */
    public static List<String> withExpertsInOrder(Collection<String> names) {
        Map<String, List<String>> groups = new LinkedHashMap<>();
        for (String name : names) {
            MegatronName parsed = MegatronName.parse(name);
            String group = MegatronTable.expertNumber(parsed.suffix()) < 0
                    ? name
                    : parsed.suffix().startsWith(MODULES)
                            ? parsed.prefix() + MODULES
                            : parsed.prefix() + MegatronTable.withoutExpertNumber(parsed.suffix());
            groups.computeIfAbsent(group, key -> new ArrayList<>()).add(name);
        }
        List<String> ordered = new ArrayList<>();
        for (List<String> group : groups.values()) {
            group.sort(Comparator.comparingInt(
                    name -> MegatronTable.expertNumber(MegatronName.parse(name).suffix())));
            ordered.addAll(group);
        }
        return ordered;
    }

    /** Experts that are modules follow each other as wholes; other parameters stand by their own rows. */
    private static int block(MegatronName name, int row) {
        if (!name.suffix().startsWith(MODULES)) {
            return row;
        }
        for (ParameterRule rule : MegatronTable.rules(name.scope())) {
            if (rule.suffix().startsWith(MODULES)) {
                return 2 * rule.order();
            }
        }
        return 0;
    }

    /** Position in the table; an opaque state comes behind the last parameter of its module. */
    private static int row(MegatronName name) {
        String suffix = MegatronTable.withoutExpertNumber(name.suffix());
        List<ParameterRule> rows = MegatronTable.rules(name.scope(), suffix);
        if (!rows.isEmpty() || !name.isExtraState()) {
            return rows.isEmpty() ? UNKNOWN : 2 * rows.get(0).order();
        }
        String module = suffix.substring(0, suffix.length() - "_extra_state".length());
        int found = UNKNOWN;
        for (ParameterRule rule : MegatronTable.rules(name.scope())) {
            if (rule.suffix().startsWith(module)) {
                found = 2 * rule.order() + 1;
            }
        }
        return found;
    }

    /** Compares prefixes so that layer 10 comes after layer 9. */
    static int byNumbers(String a, String b) {
        int byLength = Integer.compare(a.length(), b.length());
        return byLength != 0 ? byLength : a.compareTo(b);
    }
}
