package dev.shardsmith.verify.report;

import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.verify.inspect.LayerOutline;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.LayerCell;
import dev.shardsmith.verify.report.ReportDocument.LayerMap;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.function.IntToDoubleFunction;

/** Draws the layers of a model as cells. */
public final class LayerMaps {
    private LayerMaps() {}

    /**
     * A map of layers; empty if there are none.
     *
     * @param value the figure of a layer, by its position
     * @param note what else is to be said of it
     */
    public static Optional<LayerMap> of(
            LayerOutline outline, String metric, Scale scale, IntToDoubleFunction value, IntFunction<String> note) {
        List<LayerCell> cells = new ArrayList<>();
        Set<LayerKind> kinds = new LinkedHashSet<>();
        for (int i = 0; i < outline.layers().size(); i++) {
            LayerOutline.Layer layer = outline.layers().get(i);
            layer.kind().ifPresent(kinds::add);
            String symbol =
                    layer.kind().map(kind -> String.valueOf(kind.symbol())).orElse("?");
            cells.add(new LayerCell(i, layer.label(), symbol, value.applyAsDouble(i), note.apply(i)));
        }
        List<Fact> legend = kinds.stream()
                .sorted()
                .map(kind -> new Fact(String.valueOf(kind.symbol()), kind.title()))
                .toList();
        return cells.isEmpty() ? Optional.empty() : Optional.of(new LayerMap(metric, scale, legend, cells));
    }
}
