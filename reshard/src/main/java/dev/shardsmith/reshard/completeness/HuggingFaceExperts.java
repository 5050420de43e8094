package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Looks for gaps among numbered experts of models whose other names are not known. */
final class HuggingFaceExperts {
    private static final Pattern EXPERT = Pattern.compile("(.*\\.experts\\.)(\\d{1,9})(\\..+)");
    private static final List<String> COUNTS =
            List.of("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts");
    private static final int MOST = 1000;

    private HuggingFaceExperts() {}

    /** Every expert of a layer has what the others have, up to the number that the config gives. */
    static List<Gap> gaps(ModelView view) {
        Map<String, Map<String, Set<Integer>>> layers = new LinkedHashMap<>();
        for (String name : view.tensors().keySet()) {
            Matcher expert = EXPERT.matcher(name);
            if (name.contains(".experts.") && expert.matches()) {
                layers.computeIfAbsent(expert.group(1), none -> new LinkedHashMap<>())
                        .computeIfAbsent(expert.group(3), none -> new TreeSet<>())
                        .add(Integer.parseInt(expert.group(2)));
            }
        }
        List<Gap> gaps = new ArrayList<>();
        for (Map.Entry<String, Map<String, Set<Integer>>> layer : layers.entrySet()) {
            TreeSet<Integer> all = new TreeSet<>();
            layer.getValue().values().forEach(all::addAll);
            long count = expected(view.config(), all.last() + 1L);
            layer.getValue().forEach((parameter, numbers) -> {
                for (int number = 0; number < count && gaps.size() < MOST; number++) {
                    if (!numbers.contains(number)) {
                        gaps.add(new Gap(
                                Gap.Kind.EXPERT,
                                layer.getKey() + number + parameter,
                                "%d of %d experts have it".formatted(numbers.size(), count)));
                    }
                }
            });
        }
        return gaps;
    }

    /** The config counts experts of all layers alike; where it says another number than some layer has, the weights count. */
    private static long expected(Map<String, Object> config, long found) {
        for (String field : COUNTS) {
            if (config.get(field) instanceof Number number && number.longValue() > found) {
                return number.longValue();
            }
        }
        return found;
    }
}
