package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.verify.digest.ValueHistogram;
import dev.shardsmith.verify.inspect.LayerOutline;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.inspect.TensorSurvey.Figures;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/** Figures of tensors' values as text: a line for each tensor, and one for each layer. */
final class StatisticsText {
    private static final String NONE = "-";
    private static final int BARS = 8;

    /** Columns from which on the bars leave enough room for names. */
    private static final int WIDE = 100;

    /** Eighths of a line's height; an empty place for no values at all. */
    private static final String HEIGHTS = " \u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588";

    private final Out out;

    StatisticsText(Out out) {
        this.out = out;
    }

    void print(List<TensorSurvey> surveys) {
        boolean wide = out.terminal().tableColumns() >= WIDE;
        Table table = new Table().nameColumn("tensor");
        figures(wide ? table.fixedColumn("min..max", Table.Align.LEFT) : table);
        for (TensorSurvey survey : surveys) {
            String name = survey.tensor().name();
            row(table, wide ? List.of(name, histogram(survey.bars())) : List.of(name), survey.figures());
        }
        out.line();
        out.table(table);
        layers(surveys);
    }

    private void layers(List<TensorSurvey> surveys) {
        LayerOutline outline = LayerOutline.of(
                surveys.stream().map(survey -> survey.tensor().name()).toList());
        if (outline.layers().isEmpty()) {
            return;
        }
        List<List<Figures>> figures = new ArrayList<>();
        outline.layers().forEach(layer -> figures.add(new ArrayList<>()));
        for (TensorSurvey survey : surveys) {
            int layer = outline.layerOf(survey.tensor().name());
            if (layer >= 0) {
                survey.figures().ifPresent(figures.get(layer)::add);
            }
        }
        Table table = figures(new Table().column("layer", Table.Align.RIGHT).column("kind", Table.Align.LEFT));
        for (int i = 0; i < figures.size(); i++) {
            LayerOutline.Layer layer = outline.layers().get(i);
            String kind = layer.kind().map(known -> known.title()).orElse(NONE);
            row(table, List.of(layer.label(), kind), Optional.of(Figures.together(figures.get(i))));
        }
        out.line();
        out.table(table);
    }

    private static Table figures(Table table) {
        for (String title : List.of("min", "max", "mean", "std", "zeros", "nan", "inf")) {
            table.column(title, Table.Align.RIGHT);
        }
        return table;
    }

    private static void row(Table table, List<String> names, Optional<Figures> figures) {
        List<String> cells = new ArrayList<>(names);
        boolean any = figures.isPresent() && figures.get().finite() > 0;
        cells.add(any ? real(figures.get().min()) : NONE);
        cells.add(any ? real(figures.get().max()) : NONE);
        cells.add(any ? real(figures.get().mean()) : NONE);
        cells.add(any ? real(figures.get().std()) : NONE);
        cells.add(figures.map(values -> String.valueOf(values.zeros())).orElse(NONE));
        cells.add(figures.map(values -> String.valueOf(values.nans())).orElse(NONE));
        cells.add(figures.map(values -> String.valueOf(values.infinities())).orElse(NONE));
        table.row(cells.toArray(String[]::new));
    }

    /** Where the values lie between the smallest and the largest, as bars of one character each. */
    private static String histogram(Optional<ValueHistogram.Bars> bars) {
        double[] counts = new double[BARS];
        long[] fine = bars.map(ValueHistogram.Bars::counts).orElse(new long[0]);
        for (int i = 0; i < fine.length; i++) {
            counts[i * BARS / fine.length] += fine[i];
        }
        double highest = 0;
        for (double count : counts) {
            highest = Math.max(highest, count);
        }
        StringBuilder text = new StringBuilder();
        for (double count : counts) {
            int height = highest == 0 ? 0 : (int) Math.ceil(count / highest * (HEIGHTS.length() - 1));
            text.append(HEIGHTS.charAt(height));
        }
        return text.toString();
    }

    private static String real(double value) {
        return String.format(Locale.ROOT, "%.3g", value);
    }
}
