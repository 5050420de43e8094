package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorStatistics;
import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.stream.Stream;

/** Looks at every value once: not-a-number, copies that differ, and numbers that a trained model does not have. */
final class ValueCheck {
    /** exp(3.5) is 33: decay rates start between 1 and 16, so most logarithms above this are no logarithms. */
    private static final double HIGH_LOGARITHM = 3.5;
    /** Far above any weight of a trained model, and near where half precision ends. */
    private static final double HUGE = 10_000;
    /** Smaller tensors may be equal by their nature. */
    private static final long COMPARED_ELEMENTS = 16;

    private final ModelView view;
    private final boolean shiftedNorms;
    private final Findings findings;
    private final RepeatedLayers repeated = new RepeatedLayers();

    /**
     * A check of all values.
     *
     * @param shiftedNorms whether norms store their weight minus 1 (apply_layernorm_1p)
     */
    ValueCheck(ModelView view, boolean shiftedNorms, Findings findings) {
        this.view = view;
        this.shiftedNorms = shiftedNorms;
        this.findings = findings;
    }

    void check(int workers) throws IOException {
        Stream<Callable<ValueSummary>> work =
                view.tensors().values().stream().map(tensor -> () -> new ValuePass(tensor).run());
        try (OrderedWork threads = new OrderedWork(workers)) {
            threads.<ValueSummary>inOrder(work.iterator(), this::take);
        }
        repeated.report(findings);
    }

    private void take(ValueSummary summary) {
        if (summary.differing() > 0) {
            String message = "%d of %d further copies on other ranks differ; the largest difference is %s"
                    .formatted(summary.differing(), summary.replicas(), summary.replicaDifference());
            findings.error(
                    "replicas.differ",
                    summary.name(),
                    message,
                    "find out which rank is right; convert refuses such a checkpoint");
        }
        if (summary.statistics().isEmpty()) {
            return;
        }
        TensorStatistics statistics = summary.statistics().get();
        if (statistics.nans() + statistics.infinities() > 0) {
            findings.error(
                    "values.nonfinite",
                    summary.name(),
                    "%d of %d values are NaN, %d infinite"
                            .formatted(statistics.nans(), statistics.values(), statistics.infinities()),
                    "take an earlier iteration");
        }
        if (statistics.finite() > 0) {
            LogicalTensor tensor = view.tensors().get(summary.name());
            remember(tensor, summary, statistics);
            suspicious(tensor, statistics);
        }
    }

    private void suspicious(LogicalTensor tensor, TensorStatistics statistics) {
        String name = tensor.name();
        if (name.endsWith(".A_log")) {
            decay(name, statistics);
        } else if (name.endsWith(".dt_bias") || name.endsWith(".dt_proj.bias")) {
            timeStep(name, statistics);
        } else if (isNorm(name)) {
            norm(name, statistics);
        } else if (tensor.shape().rank() >= 2 && tensor.shape().elements() > COMPARED_ELEMENTS) {
            matrix(name, statistics);
        }
    }

    private void decay(String name, TensorStatistics statistics) {
        if (statistics.max() < 0 && statistics.mean() < -1) {
            findings.warning(
                    "values.a-log",
                    name,
                    "all values are negative (mean %.3g): this looks like A = -exp(A_log), not like A_log"
                            .formatted(statistics.mean()),
                    "store log(-A)");
        } else if (statistics.min() > 0 && statistics.mean() > HIGH_LOGARITHM) {
            findings.warning(
                    "values.a-log",
                    name,
                    "its mean is %.3g, so that exp(A_log) is about %.3g: this looks like exp(A_log), not like A_log"
                            .formatted(statistics.mean(), Math.exp(statistics.mean())),
                    "store the logarithm");
        }
    }

    private void timeStep(String name, TensorStatistics statistics) {
        // The bias before softplus is about -7 to -2; the time step after it is 0.001 to 0.1.
        if (statistics.min() > 0 && statistics.max() < 0.2) {
            findings.warning(
                    "values.dt-bias",
                    name,
                    "all values lie between %.3g and %.3g: this looks like softplus(dt_bias), not like dt_bias"
                            .formatted(statistics.min(), statistics.max()),
                    "store the bias before softplus");
        }
    }

    private void norm(String name, TensorStatistics statistics) {
        if (statistics.finite() == statistics.zeros() && !shiftedNorms) {
            findings.warning(
                    "values.norm", name, "all weights are 0, so the layer passes nothing on", "was it initialised?");
        } else if (shiftedNorms && statistics.min() > 0.5) {
            findings.warning(
                    "values.norm",
                    name,
                    "all weights are above 0.5, but apply_layernorm_1p adds 1 to them",
                    "store the weights minus 1, or train without apply_layernorm_1p");
        }
    }

    private void matrix(String name, TensorStatistics statistics) {
        if (statistics.min() == statistics.max()) {
            findings.warning(
                    "values.constant",
                    name,
                    "all %d values are %s".formatted(statistics.values(), statistics.min()),
                    "was it ever written?");
        } else if (Math.max(Math.abs(statistics.min()), Math.abs(statistics.max())) > HUGE) {
            findings.warning(
                    "values.huge",
                    name,
                    "values go from %.3g to %.3g".formatted(statistics.min(), statistics.max()),
                    "memory that was never written looks like this");
        }
    }

    private void remember(LogicalTensor tensor, ValueSummary summary, TensorStatistics statistics) {
        if (tensor.shape().rank() >= 2
                && tensor.shape().elements() > COMPARED_ELEMENTS
                && statistics.min() < statistics.max()) {
            repeated.add(tensor, summary.checksum(), statistics.mean());
        }
    }

    private static boolean isNorm(String name) {
        return name.endsWith("norm.weight") || name.endsWith("layer_norm_weight") || name.endsWith("layernorm.weight");
    }
}
