package dev.shardsmith.verify.family;

import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds what no layer of a model has asked for.
 *
 * <p>A tensor that the first rank was asked for, and another rank was not, is a copy. One that nobody was asked for is not run.
 */
final class Leftovers {
    private static final Pattern LAYER = Pattern.compile("(?:decoder|backbone|model)\\.layers\\.(\\d{1,6})\\..+");
    /** State of numeric recipes, and constants that are computed from the configuration. */
    private static final Pattern NO_WEIGHT = Pattern.compile(".*(_extra_state.*|inv_freq)");

    private final List<Remainder.Copy> copies;
    private final Map<String, List<String>> unused = new LinkedHashMap<>();

    private Leftovers(List<Remainder.Copy> copies) {
        this.copies = new ArrayList<>(copies);
    }

    /**
     * What is left over of some ranks.
     *
     * @param copies those that are known already
     */
    static Remainder of(List<NamedWeights> ranks, List<Remainder.Copy> copies) {
        Leftovers found = new Leftovers(copies);
        NamedWeights first = ranks.get(0);
        for (int rank = 0; rank < ranks.size(); rank++) {
            for (String name : ranks.get(rank).unused()) {
                if (!NO_WEIGHT.matcher(name).matches()) {
                    found.add(name, rank, first, ranks.get(rank));
                }
            }
        }
        return new Remainder(found.notRun(), List.copyOf(found.copies));
    }

    /** A copy of a tensor that is run elsewhere. */
    static Remainder.Copy copy(String name, String where, WeightSource first, WeightSource other) {
        return new Remainder.Copy(layer(name), name + " " + where, first, other);
    }

    private void add(String name, int rank, NamedWeights first, NamedWeights own) {
        if (rank > 0 && first.isUsed(name)) {
            copies.add(copy(name, "on rank " + rank, first.whole(name), own.whole(name)));
        } else {
            String kind = name.startsWith("mtp.")
                    ? "mtp"
                    : layer(name).map(String::valueOf).orElse("part");
            List<String> names = unused.computeIfAbsent(kind, key -> new ArrayList<>());
            if (!names.contains(name)) {
                names.add(name);
            }
        }
    }

    private static Optional<Integer> layer(String name) {
        Matcher matcher = LAYER.matcher(name);
        return matcher.matches() ? Optional.of(Integer.valueOf(matcher.group(1))) : Optional.empty();
    }

    private List<Remainder.NotRun> notRun() {
        List<Remainder.NotRun> parts = new ArrayList<>();
        unused.forEach((kind, names) -> {
            String more = names.size() == 1 ? "" : " and " + (names.size() - 1) + " more";
            parts.add(new Remainder.NotRun(
                    layer(names.get(0)), kind.equals("mtp") ? "mtp" : "part", names.get(0) + more));
        });
        return parts;
    }
}
