package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MegatronName.Scope;
import dev.shardsmith.reshard.family.ParameterRule.Part;
import dev.shardsmith.reshard.family.ParameterRule.When;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Predicate;

/**
 * From the keys of a torch_dist checkpoint to logical tensors.
 *
 * <p>Three things differ from the legacy keys: fused Mamba tensors are stored part by part ({@code in_proj.weight.z}), the layers of
 * a homogeneous model are stacked along a leading axis, and so are the experts of a mixture.
 */
public final class DistKeys {
    private static final String LAYERS = "decoder.layers.";
    private static final String EXPERTS = "mlp.experts.experts.";
    private static final long NONE = -1;

    /** More experts in all layers than any model has. */
    private static final int MOST_SLICES = 1 << 21;

    private static final List<ParameterRule> BY_PART = MegatronTable.rules(MegatronName.Scope.LAYER).stream()
            .filter(ParameterRule::distByPart)
            .toList();

    private final DistNames names;
    private final StoredKeys stored;
    private final Set<String> fused = new HashSet<>();
    private final Map<String, DistTarget> targets = new HashMap<>();
    private final DistTensors tensors;

    private DistKeys(StoredKeys stored, DistNames names) {
        this.stored = stored;
        this.names = names;
        this.tensors = new DistTensors(stored.size());
    }

    /**
     * Sorts stored tensors into logical ones.
     *
     * @param stored the stored tensors
     * @param names the model's own names for what is stored under one name whatever the model
     * @param others names of things that are no tensors but stand between them
     * @throws CheckpointException if a part is missing
     */
    public static DistTensors read(StoredKeys stored, DistNames names, Collection<String> others)
            throws CheckpointException {
        DistKeys keys = new DistKeys(stored, names);
        if (names.fusedDown()) {
            keys.findFused();
        }
        keys.addAll();
        return keys.tensors.finish(others);
    }

    /** Layers whose latent attention has one down projection: all but sparse ones and those without a queries' rank. */
    private void findFused() {
        String projection = "self_attention.linear_q_down_proj.weight";
        boolean[] projections = suffixes(stored, suffix -> suffix.endsWith(projection));
        for (int number = 0; number < stored.size(); number++) {
            if (projections[stored.names().suffix(number)]) {
                String key = stored.key(number);
                String prefix = key.substring(0, key.length() - projection.length());
                boolean sparse = stored.contains(prefix + "self_attention.core_attention.indexer.linear_wk.weight");
                if (!sparse) {
                    fused.add(prefix);
                }
            }
        }
    }

    /** For each suffix of the keys, whether it is one of some. */
    private static boolean[] suffixes(StoredKeys keys, Predicate<String> some) {
        List<MegatronName> suffixes = keys.names().suffixes();
        boolean[] are = new boolean[suffixes.size()];
        for (int i = 0; i < are.length; i++) {
            are[i] = some.test(suffixes.get(i).suffix());
        }
        return are;
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
        String attention = "self_attention.linear_qkv.weight";
        boolean[] attentions = suffixes(keys, suffix -> suffix.contains(attention));
        for (int number = 0; number < keys.size(); number++) {
            if (attentions[keys.names().suffix(number)]) {
                String key = keys.key(number);
                String prefix = key.substring(0, key.indexOf(attention));
                if (keys.contains(prefix + "mlp.linear_fc1.weight") || keys.contains(prefix + "mlp.router.weight")) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Whether one of the keys is that of a parameter of all layers together. */
    public static boolean isAnyStacked(StoredKeys keys) {
        return keys.names().suffixes().stream()
                .anyMatch(suffix -> suffix.scope() == Scope.MODEL && isStacked(suffix.suffix()));
    }

    /** Whether a key is that of a parameter of all layers together. */
    public static boolean isStacked(String key) {
        return key.length() > LAYERS.length() && key.startsWith(LAYERS) && !Digits.isDigit(key.charAt(LAYERS.length()));
    }

    private void addAll() throws CheckpointException {
        NameTable keys = stored.names();
        String[] prefixes = new String[keys.prefixes().size()];
        // Layers have the same parameters: a suffix is looked up in the table once.
        DistTarget[] known = new DistTarget[keys.suffixes().size()];
        boolean[] stacked = suffixes(stored, suffix -> isStacked(suffix) || isStackOfExperts(suffix));
        for (int number = 0; number < keys.size(); number++) {
            int suffixNumber = keys.suffix(number);
            MegatronName prefix = keys.prefixes().get(keys.prefix(number));
            String suffix = keys.suffixes().get(suffixNumber).suffix();
            Shape shape = stored.shape(number);
            if (stacked[suffixNumber] && addStack(number, prefix.prefix(), suffix, shape)) {
                continue;
            }
            if (!fused.isEmpty() && fused.contains(prefix.prefix())) {
                put(number, names.prediction(prefix.prefix()), target(suffix, true), shape);
                continue;
            }
            if (known[suffixNumber] == null) {
                known[suffixNumber] = target(suffix, false);
            }
            DistTarget target = known[suffixNumber];
            if (prefixes[keys.prefix(number)] == null) {
                prefixes[keys.prefix(number)] = names.prediction(prefix.prefix());
            }
            String newPrefix = prefixes[keys.prefix(number)];
            boolean same = target.name().equals(suffix) && newPrefix.equals(prefix.prefix());
            String name = same ? stored.key(number) : newPrefix + target.name();
            tensors.add(name, number, NONE, NONE, shape, target);
        }
    }

    private void put(int number, String prefix, DistTarget target, Shape shape) {
        tensors.add(prefix + target.name(), number, NONE, NONE, shape, target);
    }

    /** Adds each layer and each expert of a tensor of several; false if it is none, which its shape tells. */
    private boolean addStack(int number, String ownPrefix, String key, Shape shape) throws CheckpointException {
        boolean layers = isStacked(key) && shape.rank() > 0;
        String suffix = layers ? key.substring(LAYERS.length()) : key;
        boolean experts = isStackOfExperts(suffix) && shape.rank() > (layers ? 1 : 0);
        if (!layers && !experts) {
            return false;
        }
        int leading = (layers ? 1 : 0) + (experts ? 1 : 0);
        requireFew(stored.key(number), shape, leading);
        Shape inner = without(shape, leading);
        for (long layer = 0; layer < (layers ? shape.size(0) : 1); layer++) {
            String prefix = layers ? LAYERS + layer + "." : names.prediction(ownPrefix);
            if (experts) {
                addExperts(number, prefix, suffix.substring(EXPERTS.length()), layers ? layer : NONE, shape, inner);
            } else {
                DistTarget target = fused.contains(LAYERS)
                        ? target(suffix, true)
                        : targets.computeIfAbsent(suffix, some -> target(some, false));
                tensors.add(prefix + target.name(), number, layer, NONE, inner, target);
            }
        }
        return true;
    }

    private void addExperts(int number, String prefix, String parameter, long layer, Shape shape, Shape inner) {
        for (long expert = 0; expert < shape.size(layer == NONE ? 0 : 1); expert++) {
            DistTarget target = expert((int) expert, parameter);
            String name = prefix + target.name();
            if (layer == NONE) {
                tensors.add(name, number, expert, NONE, inner, target);
            } else {
                tensors.add(name, number, layer, expert, inner, target);
            }
        }
    }

    /** A shape may claim any number of layers and experts, and each is a tensor. */
    private static void requireFew(String key, Shape shape, int leading) throws CheckpointException {
        long slices = 1;
        boolean many = false;
        for (int dim = 0; dim < leading; dim++) {
            many |= shape.size(dim) > MOST_SLICES;
            slices = many ? 0 : slices * shape.size(dim);
        }
        if (many || slices > MOST_SLICES) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    key,
                    "its shape " + shape + " says that it holds more than " + MOST_SLICES + " tensors of a model");
        }
    }

    private static Shape without(Shape shape, int leading) {
        return Shape.of(Arrays.copyOfRange(shape.toArray(), leading, shape.rank()));
    }

    /** True for a parameter of all experts together. */
    private static boolean isStackOfExperts(String suffix) {
        return suffix.startsWith(EXPERTS) && numberEnd(suffix) < 0;
    }

    /** Behind the expert's number in a suffix of an expert, or -1 if the tensor is one of all experts. */
    private static int numberEnd(String suffix) {
        int end = Digits.end(suffix, EXPERTS.length());
        return end > EXPERTS.length() && end + 1 < suffix.length() && suffix.charAt(end) == '.' ? end : -1;
    }

    private DistTarget target(String suffix, boolean fusedDown) {
        int end = suffix.startsWith(EXPERTS) ? numberEnd(suffix) : -1;
        if (end >= 0) {
            return expert(Integer.parseInt(suffix, EXPERTS.length(), end, 10), suffix.substring(end + 1));
        }
        if (suffix.endsWith("linear_fc1.weight_w") || suffix.endsWith("linear_fc1.weight_v")) {
            return half(suffix);
        }
        Optional<DistTarget> part = partOf(suffix, fusedDown);
        return part.orElseGet(() -> DistTarget.whole(fusedDown ? DistNames.fusedNorm(suffix) : names.own(suffix)));
    }

    private DistTarget expert(int expert, String parameter) {
        boolean isHalf = parameter.endsWith("_w") || parameter.endsWith("_v");
        DistTarget target = isHalf ? half(parameter) : DistTarget.whole(parameter);
        return new DistTarget(names.expert(expert, target.name()), target.part(), null);
    }

    private static DistTarget half(String name) {
        return new DistTarget(name.substring(0, name.length() - 2), name.endsWith("_w") ? "gate" : "up", null);
    }

    private Optional<DistTarget> partOf(String suffix, boolean fusedDown) {
        for (ParameterRule rule : BY_PART) {
            boolean possible = fusedDown || rule.when() != When.FUSED_DOWN;
            Optional<String> part = possible ? rule.distPart(suffix) : Optional.empty();
            for (Part known : part.isPresent() ? rule.parts() : List.<Part>of()) {
                if (known.numberOf(part.get()) >= 0) {
                    return Optional.of(new DistTarget(names.whole(rule), part.get(), rule));
                }
            }
        }
        return Optional.empty();
    }
}
