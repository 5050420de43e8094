package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import java.util.Arrays;

/**
 * The pattern that the older ratio options stand for.
 *
 * <p>The ratios place attention layers as evenly as they go and then spread MLP layers over what is left. Every division
 * is one of IEEE doubles in a fixed order and counts are rounded half to even; any other order gives other patterns.
 */
public final class RatioPattern {
    private RatioPattern() {}

    /**
     * The pattern of {@code layers} layers, of which the given shares are attention and MLP.
     *
     * @throws CheckpointException of kind {@code REFUSED} if there are no layers or the ratios are not within 0 and 1
     */
    public static HybridPattern of(int layers, double attention, double mlp) throws CheckpointException {
        try {
            return ofOrFault(layers, attention, mlp);
        } catch (PatternFault fault) {
            throw fault.problem().toException("ratios " + attention + " and " + mlp + " of " + layers + " layers");
        }
    }

    static HybridPattern ofOrFault(int layers, double attention, double mlp) throws PatternFault {
        require(layers > 0 && layers <= 1_000_000, "the number of layers must be above 0, not " + layers);
        require(attention >= 0 && attention <= 1, "the attention ratio must be within 0 and 1, not " + attention);
        require(mlp >= 0 && mlp <= 1, "the MLP ratio must be within 0 and 1, not " + mlp);
        require(attention + mlp <= 1, "the ratios add up to " + (attention + mlp) + ", which is more than 1");
        LayerKind[] kinds = new LayerKind[layers];
        Arrays.fill(kinds, LayerKind.MAMBA);
        int attentionCount = (int) Math.rint(layers * attention);
        int rest = layers - attentionCount;
        spread(kinds, LayerKind.ATTENTION, (double) rest / (attentionCount + 1));
        int mlpCount = (int) Math.rint(layers * mlp);
        if (mlpCount > 0) {
            spread(kinds, LayerKind.MLP, (double) (rest - mlpCount) / mlpCount);
        }
        return HybridPattern.of(Arrays.asList(kinds));
    }

    /** Turns a Mamba layer into {@code kind} after every {@code gap} that stay, carrying the fraction on. */
    private static void spread(LayerKind[] kinds, LayerKind kind, double gap) {
        double left = gap;
        for (int i = 0; i < kinds.length; i++) {
            if (kinds[i] != LayerKind.MAMBA) {
                continue;
            }
            if (left < 0.5) {
                kinds[i] = kind;
                left += gap;
            } else {
                left -= 1;
            }
        }
    }

    private static void require(boolean holds, String message) throws PatternFault {
        if (!holds) {
            throw new PatternFault(PatternProblem.Rule.RATIO, message, 0, "");
        }
    }
}
