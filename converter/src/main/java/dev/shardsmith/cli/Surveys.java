package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.inspect.ReplicaDisagreement;
import dev.shardsmith.verify.inspect.TensorSurvey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** Reads the tensors of a checkpoint for statistics, and says what is odd in them. */
final class Surveys {
    /** Beyond these a warning would bury the report, whose table names every tensor. */
    private static final int MOST_NAMED = 20;

    private Surveys() {}

    /** One survey a tensor, in their order. */
    static List<TensorSurvey> of(List<LogicalTensor> tensors, int workers, Out out) throws IOException {
        long bytes = tensors.stream().mapToLong(LogicalTensor::bytes).sum();
        try (ProgressMeter meter = out.progress("read", bytes)) {
            return TensorSurvey.of(tensors, workers, meter::advance);
        }
    }

    /** NaN, infinities, and copies on other ranks that disagree. */
    static List<String> warnings(List<TensorSurvey> surveys) {
        List<String> warnings = new ArrayList<>();
        int notFinite = 0;
        for (TensorSurvey survey : surveys) {
            TensorSurvey.Figures figures = survey.figures().orElse(null);
            if (figures != null && figures.nans() + figures.infinities() > 0 && notFinite++ < MOST_NAMED) {
                warnings.add("%s has %d NaN and %d infinite values"
                        .formatted(survey.tensor().name(), figures.nans(), figures.infinities()));
            }
            for (ReplicaDisagreement replica : survey.disagreements()) {
                warnings.add("copies of %s disagree: %s in %s has %d other elements, by up to %s"
                        .formatted(
                                replica.tensor(),
                                replica.part(),
                                replica.file().map(Object::toString).orElse("memory"),
                                replica.comparison().differing(),
                                replica.comparison().maxAbs()));
            }
        }
        if (notFinite > MOST_NAMED) {
            warnings.add((notFinite - MOST_NAMED) + " more tensors have NaN or infinite values");
        }
        return warnings;
    }
}
