package dev.shardsmith.cli.terminal;

import java.util.ArrayList;
import java.util.List;

/**
 * A table of text that fits the terminal: columns as wide as their cells, the widest ones shortened when it must be.
 *
 * <p>Names are never shortened as long as a line has room for them: one that is wider than its column gets a line of its own
 * above the other cells of its row.
 */
public final class Table {
    private static final String GAP = "  ";
    private static final String DETAIL = "    ";
    private static final int LEAST_WIDTH = 8;

    /** How a column's cells stand. */
    public enum Align {
        LEFT,
        RIGHT
    }

    private enum Fit {
        SHORTENED,
        WHOLE,
        OWN_LINE
    }

    private record Column(String title, Align align, Fit fit) {}

    private record Row(List<String> cells, List<String> details) {}

    private final List<Column> columns = new ArrayList<>();
    private final List<Row> rows = new ArrayList<>();

    /** Adds a column with its title. */
    public Table column(String title, Align align) {
        columns.add(new Column(title, align, Fit.SHORTENED));
        return this;
    }

    /** Adds a column whose cells mean nothing when they are shortened. */
    public Table fixedColumn(String title, Align align) {
        columns.add(new Column(title, align, Fit.WHOLE));
        return this;
    }

    /** Adds the first column: names of which every part tells something. */
    public Table nameColumn(String title) {
        if (!columns.isEmpty()) {
            throw new IllegalStateException("names come first");
        }
        columns.add(new Column(title, Align.LEFT, Fit.OWN_LINE));
        return this;
    }

    /** Adds a row with one cell per column. */
    public Table row(String... cells) {
        if (cells.length != columns.size()) {
            throw new IllegalArgumentException(cells.length + " cells for " + columns.size() + " columns");
        }
        rows.add(new Row(List.of(cells), new ArrayList<>()));
        return this;
    }

    /** Adds words below the last row, broken to the width of the terminal. */
    public Table detail(String text) {
        rows.get(rows.size() - 1).details().add(text);
        return this;
    }

    /** Number of rows. */
    public int size() {
        return rows.size();
    }

    /** The lines of the table, the title first, none wider than the terminal where eight characters a column allow it. */
    public List<String> lines(Terminal terminal) {
        int[] widths = widths(terminal.tableColumns());
        List<String> lines = new ArrayList<>(rows.size() + 1);
        List<String> titles = columns.stream().map(Column::title).toList();
        lines.add(Ink.BOLD.on(terminal, line(titles, widths)));
        for (Row row : rows) {
            boolean own =
                    columns.get(0).fit() == Fit.OWN_LINE && width(row.cells().get(0)) > widths[0];
            if (own) {
                lines.add(shorten(row.cells().get(0), terminal.tableColumns()));
                List<String> others = new ArrayList<>(row.cells());
                others.set(0, "");
                lines.add(line(others, widths));
            } else {
                lines.add(line(row.cells(), widths));
            }
            for (String detail : row.details()) {
                Wrapping.lines(detail, terminal.tableColumns() - DETAIL.length())
                        .forEach(part -> lines.add(DETAIL + part));
            }
        }
        return lines;
    }

    private int[] widths(int limit) {
        int[] widths = new int[columns.size()];
        for (int i = 0; i < widths.length; i++) {
            widths[i] = width(columns.get(i).title());
            for (Row row : rows) {
                widths[i] = Math.max(widths[i], width(row.cells().get(i)));
            }
        }
        int total = GAP.length() * (widths.length - 1);
        for (int width : widths) {
            total += width;
        }
        if (total > limit && columns.get(0).fit() == Fit.OWN_LINE) {
            int narrower = Math.max(LEAST_WIDTH, widths[0] - (total - limit));
            total -= widths[0] - narrower;
            widths[0] = narrower;
        }
        while (total > limit) {
            int widest = -1;
            for (int i = 0; i < widths.length; i++) {
                if (columns.get(i).fit() != Fit.WHOLE && (widest < 0 || widths[i] > widths[widest])) {
                    widest = i;
                }
            }
            if (widest < 0 || widths[widest] <= LEAST_WIDTH) {
                break;
            }
            widths[widest]--;
            total--;
        }
        return widths;
    }

    private String line(List<String> cells, int[] widths) {
        StringBuilder line = new StringBuilder();
        for (int i = 0; i < widths.length; i++) {
            String cell = shorten(cells.get(i), widths[i]);
            String padding = " ".repeat(widths[i] - width(cell));
            line.append(i == 0 ? "" : GAP);
            switch (columns.get(i).align()) {
                case LEFT -> line.append(cell).append(padding);
                case RIGHT -> line.append(padding).append(cell);
            }
        }
        return line.toString().stripTrailing();
    }

    /** Keeps both ends: the layer number stands in front of a tensor's name and the parameter at its end. */
    private static String shorten(String cell, int width) {
        int length = width(cell);
        if (length <= width) {
            return cell;
        }
        int head = (width - 1) / 2;
        int tail = width - 1 - head;
        return cell.substring(0, cell.offsetByCodePoints(0, head))
                + "…"
                + cell.substring(cell.offsetByCodePoints(cell.length(), -tail));
    }

    private static int width(String text) {
        return text.codePointCount(0, text.length());
    }
}
