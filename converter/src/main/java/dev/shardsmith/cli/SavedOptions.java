package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.verify.validate.Contradictions;
import dev.shardsmith.verify.validate.Finding;
import java.util.List;

/**
 * What the saved options say of a model and its weights deny, before a conversion writes the options on.
 *
 * <p>A run that gives its own options can load such weights, so this is a warning; where the conversion itself goes by the
 * options, it is refused.
 */
final class SavedOptions {
    private static final int MOST_SHOWN = 4;

    private SavedOptions() {}

    /** Warns of all contradictions, or refuses those that would make the target another model. */
    static void check(ModelView source, ConversionOptions options, Out out) throws CheckpointException {
        Layout to = options.to().orElse(source.layout());
        if (to == Layout.SAFETENSORS || to == Layout.PT) {
            return;
        }
        List<Finding> findings =
                Contradictions.of(source, options.set(), options.pattern()).findings();
        for (Finding finding : findings) {
            if (decides(finding, source, options, to)) {
                throw CheckpointException.of(Kind.INCONSISTENT, finding.where(), finding.message())
                        .withHint(
                                finding.fix().isEmpty()
                                        ? "shardsmith validate " + source.path() + " says more"
                                        : finding.fix().replace("convert ", ""));
            }
        }
        for (Finding finding : findings.subList(0, Math.min(MOST_SHOWN, findings.size()))) {
            out.warn("saved options contradict the weights: " + finding.where() + ": " + finding.message()
                    + (finding.fix().isEmpty() ? "" : "; " + finding.fix().replace("convert ", "") + " mends that"));
        }
        if (findings.size() > MOST_SHOWN) {
            out.warn("%d more contradictions between saved options and weights; shardsmith validate lists them"
                    .formatted(findings.size() - MOST_SHOWN));
        }
    }

    /** Whether the conversion goes by what is wrong: kinds of layers in a config, heads and groups where they are divided. */
    private static boolean decides(Finding finding, ModelView source, ConversionOptions options, Layout to) {
        boolean described = to == Layout.HUGGINGFACE || to == Layout.MAMBA_SSM;
        int tensor = source.parallelism().tensor();
        boolean divided = options.tensor().orElse(tensor) != tensor && to == Layout.MEGATRON;
        return switch (finding.code()) {
            case "pattern.layer", "pattern.length", "pattern.mtp" ->
                described || options.pattern().isPresent();
            case "shape.args" -> described || divided;
            default -> false;
        };
    }
}
