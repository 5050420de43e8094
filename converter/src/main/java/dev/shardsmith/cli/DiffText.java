package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.diff.DiffResult;
import dev.shardsmith.verify.diff.ElementPlace;
import dev.shardsmith.verify.diff.StateDifference;
import dev.shardsmith.verify.diff.TensorComparison;
import dev.shardsmith.verify.diff.TensorDiff;
import dev.shardsmith.verify.diff.ValuesPerElement;
import dev.shardsmith.verify.diff.WorstElement;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** A comparison as text: what differs first, at most as much as fits a few screens. */
final class DiffText {
    private static final int MOST_ROWS = 40;
    private static final int MOST_STATE = 20;
    private static final String NONE = "-";

    private DiffText() {}

    static void print(Out out, ModelView left, ModelView right, DiffResult result) throws IOException {
        out.line("A  " + Opening.describe(left));
        out.line("B  " + Opening.describe(right));
        out.line();
        List<TensorDiff> differing = result.tensors().stream()
                .filter(diff -> diff.status() != TensorDiff.Status.SAME)
                .toList();
        if (!differing.isEmpty()) {
            tensors(out, differing);
            worst(out, differing);
            out.line();
        }
        result.tensors().stream()
                .filter(diff -> !diff.note().isEmpty())
                .limit(MOST_ROWS)
                .forEach(diff -> out.line("note on " + diff.name() + ": " + diff.note()));
        state(out, result.state());
        result.ignored().forEach(ignored -> out.line("left out: " + ignored));
        String verdict = result.same() ? out.ink(Ink.GREEN, "same") : out.ink(Ink.RED, "different");
        out.line("%s: %d tensors, %s (%s)"
                .formatted(verdict, result.tensors().size(), ByteSize.format(result.bytes()), counts(result)));
    }

    private static String counts(DiffResult result) {
        return Arrays.stream(TensorDiff.Status.values())
                .filter(status -> result.count(status) > 0 || status == TensorDiff.Status.SAME)
                .map(status -> result.count(status) + " " + status.id())
                .collect(Collectors.joining(", "));
    }

    private static void tensors(Out out, List<TensorDiff> differing) {
        Table table = new Table()
                .column("tensor", Table.Align.LEFT)
                .column("status", Table.Align.LEFT)
                .column("differ", Table.Align.RIGHT)
                .column("max abs", Table.Align.RIGHT)
                .column("max rel", Table.Align.RIGHT)
                .column("ulp", Table.Align.RIGHT);
        for (TensorDiff diff : differing.subList(0, Math.min(MOST_ROWS, differing.size()))) {
            Optional<TensorComparison> figures = diff.comparison();
            table.row(
                    diff.name(),
                    status(diff),
                    figures.map(f -> String.valueOf(f.differing())).orElse(NONE),
                    figures.map(f -> real(f.maxAbs())).orElse(NONE),
                    figures.map(f -> real(f.maxRel())).orElse(NONE),
                    figures.map(f -> String.valueOf(f.maxUlp())).orElse(NONE));
        }
        out.table(table);
        if (differing.size() > MOST_ROWS) {
            out.line("and %d more; --json lists all".formatted(differing.size() - MOST_ROWS));
        }
    }

    private static String status(TensorDiff diff) {
        if (diff.reshaped()) {
            return "shape " + diff.left().get().shape() + " / "
                    + diff.right().get().shape();
        }
        if (diff.retyped()) {
            return diff.status().id() + " " + diff.left().get().dtype().shortName() + "/"
                    + diff.right().get().dtype().shortName();
        }
        return diff.newName().map(name -> "now " + name).orElse(diff.status().id());
    }

    private static void worst(Out out, List<TensorDiff> differing) throws IOException {
        Optional<TensorDiff> found = differing.stream()
                .filter(diff -> diff.comparison()
                        .map(figures -> !figures.worst().isEmpty())
                        .orElse(false))
                .reduce((one, other) -> difference(other) > difference(one) ? other : one);
        if (found.isEmpty()) {
            return;
        }
        TensorDiff diff = found.get();
        WorstElement worst = diff.comparison().get().worst().get(0);
        long element = worst.index() / ValuesPerElement.of(diff.either().dtype());
        out.line();
        out.line("worst element: %s %s"
                .formatted(diff.name(), Arrays.toString(ElementPlace.index(diff.either(), element))));
        out.line("  A %s  %s".formatted(worst.left(), place(diff.left(), element)));
        out.line("  B %s  %s".formatted(worst.right(), place(diff.right(), element)));
    }

    private static double difference(TensorDiff diff) {
        return diff.comparison().orElseThrow().worst().get(0).difference();
    }

    private static String place(Optional<LogicalTensor> side, long element) throws IOException {
        Optional<ElementPlace> place = side.isPresent() ? ElementPlace.of(side.get(), element) : Optional.empty();
        return place.map(found -> found.file() + " at byte " + found.offset()).orElse("");
    }

    private static void state(Out out, List<StateDifference> state) {
        if (state.isEmpty()) {
            return;
        }
        out.line("other state differs in %d places (this does not count):".formatted(state.size()));
        List<StateDifference> shown = new ArrayList<>(state.subList(0, Math.min(MOST_STATE, state.size())));
        for (StateDifference difference : shown) {
            out.line("  %s: %s / %s"
                    .formatted(
                            difference.path(),
                            difference.left().isEmpty() ? NONE : difference.left(),
                            difference.right().isEmpty() ? NONE : difference.right()));
        }
        if (state.size() > MOST_STATE) {
            out.line("  and %d more; --json lists all".formatted(state.size() - MOST_STATE));
        }
        out.line();
    }

    private static String real(double value) {
        return String.format(Locale.ROOT, "%.3g", value);
    }
}
