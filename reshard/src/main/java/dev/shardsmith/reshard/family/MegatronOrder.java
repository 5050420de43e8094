package dev.shardsmith.reshard.family;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The order in which a Megatron model registers its parameters: embedding, layers, final norm, predictions, output layer. */
public final class MegatronOrder {
    /** Where parameters of one suffix stand among those of their layer or block. */
    private record Place(int section, int phase, int block, int expert, int row) {}

    /** Layers and blocks, and what stands outside of them: names of one prefix that nothing else comes between. */
    private record Group(int section, int layer, int phase, String prefix) {}

    /** How many groups one prefix may have: what is before the layers, behind them, and last. */
    private static final int GROUPS = 3;

    /** Row of what the table does not know: behind all others. */
    private static final int UNKNOWN = Integer.MAX_VALUE / 2;

    private static final String MODULES = "mlp.experts.local_experts.";

    private MegatronOrder() {}

    /** The numbers of the names in the order of the model; opaque states follow the parameters of their module. */
    static int[] of(NameTable names) {
        List<Place> places = new ArrayList<>();
        for (MegatronName suffix : names.suffixes()) {
            places.add(place(suffix));
        }
        int[] ranks = ranks(
                names.suffixes().size(),
                Comparator.<Integer>comparingInt(suffix -> places.get(suffix).block())
                        .thenComparingInt(suffix -> places.get(suffix).expert())
                        .thenComparingInt(suffix -> places.get(suffix).row())
                        .thenComparing(suffix -> names.suffixes().get(suffix).suffix()));
        int[] groups = new int[names.size()];
        int[] groupRanks = groups(names, places, groups);
        // By groups first, which are counted, then by suffixes; what is equal stays in its order.
        int[] starts = new int[groupRanks.length + 1];
        for (int i = 0; i < groups.length; i++) {
            groups[i] = groupRanks[groups[i]];
            starts[groups[i] + 1]++;
        }
        for (int group = 1; group < starts.length; group++) {
            starts[group] += starts[group - 1];
        }
        long[] sorted = new long[names.size()];
        int[] next = starts.clone();
        for (int i = 0; i < groups.length; i++) {
            sorted[next[groups[i]]++] = (long) ranks[names.suffix(i)] << 32 | i;
        }
        for (int group = 0; group + 1 < starts.length; group++) {
            Arrays.sort(sorted, starts[group], starts[group + 1]);
        }
        int[] order = new int[sorted.length];
        for (int i = 0; i < order.length; i++) {
            order[i] = (int) sorted[i];
        }
        return order;
    }

    /**
     * Finds the group of each name.
     *
     * @param groups receives them
     * @return the place of each group among all; of groups that no name has too
     */
    private static int[] groups(NameTable names, List<Place> places, int[] groups) {
        Group[] found = new Group[GROUPS * names.prefixes().size()];
        for (int i = 0; i < groups.length; i++) {
            MegatronName prefix = names.prefixes().get(names.prefix(i));
            Place place = places.get(names.suffix(i));
            int group = GROUPS * names.prefix(i)
                    + switch (prefix.scope()) {
                        case MODEL -> place.section() / 2;
                        case MTP -> place.phase() / 2;
                        case LAYER, MTP_LAYER -> 0;
                    };
            groups[i] = group;
            if (found[group] == null) {
                int layer = prefix.layer().isPresent()
                        ? prefix.layer().getAsInt()
                        : prefix.depth().orElse(0);
                found[group] = new Group(place.section(), layer, place.phase(), prefix.prefix());
            }
        }
        return ranks(
                found.length,
                Comparator.comparing(
                        group -> found[group],
                        Comparator.nullsFirst(Comparator.comparingInt(Group::section)
                                .thenComparingInt(Group::layer)
                                .thenComparingInt(Group::phase)
                                .thenComparing(Group::prefix, MegatronOrder::byNumbers))));
    }

    /** The place of each number from 0 on in an order. */
    private static int[] ranks(int count, Comparator<Integer> order) {
        List<Integer> numbers = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            numbers.add(i);
        }
        numbers.sort(order);
        int[] ranks = new int[count];
        for (int i = 0; i < count; i++) {
            ranks[numbers.get(i)] = i;
        }
        return ranks;
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
