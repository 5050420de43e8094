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
 * @param workers threads that read
 */
public record ValidateOptions(
        Optional<String> pattern,
        Optional<LaunchScript> launch,
        OptionalInt tensor,
        OptionalInt pipeline,
        Values values,
        int workers) {
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
                Math.max(1, Math.min(4, Runtime.getRuntime().availableProcessors())));
    }

    /** The same with a pattern. */
    public ValidateOptions withPattern(String given) {
        return new ValidateOptions(Optional.of(given), launch, tensor, pipeline, values, workers);
    }

    /** The same with a launch script. */
    public ValidateOptions withLaunch(LaunchScript script) {
        return new ValidateOptions(pattern, Optional.of(script), tensor, pipeline, values, workers);
    }

    /** The same with sizes that the model is to be run with. */
    public ValidateOptions withTarget(OptionalInt tensorSize, OptionalInt pipelineSize) {
        return new ValidateOptions(pattern, launch, tensorSize, pipelineSize, values, workers);
    }

    /** The same without reading values. */
    public ValidateOptions withoutValues() {
        return new ValidateOptions(pattern, launch, tensor, pipeline, Values.SKIP, workers);
    }
}
