package dev.shardsmith.verify.report;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * What a report shows; sections without content are left out.
 *
 * @param command the command that made it
 * @param verdict the outcome in a few words
 * @param tone how the outcome is to be felt
 * @param subjects what was looked at: label and path
 * @param facts label and value of each summary figure
 * @param findings what is wrong, worst first
 * @param layers one cell for each layer
 * @param ranks bytes of each rank or file
 * @param columns figures that the tensor table shows after name, type, shape and bytes
 * @param tensors rows of the tensor table
 * @param state differences or values of options and other state
 * @param footer the last line
 */
public record ReportDocument(
        String command,
        String verdict,
        Tone tone,
        List<Fact> subjects,
        List<Fact> facts,
        List<Finding> findings,
        Optional<LayerMap> layers,
        List<RankBytes> ranks,
        List<Column> columns,
        List<TensorRow> tensors,
        StateTable state,
        String footer) {

    /** How an outcome is to be felt. */
    public enum Tone {
        GOOD("good"),
        BAD("bad"),
        WARNING("warn"),
        NEUTRAL("neutral");

        private final String id;

        Tone(String id) {
            this.id = id;
        }

        String id() {
            return id;
        }
    }

    /** A label and what it stands for. */
    public record Fact(String label, String value) {}

    /**
     * Something wrong.
     *
     * @param severity how bad
     * @param code a stable word
     * @param where file, tensor or layer; may be empty
     * @param message what is wrong
     * @param fix what to do; may be empty
     */
    public record Finding(Severity severity, String code, String where, String message, String fix) {}

    /** How bad a finding is. */
    public enum Severity {
        ERROR("error"),
        WARNING("warning"),
        INFO("info");

        private final String id;

        Severity(String id) {
            this.id = id;
        }

        String id() {
            return id;
        }
    }

    /**
     * The layers as a map.
     *
     * @param metric what the colour means: {@code largest difference}
     * @param scale which colours
     * @param kinds symbol and name of each kind of layer
     * @param cells in the order of the layers
     */
    public record LayerMap(String metric, Scale scale, List<Fact> kinds, List<LayerCell> cells) {}

    /** Which colours a map has. */
    public enum Scale {
        DIFFERENCE("difference"),
        STATISTIC("statistic");

        private final String id;

        Scale(String id) {
            this.id = id;
        }

        String id() {
            return id;
        }
    }

    /**
     * One layer.
     *
     * @param layer number that the tensor rows of the layer have
     * @param label number or name that people read
     * @param symbol letter of its kind
     * @param value at least 0; NaN if not known
     * @param note in words; may be empty
     */
    public record LayerCell(int layer, String label, String symbol, double value, String note) {}

    /** A bar: what a rank or a file holds. */
    public record RankBytes(String label, long bytes, String note) {}

    /** A figure of the tensor table. */
    public record Column(String label, Unit unit) {}

    /** How a figure is written. */
    public enum Unit {
        NUMBER("number"),
        COUNT("count"),
        BYTES("bytes");

        private final String id;

        Unit(String id) {
            this.id = id;
        }

        String id() {
            return id;
        }
    }

    /**
     * A tensor.
     *
     * @param name logical name
     * @param layer number of its layer, -1 if it is in none
     * @param dtype short name of the type
     * @param shape in brackets
     * @param bytes bytes of its elements
     * @param status a word; may be empty
     * @param values one for each column; NaN where there is none
     * @param histogram where its values lie, if known
     * @param details further facts for whoever asks
     */
    public record TensorRow(
            String name,
            int layer,
            String dtype,
            String shape,
            long bytes,
            String status,
            double[] values,
            Optional<Histogram> histogram,
            Details details) {}

    /** Further facts about a row. They are asked for when it is written: those of all rows together may be much text. */
    @FunctionalInterface
    public interface Details {
        /** None. */
        Details NONE = List::of;

        /** The facts. */
        List<Fact> facts() throws IOException;
    }

    /** Bars of equal width from {@code min} to {@code max}. */
    public record Histogram(double min, double max, long[] counts) {}

    /**
     * A table beside that of the tensors: options and other state, or results.
     *
     * @param title the heading
     * @param hint one sentence above the table
     * @param columns titles
     * @param rows cells, as many as titles
     */
    public record StateTable(String title, String hint, List<String> columns, List<List<String>> rows) {
        /** The heading over options and other state. */
        public static final String STATE = "Options and other state";

        /** No table. */
        public static final StateTable NONE = new StateTable("", "", List.of(), List.of());
    }

    /** Checks that every row has a value for each column. */
    public ReportDocument {
        for (TensorRow row : tensors) {
            if (row.values().length != columns.size()) {
                throw new IllegalArgumentException(
                        row.name() + " has " + row.values().length + " values for " + columns.size() + " columns");
            }
        }
    }

    /** A document to fill. */
    public static Builder of(String command, String verdict, Tone tone) {
        return new Builder(command, verdict, tone);
    }

    /** Gathers the parts of a document. */
    public static final class Builder {
        private final String command;
        private final String verdict;
        private final Tone tone;
        private final List<Fact> subjects = new ArrayList<>();
        private final List<Fact> facts = new ArrayList<>();
        private final List<Finding> findings = new ArrayList<>();
        private final List<RankBytes> ranks = new ArrayList<>();
        private final List<Column> columns = new ArrayList<>();
        private final List<TensorRow> tensors = new ArrayList<>();
        private Optional<LayerMap> layers = Optional.empty();
        private StateTable state = StateTable.NONE;
        private String footer = "";

        private Builder(String command, String verdict, Tone tone) {
            this.command = Objects.requireNonNull(command);
            this.verdict = Objects.requireNonNull(verdict);
            this.tone = tone;
        }

        /** Adds something that was looked at. */
        public Builder subject(String label, String path) {
            subjects.add(new Fact(label, path));
            return this;
        }

        /** Adds a summary figure. */
        public Builder fact(String label, String value) {
            facts.add(new Fact(label, value));
            return this;
        }

        /** Adds a finding. */
        public Builder finding(Finding finding) {
            findings.add(finding);
            return this;
        }

        /** Sets the map of layers. */
        public Builder layers(LayerMap map) {
            layers = Optional.of(map);
            return this;
        }

        /** Adds a bar. */
        public Builder rank(String label, long bytes, String note) {
            ranks.add(new RankBytes(label, bytes, note));
            return this;
        }

        /** Adds a column to the tensor table. */
        public Builder column(String label, Unit unit) {
            columns.add(new Column(label, unit));
            return this;
        }

        /** Adds a row to the tensor table; the columns come first. */
        public Builder tensor(TensorRow row) {
            tensors.add(row);
            return this;
        }

        /** Sets the table of options and other state. */
        public Builder state(StateTable table) {
            state = table;
            return this;
        }

        /** Sets the last line. */
        public Builder footer(String line) {
            footer = line;
            return this;
        }

        /** The document. */
        public ReportDocument build() {
            return new ReportDocument(
                    command,
                    verdict,
                    tone,
                    List.copyOf(subjects),
                    List.copyOf(facts),
                    List.copyOf(findings),
                    layers,
                    List.copyOf(ranks),
                    List.copyOf(columns),
                    List.copyOf(tensors),
                    state,
                    footer);
        }
    }
}
