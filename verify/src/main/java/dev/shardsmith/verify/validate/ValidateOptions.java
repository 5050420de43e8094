package dev.shardsmith.verify.validate;

import dev.shardsmith.verify.launch.LaunchScript;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * What to hold a checkpoint against, besides itself.
 *
 * @param pattern a hybrid layer pattern
 * @param launch a training script
 * @param tensor a tensor-parallel size that the model is to be run with
 * @param pipeline a pipeline size that the model is to be run with
 * @param values whether to look at the values, which reads the whole checkpoint
 * @param optimizer whether optimizer state is asked for
 * @param workers threads that read
 */
public record ValidateOptions(
        Optional<String> pattern,
        Optional<LaunchScript> launch,
        OptionalInt tensor,
        OptionalInt pipeline,
        Values values,
        Optimizer optimizer,
        int workers) {
    /** Whether a run must be able to go on from the checkpoint's optimizer. */
    public enum Optimizer {
        /** The state must be there. */
        WANTED,
        /** The model is enough. */
        NOT_NEEDED
    }

    /** Whether values are looked at. */
    public enum Values {
        /** Every value is read once. */
        READ,
        /** Names, shapes and saved arguments only. */
        SKIP
    }

    /** The checkpoint alone, with its values. */
    public static ValidateOptions defaults() {
        return new ValidateOptions(
                Optional.empty(),
                Optional.empty(),
                OptionalInt.empty(),
                OptionalInt.empty(),
                Values.READ,
                Optimizer.NOT_NEEDED,
                Math.max(1, Math.min(4, Runtime.getRuntime().availableProcessors())));
    }

    /** The same with a pattern. */
    public ValidateOptions withPattern(String given) {
        return new ValidateOptions(Optional.of(given), launch, tensor, pipeline, values, optimizer, workers);
    }

    /** The same with a launch script. */
    public ValidateOptions withLaunch(LaunchScript script) {
        return new ValidateOptions(pattern, Optional.of(script), tensor, pipeline, values, optimizer, workers);
    }

    /** The same with sizes that the model is to be run with. */
    public ValidateOptions withTarget(OptionalInt tensorSize, OptionalInt pipelineSize) {
        return new ValidateOptions(pattern, launch, tensorSize, pipelineSize, values, optimizer, workers);
    }

    /** The same without reading values. */
    public ValidateOptions withoutValues() {
        return new ValidateOptions(pattern, launch, tensor, pipeline, Values.SKIP, optimizer, workers);
    }
}
