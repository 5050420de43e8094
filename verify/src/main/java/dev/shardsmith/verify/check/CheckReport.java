package dev.shardsmith.verify.check;

import java.util.List;
import java.util.Optional;

/**
 * The result of a comparison.
 *
 * @param rows embedding, layers in order, head
 * @param notes what is to be known about the comparison as a whole
 */
public record CheckReport(List<LayerRow> rows, List<String> notes) {

    /** Whether everything was run and agrees. */
    public boolean ok() {
        return rows.stream().allMatch(LayerRow::ok);
    }

    /** Rows for which no forward pass is known. */
    public long notRun() {
        return count(LayerRow.Verdict.NOT_RUN);
    }

    /** Rows that were run and prove nothing. */
    public long inconclusive() {
        return count(LayerRow.Verdict.INCONCLUSIVE);
    }

    /** Rows that do not agree. */
    public long different() {
        return count(LayerRow.Verdict.DIFFERENT);
    }

    private long count(LayerRow.Verdict verdict) {
        return rows.stream().filter(row -> row.verdict() == verdict).count();
    }

    /** The first row that does not agree. */
    public Optional<LayerRow> firstDivergence() {
        return rows.stream()
                .filter(row -> row.verdict() == LayerRow.Verdict.DIFFERENT)
                .findFirst();
    }
}
