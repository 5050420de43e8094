package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.view.ExpertForm;
import java.util.Map;
import java.util.Optional;

/**
 * Tensors that hold the weights of several experts of one layer, as a rank's file has them.
 *
 * <pre>
 * stacked  mlp.experts.linear_fc1.weight [n, out, in]   mlp.experts.linear_fc2.weight [n, in, out]   biases [n, width]
 * flat     mlp.experts.weight1 [in, n·out]              mlp.experts.weight2 [n·out, in]
 * </pre>
 *
 * <p>The flat form is Megatron's grouped GEMM: its product takes the memory of weight1 as [n, in, out] and that of weight2 as
 * [n, out, in], so each expert is a block of its own and has the transposed shape of a linear layer's weight.
 *
 * @param form the form
 * @param parameter the parameter of one expert: {@code linear_fc1.weight}
 */
record PackedExperts(ExpertForm form, String parameter) {
    private static final String EXPERTS = "mlp.experts.";
    private static final Map<String, PackedExperts> KEYS = Map.of(
            EXPERTS + "linear_fc1.weight", new PackedExperts(ExpertForm.STACKED, "linear_fc1.weight"),
            EXPERTS + "linear_fc1.bias", new PackedExperts(ExpertForm.STACKED, "linear_fc1.bias"),
            EXPERTS + "linear_fc2.weight", new PackedExperts(ExpertForm.STACKED, "linear_fc2.weight"),
            EXPERTS + "linear_fc2.bias", new PackedExperts(ExpertForm.STACKED, "linear_fc2.bias"),
            EXPERTS + "weight1", new PackedExperts(ExpertForm.FLAT, "linear_fc1.weight"),
            EXPERTS + "weight2", new PackedExperts(ExpertForm.FLAT, "linear_fc2.weight"));

    /** What a key after its layer's prefix holds, if it holds several experts. */
    static Optional<PackedExperts> of(String suffix) {
        return Optional.ofNullable(KEYS.get(suffix));
    }

    /**
     * The packed tensor that has a parameter of an expert in it.
     *
     * @param suffix the parameter with the expert's number: {@code mlp.experts.linear_fc1.weight3}
     * @throws CheckpointException of kind REFUSED if the form has no such parameter
     */
    static PackedExperts holding(ExpertForm form, String suffix) throws CheckpointException {
        String parameter = suffix.substring(EXPERTS.length()).replaceFirst("\\d+$", "");
        PackedExperts packed = new PackedExperts(form, parameter);
        if (!KEYS.containsValue(packed)) {
            throw CheckpointException.of(
                            Kind.REFUSED, suffix, "experts in the form " + form.id() + " have no such parameter")
                    .withHint("--experts grouped, or --experts sequential");
        }
        return packed;
    }

    /** The key after the layer's prefix. */
    String suffix() {
        return KEYS.entrySet().stream()
                .filter(entry -> entry.getValue().equals(this))
                .findFirst()
                .orElseThrow()
                .getKey();
    }

    /** The name of an expert's parameter after the layer's prefix. */
    String of(long expert) {
        return EXPERTS + parameter + expert;
    }

    /** The shape of the tensor for so many experts of the given shape. */
    Shape shape(Shape one, long experts) {
        if (form == ExpertForm.STACKED) {
            long[] sizes = new long[one.rank() + 1];
            sizes[0] = experts;
            System.arraycopy(one.toArray(), 0, sizes, 1, one.rank());
            return Shape.of(sizes);
        }
        return first()
                ? Shape.of(one.size(1), Math.multiplyExact(experts, one.size(0)))
                : Shape.of(Math.multiplyExact(experts, one.size(1)), one.size(0));
    }

    private boolean first() {
        return parameter.startsWith("linear_fc1");
    }

    /**
     * How many experts a tensor of this kind holds.
     *
     * @param routed experts of the layer that this rank holds, as its router says
     * @throws CheckpointException if the shape does not fit
     */
    long count(StoredTensor packed, long routed, String where) throws CheckpointException {
        Shape shape = packed.shape();
        if (form == ExpertForm.STACKED && shape.rank() == (parameter.endsWith("bias") ? 2 : 3)) {
            return shape.size(0);
        }
        long axis = first() ? 1 : 0;
        boolean fits = form == ExpertForm.FLAT
                && shape.rank() == 2
                && routed > 0
                && shape.size((int) axis) % routed == 0
                && packed.isRowMajor();
        if (!fits) {
            throw CheckpointException.of(
                    Kind.UNSUPPORTED,
                    where,
                    "its shape " + shape + " does not hold the weights of " + routed
                            + " experts, as the router has them");
        }
        return routed;
    }

    /** The view of one expert in a linear layer's shape [out, in]. */
    StoredTensor expert(StoredTensor packed, long expert, long experts) {
        if (form == ExpertForm.STACKED) {
            return packed.select(0, expert);
        }
        Shape shape = packed.shape();
        long rows = first() ? shape.size(0) : shape.size(0) / experts;
        long columns = first() ? shape.size(1) / experts : shape.size(1);
        long block = Math.multiplyExact(rows, columns);
        StoredTensor memory = new StoredTensor(
                packed.dtype(),
                Shape.of(experts, rows, columns),
                new long[] {block, columns, 1},
                packed.source(),
                packed.offset(),
                packed.order(),
                packed.conjugate(),
                packed.negative());
        return memory.select(0, expert).transpose(0, 1);
    }
}
