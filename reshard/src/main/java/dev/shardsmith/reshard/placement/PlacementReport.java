package dev.shardsmith.reshard.placement;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * Where the parameters of a model go in a training job, and whether they fit.
 *
 * @param request the sizes of the job
 * @param parameters elements of the model, each counted once
 * @param whole bytes for the model on a single GPU
 * @param ranks every model-parallel rank, by pipeline, tensor and expert rank
 * @param problems why the model cannot be run with these sizes; empty if it can
 * @param arithmetic how the figures come about, one line each
 */
public record PlacementReport(
        PlacementRequest request,
        long parameters,
        TrainingBytes whole,
        List<RankPlacement> ranks,
        List<String> problems,
        List<String> arithmetic) {
    private static final double GIB = 1L << 30;

    /** Copies the lists. */
    public PlacementReport {
        ranks = List.copyOf(ranks);
        problems = List.copyOf(problems);
        arithmetic = List.copyOf(arithmetic);
    }

    /**
     * The placement of a checkpoint's model.
     *
     * @throws CheckpointException of kind {@code UNSUPPORTED} for families whose division is not known
     */
    public static PlacementReport of(ModelView view, PlacementRequest request) throws CheckpointException {
        Placing placing = new Placing(view, request);
        List<RankPlacement> ranks = placing.ranks();
        PlacementReport bare = new PlacementReport(
                request, placing.parameters(), placing.whole(), ranks, placing.problems(), List.of());
        return new PlacementReport(request, bare.parameters, bare.whole, bare.ranks, bare.problems, bare.explain());
    }

    /** The rank that needs most. */
    public RankPlacement largest() {
        return ranks.stream()
                .max(Comparator.comparingLong(RankPlacement::totalDistributed))
                .orElseThrow();
    }

    /** The rank that needs least. */
    public RankPlacement smallest() {
        return ranks.stream()
                .min(Comparator.comparingLong(RankPlacement::totalDistributed))
                .orElseThrow();
    }

    /** How far the largest rank is above the mean: 1.0 is even. */
    public double unevenness() {
        double mean = ranks.stream()
                .mapToLong(RankPlacement::totalDistributed)
                .average()
                .orElse(0);
        return mean == 0 ? 1 : largest().totalDistributed() / mean;
    }

    /** Bytes on each GPU if the whole model is on every one and only the optimizer is spread over all of them. */
    public long dataParallelAlone() {
        return whole.totalDistributed(request.world());
    }

    /** Whether weights, gradients and optimizer leave a fifth of a GPU free without any model parallelism. */
    public boolean dataParallelSuffices() {
        return dataParallelAlone() <= usable();
    }

    /** Whether the largest rank leaves a fifth of a GPU free. */
    public boolean fits() {
        return largest().totalDistributed() <= usable();
    }

    private long usable() {
        // What training needs besides is activations above all; a fifth is the least that is left for them.
        return (long) (request.memoryGiB() * GIB * 0.8);
    }

    private List<String> explain() {
        List<String> lines = new ArrayList<>();
        RankPlacement rank = largest();
        TrainingBytes bytes = rank.bytes();
        lines.add("GPUs: TP %d x PP %d x CP %d x DP %d = %d"
                .formatted(request.tensor(), request.pipeline(), request.context(), request.data(), request.world()));
        lines.add("model: %,d parameters".formatted(parameters));
        lines.add("largest rank (tp %d, pp %d%s): %,d parameters in %d layers"
                .formatted(
                        rank.tensor(),
                        rank.pipeline(),
                        request.expert() > 1 ? ", ep " + rank.expert() : "",
                        rank.parameters(),
                        rank.layers()));
        lines.add("  weights %s + gradients %s + master copy %s + Adam moments %s = %s"
                .formatted(
                        gib(bytes.weights()),
                        gib(bytes.gradients()),
                        gib(bytes.master()),
                        gib(bytes.moments()),
                        gib(rank.total())));
        lines.add("  distributed optimizer: %s + %s / %d%s = %s"
                .formatted(
                        gib(bytes.weights() + bytes.gradients()),
                        gib(rank.dense().optimizer()),
                        request.denseReplicas(),
                        rank.expertParameters() == 0
                                ? ""
                                : " + %s / %d".formatted(gib(rank.experts().optimizer()), request.expertReplicas()),
                        gib(rank.totalDistributed())));
        lines.add("unevenness: largest %s, smallest %s, largest to mean %s"
                .formatted(
                        gib(rank.totalDistributed()),
                        gib(smallest().totalDistributed()),
                        String.format(Locale.ROOT, "%.3f", unevenness())));
        lines.add("data parallelism alone on %d GPUs: %s + %s / %d = %s; %s in 80 %% of %d GiB"
                .formatted(
                        request.world(),
                        gib(whole.weights() + whole.gradients()),
                        gib(whole.optimizer()),
                        request.world(),
                        gib(dataParallelAlone()),
                        dataParallelSuffices() ? "it fits" : "it does not fit",
                        request.memoryGiB()));
        lines.add("this placement %s in 80 %% of %d GiB; activations are not counted"
                .formatted(fits() ? "fits" : "does not fit", request.memoryGiB()));
        return lines;
    }

    private static String gib(long bytes) {
        return bytes < 1 << 20
                ? bytes + " B"
                : String.format(
                        Locale.ROOT,
                        bytes < 1 << 30 ? "%.2f MiB" : "%.2f GiB",
                        bytes / (bytes < 1 << 30 ? GIB / 1024 : GIB));
    }
}
