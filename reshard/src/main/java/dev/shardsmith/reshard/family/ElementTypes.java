package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView.Family;
import java.util.Set;

/** Element types of a target: what the user asks for, but for parameters whose rounding would change the model. */
public final class ElementTypes {
    /**
     * Small parameters that models keep in float32, because they go through an exponential, are summed up over a sequence, or
     * decide between experts.
     */
    private static final Set<String> SENSITIVE = Set.of(
            "A_log",
            "D",
            "dt_bias",
            "B_bias",
            "C_bias",
            "mimo_x",
            "mimo_z",
            "mimo_o",
            "expert_bias",
            "e_score_correction_bias",
            "qb_beta");

    private static final String NOTE =
            "A_log, D, dt_bias and router biases stay float32, because their rounding would change "
                    + "the model; --cast-sensitive casts them too";

    private ElementTypes() {}

    /**
     * The type of a tensor in the target.
     *
     * @param family of the source; a file without a known model has no parameters of which anything is known
     * @param model gets a note if the tensor keeps its type
     */
    public static DType of(LogicalTensor tensor, Family family, ConversionOptions options, TargetModel model) {
        if (options.dtype().isEmpty() || tensor.dtype().kind() != DType.Kind.FLOAT) {
            return tensor.dtype();
        }
        DType asked = options.dtype().get();
        String leaf = tensor.name().substring(tensor.name().lastIndexOf('.') + 1);
        boolean keeps = family != Family.PLAIN
                && SENSITIVE.contains(leaf)
                && tensor.dtype() == DType.F32
                && asked != DType.F32
                && !options.castSensitive();
        if (keeps && !model.notes().contains(NOTE)) {
            model.notes().add(NOTE);
        }
        return keeps ? tensor.dtype() : asked;
    }
}
