package dev.shardsmith.verify.check;

import java.util.List;
import java.util.Optional;

/**
 * The result of a comparison.
 *
 * @param rows embedding, layers in order, head
 */
public record CheckReport(List<LayerRow> rows) {

    /** Whether everything agrees. */
    public boolean ok() {
        return rows.stream().allMatch(LayerRow::ok);
    }

    /** The first row that does not agree. */
    public Optional<LayerRow> firstDivergence() {
        return rows.stream().filter(row -> !row.ok()).findFirst();
    }
}
