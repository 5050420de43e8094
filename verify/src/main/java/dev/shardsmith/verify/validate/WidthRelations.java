package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What the shapes of attention and mixers say about arguments that they do not decide one by one.
 *
 * <pre>
 * linear_proj columns        = heads · head width
 * linear_qkv rows            = (heads + 2 · groups) · head width, and heads · head width more with an output gate
 * convolution channels - DI  = 2 · groups · state size                                    (Mamba-2)
 * in_proj rows               = 2 · DI + 2 · groups · state size + heads                   (Mamba-2)
 * </pre>
 */
final class WidthRelations {
    /**
     * A relation that does not hold.
     *
     * @param fields the arguments that it is about
     * @param where the tensor
     * @param message numbers of both sides
     */
    record Violation(List<String> fields, String where, String message) {}

    private final ModelArguments args;
    private final List<Violation> violations = new ArrayList<>();

    private WidthRelations(ModelArguments args) {
        this.args = args;
    }

    /** The relations that the arguments break; each kind of violation is reported for the first layer that has it. */
    static List<Violation> violations(WeightModel model, ModelArguments args) throws CheckpointException {
        WidthRelations relations = new WidthRelations(args);
        List<LayerWeights> layers = new ArrayList<>(model.layers().values());
        model.predictions().values().forEach(depth -> layers.addAll(depth.values()));
        for (LayerWeights layer : layers) {
            if (layer.kinds().containsKey(LayerKind.ATTENTION)) {
                relations.attention(layer);
            }
            if (layer.kinds().containsKey(LayerKind.MAMBA)) {
                relations.mixer(layer);
            }
        }
        return relations.violations;
    }

    private void attention(LayerWeights layer) throws CheckpointException {
        OptionalInt heads = args.number("num_attention_heads");
        OptionalInt groups = args.number("num_query_groups");
        OptionalInt width = args.number("kv_channels");
        Optional<Shape> output = matrix(layer, "self_attention.linear_proj.weight");
        Optional<Shape> input = matrix(layer, "self_attention.linear_qkv.weight");
        if (heads.isEmpty() || groups.isEmpty() || width.isEmpty() || output.isEmpty() || input.isEmpty()) {
            return;
        }
        long query = (long) heads.getAsInt() * width.getAsInt();
        long columns = output.get().size(1);
        if (columns != query) {
            add(
                    List.of("num_attention_heads", "kv_channels"),
                    layer.prefix() + "self_attention.linear_proj.weight",
                    "it has %d columns, but %d heads of %d channels make %d"
                            .formatted(columns, heads.getAsInt(), width.getAsInt(), query));
        }
        boolean gate = args.value("attention_output_gate").orElse("False").equals("True");
        long rows = input.get().size(0);
        long expected = (gate ? 2 : 1) * query + 2L * groups.getAsInt() * width.getAsInt();
        if (columns == query && rows != expected) {
            long perGroup = 2L * width.getAsInt();
            long keyRows = rows - (gate ? 2 : 1) * query;
            String hint = keyRows > 0 && perGroup > 0 && keyRows % perGroup == 0
                    ? "; the rows fit %d query groups".formatted(keyRows / perGroup)
                    : "";
            add(
                    List.of("num_query_groups"),
                    layer.prefix() + "self_attention.linear_qkv.weight",
                    "it has %d rows, but %d heads and %d query groups of %d channels make %d%s"
                            .formatted(rows, heads.getAsInt(), groups.getAsInt(), width.getAsInt(), expected, hint));
        }
    }

    private void mixer(LayerWeights layer) throws CheckpointException {
        Optional<Shape> convolution = layer.shape("mixer.conv1d_weight", "mixer.conv1d.weight");
        Optional<Shape> output = matrix(layer, "mixer.out_proj.weight");
        Optional<Shape> input = matrix(layer, "mixer.in_proj.weight");
        Optional<Shape> decay = layer.shape("mixer.A_log");
        boolean complete = convolution.isPresent() && output.isPresent() && input.isPresent() && decay.isPresent();
        if (!complete
                || !layer.has("mixer.D")
                || decay.get().rank() != 1
                || convolution.get().rank() < 1) {
            return;
        }
        long inner = output.get().size(1);
        long shared = convolution.get().size(0) - inner;
        long rows = input.get().size(0);
        if (rows != 2 * inner + shared + decay.get().size(0)) {
            add(
                    List.of("mamba_num_heads"),
                    layer.prefix() + "mixer.in_proj.weight",
                    "it has %d rows, but z, x, B, C and dt make %d"
                            .formatted(rows, 2 * inner + shared + decay.get().size(0)));
        }
        OptionalInt groups = args.number("mamba_num_groups");
        OptionalInt state = args.number("mamba_state_dim");
        if (groups.isPresent() && state.isPresent()) {
            long expected = 2L * groups.getAsInt() * state.getAsInt();
            if (shared != expected) {
                add(
                        List.of("mamba_num_groups", "mamba_state_dim"),
                        layer.prefix() + "mixer.conv1d",
                        "B and C have %d channels, but %d groups of state size %d make %d"
                                .formatted(shared, groups.getAsInt(), state.getAsInt(), expected));
            }
        }
    }

    private static Optional<Shape> matrix(LayerWeights layer, String suffix) {
        return layer.shape(suffix).filter(shape -> shape.rank() == 2);
    }

    private void add(List<String> fields, String where, String message) {
        boolean known =
                violations.stream().anyMatch(violation -> violation.fields().equals(fields));
        if (!known) {
            violations.add(new Violation(fields, where, message));
        }
    }
}
