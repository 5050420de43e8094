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
        for (TensorSurvey survey : surveys) {
            survey.figures()
                    .filter(figures -> figures.nans() + figures.infinities() > 0)
                    .ifPresent(figures -> warnings.add("%s has %d NaN and %d infinite values"
                            .formatted(survey.tensor().name(), figures.nans(), figures.infinities())));
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
        return warnings;
    }
}
