package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/**
 * Layers of equal weights, which a wrong layer offset leaves behind.
 *
 * <p>Of a tensor only its checksum and a hash of the rest that equal ones share are kept, as there may be a million; the few whose
 * numbers agree are then compared by all of it.
 */
final class RepeatedLayers {
    private static final int FIRST_ROOM = 64;

    private final List<LogicalTensor> tensors = new ArrayList<>();
    private long[] contents = new long[FIRST_ROOM];
    private double[] means = new double[FIRST_ROOM];

    /** Remembers a tensor of a layer; others are passed over. */
    void add(LogicalTensor tensor, long checksum, double mean) {
        MegatronName name = MegatronName.parse(tensor.name());
        if (name.layer().isEmpty()) {
            return;
        }
        int count = tensors.size();
        if (count == contents.length) {
            contents = Arrays.copyOf(contents, 2 * count);
            means = Arrays.copyOf(means, 2 * count);
        }
        int place = 31 * name.suffix().hashCode() + tensor.shape().hashCode();
        contents[count] = checksum << 32 | place & 0xFFFF_FFFFL;
        means[count] = mean;
        tensors.add(tensor);
    }

    /** Adds a warning for each set of layers that have a tensor in common, bit for bit. */
    void report(Findings findings) {
        TreeSet<String> seen = new TreeSet<>();
        for (List<String> names : equal()) {
            List<Integer> layers = names.stream()
                    .map(name -> MegatronName.parse(name).layer().getAsInt())
                    .toList();
            if (seen.add(layers.toString())) {
                findings.warning(
                        "layers.repeated",
                        names.get(1),
                        "layers %s have the same weights, bit for bit".formatted(layers),
                        "a stage may have been written in place of another");
            }
        }
    }

    /** Names of equal tensors, in the order of the model. */
    private List<List<String>> equal() {
        long[] sorted = Arrays.copyOf(contents, tensors.size());
        Arrays.sort(sorted);
        Map<String, List<String>> byContent = new LinkedHashMap<>();
        for (int i = 0; i < tensors.size(); i++) {
            if (isRepeated(sorted, contents[i])) {
                LogicalTensor tensor = tensors.get(i);
                String suffix = MegatronName.parse(tensor.name()).suffix();
                String key = suffix + " " + tensor.shape() + " " + (contents[i] >>> 32) + " " + means[i];
                byContent.computeIfAbsent(key, none -> new ArrayList<>()).add(tensor.name());
            }
        }
        return byContent.values().stream().filter(names -> names.size() > 1).toList();
    }

    private static boolean isRepeated(long[] sorted, long content) {
        int at = Arrays.binarySearch(sorted, content);
        return at > 0 && sorted[at - 1] == content || at + 1 < sorted.length && sorted[at + 1] == content;
    }
}
