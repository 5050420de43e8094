package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * The logical tensors of a Megatron target: those of the source, with the names, vocabulary rows and element types that the user
 * wants.
 */
public final class MegatronTarget {
    private static final long LARGEST_DIVISOR = 128;

    private static final Set<String> VOCABULARY_ROWS =
            Set.of("embedding.word_embeddings.weight", "output_layer.weight", "output_layer.bias");

    private MegatronTarget() {}

    /**
     * The target's tensors.
     *
     * @param source a view of the Megatron family
     * @param options what the user wants
     * @param tensor tensor-parallel size of the target
     * @param padded whether the target's layout pads the vocabulary by Megatron's rule
     */
    public static TargetModel of(ModelView source, ConversionOptions options, int tensor, boolean padded)
            throws CheckpointException {
        return of(source, options, tensor, padded, LayerMoves.none());
    }

    /**
     * The target's tensors, where layers may have other numbers or be left out.
     *
     * @param moves which layer of the target each layer of the source becomes
     */
    public static TargetModel of(
            ModelView source, ConversionOptions options, int tensor, boolean padded, LayerMoves moves)
            throws CheckpointException {
        TargetModel model = TargetModel.empty();
        Map<String, Set<String>> layers = layers(source);
        for (LogicalTensor logical : source.tensors().values()) {
            Optional<String> moved = moves.target(logical.name());
            if (moved.isEmpty()) {
                model.dropped()
                        .add(new Dropped(logical.name(), logical.shape().elements(), logical.bytes(), "--drop-layers"));
                continue;
            }
            MegatronName name = MegatronName.parse(moved.get());
            Shape shape = logical.shape();
            Set<String> layer = layers.get(MegatronName.parse(logical.name()).prefix());
            String target = named(name, layer, options);
            if (VOCABULARY_ROWS.contains(logical.name())) {
                shape = vocabulary(source, logical, options, tensor, padded, model);
            }
            model.add(new TargetTensor(
                    target, logical.name(), ElementTypes.of(logical, source.family(), options, model), shape));
        }
        return model;
    }

    /** Suffixes of the source's parameters, layer by layer. */
    private static Map<String, Set<String>> layers(ModelView source) {
        Map<String, Set<String>> layers = new LinkedHashMap<>();
        for (String key : source.tensors().keySet()) {
            MegatronName name = MegatronName.parse(key);
            layers.computeIfAbsent(name.prefix(), prefix -> new LinkedHashSet<>())
                    .add(name.suffix());
        }
        return layers;
    }

    private static Shape vocabulary(
            ModelView source,
            LogicalTensor logical,
            ConversionOptions options,
            int tensor,
            boolean padded,
            TargetModel model)
            throws CheckpointException {
        Optional<MegatronArgs> args = source.state().args();
        OptionalLong real = args.map(given -> given.integer("vocab_size")).orElse(OptionalLong.empty());
        long rows = logical.shape().size(0);
        Vocabulary vocabulary = new Vocabulary(
                rows, real, divisor(args, rows, tensor), source.parallelism().tensor());
        Vocabulary.Target target = vocabulary.target(options, tensor, padded);
        if (!target.note().isEmpty() && !model.notes().contains(target.note())) {
            model.notes().add(target.note());
        }
        Shape shape = logical.shape().with(0, target.rows());
        long filled = vocabulary.firstFilled(options);
        if (target.rows() > filled) {
            Box box = Box.slice(shape, 0, filled, target.rows() - filled);
            model.fills().put(logical.name(), List.of(new Fill(box, options.padFill())));
        }
        long copied = Math.min(filled, target.rows());
        if (copied < rows) {
            long elements = Box.slice(logical.shape(), 0, copied, rows - copied).elements();
            model.dropped()
                    .add(new Dropped(
                            logical.name() + "[" + copied + ":" + rows + "]",
                            elements,
                            logical.dtype().bytes(elements),
                            "vocabulary padding"));
        }
        return shape;
    }

    /** The saved divisor; for models that come without one, the largest that needs no padding. */
    public static long divisor(Optional<MegatronArgs> args, long rows, int tensor) {
        OptionalLong saved =
                args.map(given -> given.integer("make_vocab_size_divisible_by")).orElse(OptionalLong.empty());
        if (saved.isPresent() || args.isEmpty()) {
            return Math.max(1, saved.orElse(LARGEST_DIVISOR));
        }
        long divisor = LARGEST_DIVISOR;
        while (divisor > 1 && rows % (divisor * tensor) != 0) {
            divisor /= 2;
        }
        return divisor;
    }

    /** The name of a parameter with the keys of convolution, norms and experts in the wanted spelling. */
    private static String named(MegatronName name, Set<String> layer, ConversionOptions options) {
        if (options.experts().isPresent() && MegatronExperts.number(name) >= 0) {
            return MegatronExperts.named(name, options.experts().get()).key();
        }
        String suffix = NormNames.named(name.suffix(), layer, options.normNaming());
        return switch (options.convNaming()) {
            case KEEP -> name.prefix() + suffix;
            case OLD ->
                suffix.equals("mixer.conv1d_weight")
                        ? name.prefix() + "mixer.conv1d.weight"
                        : suffix.equals("mixer.conv1d_bias")
                                ? name.prefix() + "mixer.conv1d.bias"
                                : name.prefix() + suffix;
            case NEW ->
                suffix.equals("mixer.conv1d.weight")
                        ? name.prefix() + "mixer.conv1d_weight"
                        : suffix.equals("mixer.conv1d.bias")
                                ? name.prefix() + "mixer.conv1d_bias"
                                : name.prefix() + suffix;
        };
    }
}
