package dev.shardsmith.verify.check;

import java.util.Locale;
import java.util.Optional;

/**
 * How one layer's results compare.
 *
 * @param index number of the row: the embedding is 0
 * @param layer number of the layer in the model; empty for embedding and head
 * @param kind what it is
 * @param maxAbs the largest difference
 * @param bound the difference that rounding explains where the results are furthest beyond it or nearest to it
 * @param size the largest result
 * @param resolution the share of the results that could differ without being noticed; not a number if nothing was compared
 * @param verdict whether no difference is beyond its bound
 * @param where token and channel of that place; empty if nothing was computed
 * @param skipped tokens left out because rounding could change their experts
 * @param explanation what would make the difference go away, or why nothing was compared
 */
public record LayerRow(
        int index,
        Optional<Integer> layer,
        String kind,
        double maxAbs,
        double bound,
        double size,
        double resolution,
        Verdict verdict,
        Optional<Place> where,
        int skipped,
        Optional<String> explanation) {

    /** What came out. */
    public enum Verdict {
        /** No difference is beyond its bound. */
        SAME,
        /** Some difference is, or both sides cannot be compared. */
        DIFFERENT,
        /** No difference is beyond its bound, but one that matters could be within it, or there are no results to compare. */
        INCONCLUSIVE,
        /** No forward pass is known for it. */
        NOT_RUN
    }

    /** Whether the layer was run on both sides and no difference is beyond its bound. */
    public boolean ok() {
        return verdict == Verdict.SAME;
    }

    /** A token and a channel of a result. */
    public record Place(int token, int channel) {}

    /** The row of a comparison; an explanation is there if it found a difference. */
    static LayerRow of(
            int index, Optional<Integer> layer, String kind, Deviation deviation, Optional<String> explanation) {
        Verdict verdict = deviation.isConclusive() ? Verdict.SAME : Verdict.INCONCLUSIVE;
        return new LayerRow(
                index,
                layer,
                kind,
                deviation.maxAbs(),
                deviation.bound(),
                deviation.size(),
                deviation.resolution(),
                deviation.ok() ? verdict : Verdict.DIFFERENT,
                deviation.where(),
                deviation.skipped(),
                deviation.ok() && !deviation.isConclusive() ? Optional.of(doubt(deviation)) : explanation);
    }

    /** The same, which proves less than all if no difference was found. */
    LayerRow doubted(String reason) {
        return verdict == Verdict.SAME
                ? new LayerRow(
                        index,
                        layer,
                        kind,
                        maxAbs,
                        bound,
                        size,
                        resolution,
                        Verdict.INCONCLUSIVE,
                        where,
                        skipped,
                        Optional.of(reason))
                : this;
    }

    private static String doubt(Deviation deviation) {
        return deviation.resolution() == Double.POSITIVE_INFINITY
                ? "the results are all zero or no numbers, which proves nothing"
                : String.format(
                        Locale.ROOT,
                        "rounding explains %.1g of the results, which proves nothing",
                        deviation.resolution());
    }

    /** A row that nothing is compared in, because it is not known what counts. */
    static LayerRow denied(int index, String reason) {
        return new LayerRow(
                index,
                Optional.empty(),
                "options",
                Double.NaN,
                0,
                Double.NaN,
                Double.NaN,
                Verdict.INCONCLUSIVE,
                Optional.empty(),
                0,
                Optional.of(reason));
    }

    static LayerRow missing(int index, Optional<Integer> layer, String kind, String reason) {
        return new LayerRow(
                index,
                layer,
                kind,
                Double.NaN,
                0,
                Double.NaN,
                Double.NaN,
                Verdict.DIFFERENT,
                Optional.empty(),
                0,
                Optional.of(reason));
    }

    static LayerRow notRun(int index, Optional<Integer> layer, String kind, String reason) {
        return new LayerRow(
                index,
                layer,
                kind,
                Double.NaN,
                0,
                Double.NaN,
                Double.NaN,
                Verdict.NOT_RUN,
                Optional.empty(),
                0,
                Optional.of(reason));
    }
}
