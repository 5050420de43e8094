package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.MegatronName.Scope;
import dev.shardsmith.reshard.family.NormNames;
import dev.shardsmith.reshard.plan.ConversionOptions.Model;
import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Leading axes of the tensors in a torch_dist checkpoint: one for the layers of a Transformer, one for the experts of a layer.
 *
 * <p>Megatron stacks the layers of a Transformer whose layers are all alike ({@code decoder.layers.mlp.linear_fc2.weight} of shape
 * [layers, out, in]); the layers of a hybrid model have keys of their own. A Transformer can have them, too, if the checkpoint's
 * metadata says so.
 */
final class DistLayers {
    private static final String LAYERS = "decoder.layers.";
    private static final String CONTENT = "content_metadata";
    private static final String OWN_KEYS = "non_homogeneous_layers";

    private final MegatronGoal goal;
    private final boolean stacked;
    private final Map<String, Set<String>> suffixes = new LinkedHashMap<>();

    /**
     * An index along each leading axis, and the sizes of the axes.
     *
     * @param index the place of one layer and one expert
     * @param sizes layers and experts
     */
    record Lead(long[] index, long[] sizes) {
        /** A shape behind the leading axes. */
        Shape shape(Shape inner) {
            return Shape.of(join(sizes, inner.toArray()));
        }

        /** An offset behind the leading axes. */
        long[] offset(long[] inner) {
            return join(index, inner);
        }

        /** Sizes of one layer's and one expert's part. */
        long[] one(long[] inner) {
            long[] ones = new long[index.length];
            Arrays.fill(ones, 1);
            return join(ones, inner);
        }

        /** The end of an object's key: {@code shard_3.0_24.8}, or {@code shard_0_1} without leading axes. */
        String shard() {
            return index.length == 0 ? "shard_0_1" : "shard_" + joined(index) + "_" + joined(sizes);
        }

        private static String joined(long[] numbers) {
            return Arrays.stream(numbers).mapToObj(Long::toString).collect(Collectors.joining("."));
        }

        private static long[] join(long[] first, long[] second) {
            long[] both = Arrays.copyOf(first, first.length + second.length);
            System.arraycopy(second, 0, both, first.length, second.length);
            return both;
        }
    }

    DistLayers(MegatronGoal goal) {
        this.goal = goal;
        this.stacked = stacks(goal);
        for (String key : goal.model().tensors().keySet()) {
            MegatronName name = MegatronName.parse(key);
            suffixes.computeIfAbsent(name.prefix(), prefix -> new LinkedHashSet<>())
                    .add(name.suffix());
        }
        if (goal.source()
                .state()
                .args()
                .flatMap(args -> args.text("transformer_impl"))
                .equals(Optional.of("local"))) {
            // Without Transformer Engine a mixture's norm has the same key as that of an MLP.
            suffixes.values().stream()
                    .filter(layer -> layer.remove("mlp.router.weight"))
                    .forEach(layer -> layer.add("mlp.linear_fc1.weight"));
        }
    }

    private static boolean stacks(MegatronGoal goal) {
        if (goal.moves().model() != Model.TRANSFORMER) {
            return false;
        }
        ModelView source = goal.source();
        if (source.layout() == ModelView.Layout.TORCH_DIST) {
            return source.stackedLayers();
        }
        Optional<MegatronArgs> args = source.state().args();
        boolean frequencies = args.map(DistLayers::oneKindOfLayer).orElse(true);
        return frequencies && alike(goal.model().tensors().values());
    }

    /** Whether the options let every layer be the same, as Megatron decides it. */
    private static boolean oneKindOfLayer(MegatronArgs args) {
        boolean heterogeneous = args.value("heterogeneous_layers_config_path").isPresent()
                || args.value("heterogeneous_layers_config_encoded_json").isPresent()
                || args.flag("hetereogenous_dist_checkpoint", false);
        return !heterogeneous && everyLayer(args, "moe_layer_freq") && everyLayer(args, "linear_attention_freq");
    }

    private static boolean everyLayer(MegatronArgs args, String frequency) {
        return args.value(frequency).isEmpty() || args.integer(frequency, 2) <= 1;
    }

    private static boolean alike(Iterable<TargetTensor> tensors) {
        Map<Integer, Map<String, String>> layers = new LinkedHashMap<>();
        for (TargetTensor tensor : tensors) {
            MegatronName name = MegatronName.parse(tensor.name());
            DType dtype = tensor.dtype();
            name.layer()
                    .ifPresent(layer -> layers.computeIfAbsent(layer, number -> new LinkedHashMap<>())
                            .put(name.suffix(), dtype + " " + tensor.shape()));
        }
        return layers.values().stream().distinct().count() == 1;
    }

    /**
     * A parameter's key behind the prefix. Megatron saves a Transformer's norms as parts of linear layers, so that models with
     * and without Transformer Engine read each other's checkpoints.
     */
    String suffix(MegatronName name) {
        boolean layer = name.scope() == Scope.LAYER || name.scope() == Scope.MTP_LAYER;
        return layer && goal.moves().model() == Model.TRANSFORMER
                ? NormNames.named(name.suffix(), suffixes.get(name.prefix()), NormNaming.FUSED)
                : name.suffix();
    }

    /** What a parameter's key begins with. */
    String prefix(MegatronName name) {
        if (stacked && name.scope() == Scope.LAYER) {
            return LAYERS;
        }
        boolean transformer = name.scope() == Scope.MTP_LAYER && name.prefix().endsWith(".mtp_model_layer.");
        return transformer ? name.prefix().replace("mtp_model_layer.", "transformer_layer.") : name.prefix();
    }

    /** The leading axes of a parameter or opaque state; those of the state that all experts share have expert 0. */
    List<Lead> leads(MegatronName name) {
        long experts = goal.experts().perRank(name.prefix());
        int expert = MegatronExperts.number(name);
        boolean shared = expert < 0 && name.isExtraState() && name.suffix().startsWith("mlp.experts.");
        List<Lead> leads = new ArrayList<>();
        long first = shared ? 0 : expert;
        long last = shared ? experts - 1 : expert;
        for (long number = first; number <= last; number++) {
            leads.add(lead(name, number, experts));
        }
        return leads;
    }

    private Lead lead(MegatronName name, long expert, long experts) {
        boolean layer = stacked && name.scope() == Scope.LAYER;
        long[] index = new long[(layer ? 1 : 0) + (expert >= 0 ? 1 : 0)];
        long[] sizes = new long[index.length];
        if (layer) {
            index[0] = name.layer().orElseThrow();
            sizes[0] = goal.moves().layers();
        }
        if (expert >= 0) {
            index[index.length - 1] = expert;
            sizes[index.length - 1] = experts;
        }
        return new Lead(index, sizes);
    }

    /** Adds to the common state what a Transformer's keys need to be found; others need nothing. */
    void describe(PyDict common) {
        if (stacked || goal.moves().model() != Model.TRANSFORMER) {
            return;
        }
        PyDict content = new PyDict();
        PyValue given = common.get(CONTENT).orElse(content);
        if (given instanceof PyDict dict) {
            content.entries().addAll(dict.entries());
            content.put(OWN_KEYS, PyBool.TRUE);
            common.put(CONTENT, content);
        }
    }
}
