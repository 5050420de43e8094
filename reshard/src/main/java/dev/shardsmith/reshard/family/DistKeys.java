package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.Part;
import dev.shardsmith.reshard.family.ParameterRule.When;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * From the keys of a torch_dist checkpoint to logical tensors.
 *
 * <p>Three things differ from the legacy keys: fused Mamba tensors are stored part by part ({@code in_proj.weight.z}), the layers of
 * a homogeneous model are stacked along a leading axis, and so are the experts of a mixture.
 */
public final class DistKeys {
    private static final String LAYERS = "decoder.layers.";
    private static final String EXPERTS = "mlp.experts.experts.";
    private static final long[] NO_LEADING = {};

    private static final List<ParameterRule> BY_PART = MegatronTable.rules(MegatronName.Scope.LAYER).stream()
            .filter(ParameterRule::distByPart)
            .toList();

    /**
     * A logical tensor and where it is kept.
     *
     * @param shape sizes of the undivided tensor
     * @param sources its places; together they are the whole
     */
    public record Entry(Shape shape, List<DistSource> sources) {}

    private record Found(DistSource source, Shape shape, String part, ParameterRule rule) {}

    /** What a suffix of a key stands for: a logical tensor's suffix, and if it is not all of it, which part. */
    private record Target(String name, String part, ParameterRule rule) {}

    private final DistNames names;
    private final Set<String> fused = new HashSet<>();
    private final Map<String, Target> targets = new HashMap<>();
    private final Map<String, Entry> entries = new LinkedHashMap<>();
    /** The parts of those that are not stored whole. */
    private final Map<String, List<Found>> parts = new LinkedHashMap<>();

    private DistKeys(DistNames names) {
        this.names = names;
    }

    /**
     * Sorts stored tensors into logical ones.
     *
     * @param stored the stored tensors
     * @param names the model's own names for what is stored under one name whatever the model
     * @throws CheckpointException if a part is missing
     */
    public static Map<String, Entry> read(StoredKeys stored, DistNames names) throws CheckpointException {
        DistKeys keys = new DistKeys(names);
        if (names.fusedDown()) {
            keys.findFused(stored);
        }
        for (int number = 0; number < stored.size(); number++) {
            keys.add(number, stored.key(number), stored.shape(number));
        }
        for (Map.Entry<String, List<Found>> entry : keys.parts.entrySet()) {
            keys.entries.put(entry.getKey(), assemble(entry.getKey(), entry.getValue()));
        }
        return keys.entries;
    }

    /** Layers whose latent attention has one down projection: all but sparse ones and those without a queries' rank. */
    private void findFused(StoredKeys keys) {
        for (int number = 0; number < keys.size(); number++) {
            String key = keys.key(number);
            String projection = "self_attention.linear_q_down_proj.weight";
            if (key.endsWith(projection)) {
                String prefix = key.substring(0, key.length() - projection.length());
                boolean sparse = keys.contains(prefix + "self_attention.core_attention.indexer.linear_wk.weight");
                if (!sparse) {
                    fused.add(prefix);
                }
            }
        }
    }

    /**
     * The name of an opaque state.
     *
     * @param key its key without the module's {@code _extra_state}
     * @param shard what its key ends with: the places in layers and experts, an underscore, their numbers
     */
    public static String opaque(String key, String shard, DistNames names) {
        String[] places = shard.substring(0, Math.max(0, shard.indexOf('_'))).split("\\.");
        MegatronName name =
                MegatronName.parse(isStacked(key) ? LAYERS + places[0] + "." + key.substring(LAYERS.length()) : key);
        String suffix = name.suffix();
        if (suffix.startsWith(EXPERTS)) {
            String module = suffix.substring(EXPERTS.length());
            String expert = places[places.length - 1];
            suffix = names.groupedExperts()
                    ? "mlp.experts." + module
                    : "mlp.experts.local_experts." + expert + "." + module;
        }
        return names.prediction(name.prefix()) + suffix;
    }

    /** Whether the layers have attention and MLP, as their keys tell. */
    public static boolean isTransformer(StoredKeys keys) {
        for (int number = 0; number < keys.size(); number++) {
            String key = keys.key(number);
            int at = key.indexOf("self_attention.linear_qkv.weight");
            if (at >= 0) {
                String prefix = key.substring(0, at);
                if (keys.contains(prefix + "mlp.linear_fc1.weight") || keys.contains(prefix + "mlp.router.weight")) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether one of the keys is that of a parameter of all layers together. */
    public static boolean isAnyStacked(StoredKeys keys) {
        for (int number = 0; number < keys.size(); number++) {
            if (isStacked(keys.key(number))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a key is that of a parameter of all layers together. */
    public static boolean isStacked(String key) {
        return key.length() > LAYERS.length() && key.startsWith(LAYERS) && !Digits.isDigit(key.charAt(LAYERS.length()));
    }

    private void add(int number, String key, Shape shape) {
        if (isStacked(key) && shape.rank() > 0) {
            String suffix = key.substring(LAYERS.length());
            for (long layer = 0; layer < shape.size(0); layer++) {
                DistSource source = new DistSource(number, new long[] {layer}, 0);
                add(source, LAYERS, LAYERS + layer + ".", suffix, shape);
            }
            return;
        }
        MegatronName name = MegatronName.parse(key);
        DistSource source = new DistSource(number, NO_LEADING, 0);
        add(source, name.prefix(), names.prediction(name.prefix()), name.suffix(), shape);
    }

    private void add(DistSource source, String ownPrefix, String prefix, String suffix, Shape shape) {
        int leading = source.leading().length;
        if (suffix.startsWith(EXPERTS) && numberEnd(suffix) < 0 && shape.rank() > leading) {
            for (long expert = 0; expert < shape.size(leading); expert++) {
                long[] indices = Arrays.copyOf(source.leading(), leading + 1);
                indices[leading] = expert;
                Target target = expert((int) expert, suffix.substring(EXPERTS.length()));
                put(prefix, target, new DistSource(source.number(), indices, 0), shape);
            }
            return;
        }
        if (!fused.isEmpty() && fused.contains(ownPrefix)) {
            put(prefix, target(suffix, true), source, shape);
            return;
        }
        // Layers have the same parameters: a suffix is looked up in the table once.
        Target target = targets.get(suffix);
        if (target == null) {
            target = target(suffix, false);
            targets.put(suffix, target);
        }
        put(prefix, target, source, shape);
    }

    /** Behind the expert's number in a suffix of an expert, or -1 if the tensor is one of all experts. */
    private static int numberEnd(String suffix) {
        int end = Digits.end(suffix, EXPERTS.length());
        return end > EXPERTS.length() && end + 1 < suffix.length() && suffix.charAt(end) == '.' ? end : -1;
    }

    private Target target(String suffix, boolean fusedDown) {
        int end = suffix.startsWith(EXPERTS) ? numberEnd(suffix) : -1;
        if (end >= 0) {
            return expert(Integer.parseInt(suffix, EXPERTS.length(), end, 10), suffix.substring(end + 1));
        }
        if (suffix.endsWith("linear_fc1.weight_w") || suffix.endsWith("linear_fc1.weight_v")) {
            return half(suffix);
        }
        Optional<Target> part = partOf(suffix, fusedDown);
        return part.orElseGet(() -> new Target(fusedDown ? DistNames.fusedNorm(suffix) : names.own(suffix), "", null));
    }

    private Target expert(int expert, String parameter) {
        boolean isHalf = parameter.endsWith("_w") || parameter.endsWith("_v");
        Target target = isHalf ? half(parameter) : new Target(parameter, "", null);
        return new Target(names.expert(expert, target.name()), target.part(), null);
    }

    private static Target half(String name) {
        return new Target(name.substring(0, name.length() - 2), name.endsWith("_w") ? "gate" : "up", null);
    }

    private Optional<Target> partOf(String suffix, boolean fusedDown) {
        for (ParameterRule rule : BY_PART) {
            boolean possible = fusedDown || rule.when() != When.FUSED_DOWN;
            Optional<String> part = possible ? rule.distPart(suffix) : Optional.empty();
            for (Part known : part.isPresent() ? rule.parts() : List.<Part>of()) {
                if (partNumber(known, part.get()) >= 0) {
                    return Optional.of(new Target(names.whole(rule), part.get(), rule));
                }
            }
        }
        return Optional.empty();
    }

    /** The number of a repeated part ({@code V1} of {@code V#}), 0 for the part itself, -1 for another part. */
    private static int partNumber(Part known, String part) {
        if (!known.name().endsWith("#")) {
            return known.name().equals(part) ? 0 : -1;
        }
        String stem = known.name().substring(0, known.name().length() - 1);
        return part.matches(Pattern.quote(stem) + "\\d{1,3}") ? Integer.parseInt(part.substring(stem.length())) : -1;
    }

    private void put(String prefix, Target target, DistSource source, Shape shape) {
        String name = prefix + target.name();
        Entry entry = new Entry(inner(source, shape), List.of(source));
        Entry before = entries.putIfAbsent(name, entry);
        if (before == null && target.part().isEmpty()) {
            return;
        }
        List<Found> found = parts.get(name);
        if (found == null) {
            found = new ArrayList<>();
            parts.put(name, found);
            if (before != null) {
                found.add(new Found(before.sources().get(0), before.shape(), "", null));
            }
        }
        found.add(new Found(source, shape, target.part(), target.rule()));
    }

    private static Entry assemble(String name, List<Found> parts) throws CheckpointException {
        List<Found> ordered = ordered(name, parts);
        List<DistSource> sources = new ArrayList<>();
        Shape first = inner(ordered.get(0).source(), ordered.get(0).shape());
        long base = 0;
        for (Found part : ordered) {
            Shape shape = inner(part.source(), part.shape());
            if (shape.rank() == 0
                    || shape.rank() != first.rank()
                    || !shape.with(0, first.size(0)).equals(first)) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "its part " + part.part() + " of shape " + shape + " does not fit " + first);
            }
            sources.add(new DistSource(part.source().number(), part.source().leading(), base));
            base = Math.addExact(base, shape.size(0));
        }
        return new Entry(first.with(0, base), sources);
    }

    private static List<Found> ordered(String name, List<Found> parts) throws CheckpointException {
        List<String> names = new ArrayList<>();
        ParameterRule rule = rule(parts);
        if (rule == null) {
            names.addAll(List.of("gate", "up"));
        } else {
            for (Part known : rule.parts()) {
                parts.stream()
                        .map(Found::part)
                        .filter(part -> partNumber(known, part) >= 0)
                        .sorted((a, b) -> partNumber(known, a) - partNumber(known, b))
                        .forEach(names::add);
                if (!known.name().endsWith("#") && !names.contains(known.name())) {
                    names.add(known.name());
                }
            }
        }
        List<Found> ordered = new ArrayList<>();
        for (String part : names) {
            ordered.add(parts.stream()
                    .filter(found -> found.part().equals(part))
                    .findFirst()
                    .orElseThrow(() -> CheckpointException.of(
                            Kind.INCOMPLETE, name, "its part " + part + " is not in the checkpoint")));
        }
        if (ordered.size() != parts.size()) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT, name, "it is stored whole and in parts, or one part is there twice");
        }
        return ordered;
    }

    /** The row whose parts these are; several kinds of layer share keys and differ in their parts. */
    private static ParameterRule rule(List<Found> parts) {
        ParameterRule best = null;
        int most = -1;
        String dist = parts.get(0).rule() == null ? "" : parts.get(0).rule().dist();
        for (ParameterRule rule : MegatronTable.rules(MegatronName.Scope.LAYER)) {
            if (rule.dist().equals(dist)) {
                int known = 0;
                for (Found part : parts) {
                    known += rule.parts().stream().anyMatch(p -> partNumber(p, part.part()) >= 0) ? 1 : 0;
                }
                int surplus = Math.max(0, rule.parts().size() - known);
                if (known * 100 - surplus > most) {
                    most = known * 100 - surplus;
                    best = rule;
                }
            }
        }
        return best;
    }

    private static Shape inner(DistSource source, Shape shape) {
        int leading = source.leading().length;
        if (leading == 0) {
            return shape;
        }
        long[] sizes = shape.toArray();
        return Shape.of(Arrays.copyOfRange(sizes, leading, sizes.length));
    }
}
