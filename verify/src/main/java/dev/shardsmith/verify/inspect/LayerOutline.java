package dev.shardsmith.verify.inspect;

import dev.shardsmith.reshard.family.LayerSignature;
import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * The layers of a model as the names of its tensors tell them.
 *
 * <p>The kind of a layer is read from its parameters, not from a saved pattern: the two may contradict each other.
 */
public final class LayerOutline {
    private static final Pattern LAYER = Pattern.compile("^(.*?)\\blayers\\.(\\d{1,9})\\.(.+)$");

    private final List<Layer> layers;
    private final Map<String, Integer> byTensor;

    /**
     * One layer.
     *
     * @param label its number, with the stack's name in front if there are several stacks
     * @param kind what sort of layer its parameters make it; empty if they do not tell
     * @param tensors names of its tensors
     */
    public record Layer(String label, Optional<LayerKind> kind, List<String> tensors) {}

    private LayerOutline(List<Layer> layers, Map<String, Integer> byTensor) {
        this.layers = layers;
        this.byTensor = byTensor;
    }

    /** The layers in the given names, stacks in the order of their first tensor, layers by number. */
    public static LayerOutline of(Iterable<String> names) {
        Map<String, Map<Long, List<String>>> stacks = new LinkedHashMap<>();
        for (String name : names) {
            Matcher matcher = LAYER.matcher(name);
            if (matcher.matches()) {
                stacks.computeIfAbsent(matcher.group(1), none -> new TreeMap<>())
                        .computeIfAbsent(Long.parseLong(matcher.group(2)), none -> new ArrayList<>())
                        .add(name);
            }
        }
        List<Layer> layers = new ArrayList<>();
        Map<String, Integer> byTensor = new HashMap<>();
        String first = stacks.isEmpty() ? "" : stacks.keySet().iterator().next();
        stacks.forEach((stack, numbered) -> numbered.forEach((number, tensors) -> {
            tensors.forEach(name -> byTensor.put(name, layers.size()));
            String prefix = stack.equals(first) ? "" : stack.replaceAll("\\.$", "") + " ";
            layers.add(new Layer(prefix + number, kind(tensors), tensors));
        }));
        return new LayerOutline(layers, byTensor);
    }

    private static Optional<LayerKind> kind(List<String> names) {
        Set<String> suffixes = names.stream()
                .map(name -> LAYER.matcher(name).replaceFirst("$3"))
                .collect(Collectors.toSet());
        Set<LayerKind> megatron = LayerSignature.kinds(suffixes::contains).keySet();
        if (megatron.size() == 1) {
            return Optional.of(megatron.iterator().next());
        }
        char symbol = 0;
        for (String name : names) {
            if (name.endsWith(".A_log") || name.contains(".conv1d")) {
                symbol = 'M';
            } else if (name.contains(".experts.") || name.contains(".router.")) {
                symbol = 'E';
            } else if (name.contains("self_attention.")
                    || name.contains("self_attn.")
                    || name.contains(".q_proj.")
                    || name.contains(".Wqkv.")) {
                symbol = symbol == 'M' ? symbol : '*';
            } else if (symbol == 0
                    && (name.contains(".mlp.") || name.contains(".up_proj.") || name.contains(".fc1."))) {
                symbol = '-';
            }
        }
        return LayerKind.of(symbol);
    }

    /** All layers. */
    public List<Layer> layers() {
        return layers;
    }

    /** The position in {@link #layers} of a tensor's layer, -1 if it is in none. */
    public int layerOf(String tensor) {
        return byTensor.getOrDefault(tensor, -1);
    }
}
