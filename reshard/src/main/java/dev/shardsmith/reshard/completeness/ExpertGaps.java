package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.family.MegatronExperts;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The experts of one layer that lack a parameter: as many are there as the router chooses among. */
final class ExpertGaps {
    private static final int MOST = 1000;

    private ExpertGaps() {}

    /** Whether a parameter is one of experts, with or without a number. */
    static boolean isExperts(String suffix) {
        return suffix.startsWith("mlp.experts.");
    }

    static void find(LayerParts layer, List<Gap> gaps) {
        Map<String, Set<Integer>> numbers = new LinkedHashMap<>();
        for (String suffix : layer.suffixes()) {
            int number = MegatronExperts.number(suffix);
            if (number >= 0) {
                numbers.computeIfAbsent(MegatronExperts.withoutNumber(suffix), none -> new HashSet<>())
                        .add(number);
            }
        }
        if (numbers.isEmpty()) {
            boolean stacked = layer.has("mlp.experts.linear_fc1.weight") || layer.has("mlp.experts.weight1");
            if (!stacked) {
                gaps.add(new Gap(Gap.Kind.EXPERT, layer.prefix() + "mlp.experts.*", "there is no expert at all"));
            }
            return;
        }
        pairs(numbers);
        int highest = numbers.values().stream()
                .flatMap(Set::stream)
                .mapToInt(Integer::intValue)
                .max()
                .orElse(-1);
        long experts = layer.size("mlp.router.weight", 0).orElse(highest + 1L);
        numbers.forEach((template, found) -> {
            String reason = layer.has("mlp.router.weight")
                    ? "the router chooses among %d experts, but %d are there".formatted(experts, found.size())
                    : "%d of %d experts have it".formatted(found.size(), experts);
            for (long number = 0; number < experts && gaps.size() < MOST; number++) {
                if (number > Integer.MAX_VALUE || !found.contains((int) number)) {
                    gaps.add(new Gap(
                            Gap.Kind.EXPERT, layer.prefix() + template.replace("#", Long.toString(number)), reason));
                }
            }
        });
    }

    /** Both matrices of an expert are there or neither. */
    private static void pairs(Map<String, Set<Integer>> numbers) {
        List<String> others = new ArrayList<>();
        for (String template : numbers.keySet()) {
            others.add(template.replace("linear_fc1", "linear_fc2"));
            others.add(template.replace("linear_fc2", "linear_fc1"));
        }
        for (String template : others) {
            numbers.computeIfAbsent(template, none -> new HashSet<>());
        }
    }
}
