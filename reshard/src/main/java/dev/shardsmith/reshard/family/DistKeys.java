package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.Part;
import dev.shardsmith.reshard.family.ParameterRule.When;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
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

    private final DistNames names;
    private final Set<String> fused = new HashSet<>();
    private final Map<String, List<Found>> found = new LinkedHashMap<>();

    private DistKeys(DistNames names) {
        this.names = names;
    }

    /**
     * Sorts stored tensors into logical ones.
     *
     * @param stored shapes by key, prefixes removed
     * @param names the model's own names for what is stored under one name whatever the model
     * @throws CheckpointException if a part is missing
     */
    public static Map<String, Entry> read(Map<String, Shape> stored, DistNames names) throws CheckpointException {
        DistKeys keys = new DistKeys(names);
        if (names.fusedDown()) {
            keys.findFused(stored.keySet());
        }
        stored.forEach(keys::add);
        Map<String, Entry> entries = new LinkedHashMap<>();
        Iterator<Map.Entry<String, List<Found>>> found = keys.found.entrySet().iterator();
        while (found.hasNext()) {
            Map.Entry<String, List<Found>> entry = found.next();
            entries.put(entry.getKey(), assemble(entry.getKey(), entry.getValue()));
            // Not both maps whole at once: there may be a million entries.
            found.remove();
        }
        return entries;
    }

    /** Layers whose latent attention has one down projection: all but sparse ones and those without a queries' rank. */
    private void findFused(Set<String> keys) {
        for (String key : keys) {
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
    public static boolean isTransformer(Set<String> keys) {
        for (String key : keys) {
            int at = key.indexOf("self_attention.linear_qkv.weight");
            String prefix = key.substring(0, Math.max(0, at));
            if (at >= 0
                    && (keys.contains(prefix + "mlp.linear_fc1.weight")
                            || keys.contains(prefix + "mlp.router.weight"))) {
                return true;
            }
        }
        return false;
    }

    /** Whether a key is that of a parameter of all layers together. */
    public static boolean isStacked(String key) {
        return key.length() > LAYERS.length() && key.startsWith(LAYERS) && !Digits.isDigit(key.charAt(LAYERS.length()));
    }

    private void add(String key, Shape shape) {
        if (isStacked(key) && shape.rank() > 0) {
            String suffix = key.substring(LAYERS.length());
            for (long layer = 0; layer < shape.size(0); layer++) {
                addSuffix(key, LAYERS + layer + ".", suffix, shape, new long[] {layer});
            }
            return;
        }
        MegatronName name = MegatronName.parse(key);
        addSuffix(key, names.prediction(name.prefix()), name.suffix(), shape, NO_LEADING);
    }

    private void addSuffix(String key, String prefix, String suffix, Shape shape, long[] leading) {
        if (!suffix.startsWith(EXPERTS)) {
            addPart(key, prefix, suffix, shape, leading);
            return;
        }
        int end = Digits.end(suffix, EXPERTS.length());
        if (end > EXPERTS.length() && end + 1 < suffix.length() && suffix.charAt(end) == '.') {
            int expert = Integer.parseInt(suffix, EXPERTS.length(), end, 10);
            addExpert(key, prefix, expert, suffix.substring(end + 1), shape, leading);
        } else if (shape.rank() > leading.length) {
            for (long expert = 0; expert < shape.size(leading.length); expert++) {
                long[] indices = Arrays.copyOf(leading, leading.length + 1);
                indices[leading.length] = expert;
                addExpert(key, prefix, (int) expert, suffix.substring(EXPERTS.length()), shape, indices);
            }
        } else {
            addPart(key, prefix, suffix, shape, leading);
        }
    }

    private void addExpert(String key, String prefix, int expert, String parameter, Shape shape, long[] leading) {
        String part = "";
        String name = parameter;
        if (name.endsWith("_w") || name.endsWith("_v")) {
            part = name.endsWith("_w") ? "gate" : "up";
            name = name.substring(0, name.length() - 2);
        }
        put(prefix + names.expert(expert, name), new Found(new DistSource(key, leading, 0), shape, part, null));
    }

    private void addPart(String key, String prefix, String suffix, Shape shape, long[] leading) {
        DistSource source = new DistSource(key, leading, 0);
        if (suffix.endsWith("linear_fc1.weight_w") || suffix.endsWith("linear_fc1.weight_v")) {
            String part = suffix.endsWith("_w") ? "gate" : "up";
            put(prefix + suffix.substring(0, suffix.length() - 2), new Found(source, shape, part, null));
            return;
        }
        boolean fusedDown = fused.contains(key.substring(0, key.length() - suffix.length()));
        Optional<Found> part = partOf(source, suffix, shape, fusedDown);
        if (part.isPresent()) {
            put(prefix + names.whole(part.get().rule()), part.get());
        } else {
            String name = fusedDown ? DistNames.fusedNorm(suffix) : names.own(suffix);
            put(prefix + name, new Found(source, shape, "", null));
        }
    }

    private static Optional<Found> partOf(DistSource source, String suffix, Shape shape, boolean fusedDown) {
        for (ParameterRule rule : BY_PART) {
            boolean possible = fusedDown || rule.when() != When.FUSED_DOWN;
            Optional<String> part = possible ? rule.distPart(suffix) : Optional.empty();
            for (Part known : part.isPresent() ? rule.parts() : List.<Part>of()) {
                if (partNumber(known, part.get()) >= 0) {
                    return Optional.of(new Found(source, shape, part.get(), rule));
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

    private void put(String name, Found entry) {
        found.computeIfAbsent(name, key -> new ArrayList<>(1)).add(entry);
    }

    private static Entry assemble(String name, List<Found> parts) throws CheckpointException {
        if (parts.size() == 1 && parts.get(0).part().isEmpty()) {
            return new Entry(inner(parts.get(0)), List.of(parts.get(0).source()));
        }
        List<Found> ordered = ordered(name, parts);
        List<DistSource> sources = new ArrayList<>();
        Shape first = inner(ordered.get(0));
        long base = 0;
        for (Found part : ordered) {
            Shape shape = inner(part);
            if (shape.rank() == 0
                    || shape.rank() != first.rank()
                    || !shape.with(0, first.size(0)).equals(first)) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "its part " + part.part() + " of shape " + shape + " does not fit " + first);
            }
            sources.add(new DistSource(part.source().key(), part.source().leading(), base));
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

    private static Shape inner(Found part) {
        if (part.source().leading().length == 0) {
            return part.shape();
        }
        long[] sizes = part.shape().toArray();
        return Shape.of(Arrays.copyOfRange(sizes, part.source().leading().length, sizes.length));
    }
}
