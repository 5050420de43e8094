package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.cli.terminal.Count;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** A comparison as text: what differs first, at most as much as fits a few screens. */
final class DiffText {
    private static final int MOST_ROWS = 40;
    private static final int MOST_STATE = 20;
    private static final int MOST_NAMES = 3;
    private static final String NONE = "-";

    private DiffText() {}

    static void print(Out out, ModelView left, ModelView right, DiffResult result) throws IOException {
        out.paragraph("A  " + Opening.describe(left));
        out.paragraph("B  " + Opening.describe(right));
        out.line();
        List<TensorDiff> differing = result.tensors().stream()
                .filter(diff -> diff.status() != TensorDiff.Status.SAME)
                .toList();
        if (!differing.isEmpty()) {
            tensors(out, differing);
            worst(out, differing);
            out.line();
        }
        notes(out, result);
        places(out, "tensors without elements to compare differ in", "", result.forms());
        places(out, "other state differs in", " (this does not count)", result.state());
        result.ignored().forEach(ignored -> out.line("left out: " + ignored));
        String verdict = result.same() ? out.ink(Ink.GREEN, "same") : out.ink(Ink.RED, "different");
        out.paragraph("%s: %s, %s (%s)"
                .formatted(
                        verdict,
                        Count.of(result.tensors().size(), "tensor"),
                        ByteSize.format(result.bytes()),
                        counts(result)));
    }

    /** What is to be said about the whole, and about tensors whose row does not say it: each once, with its tensors. */
    private static void notes(Out out, DiffResult result) {
        result.notes().forEach(note -> out.paragraph("note: " + note));
        Map<String, List<String>> tensors = new LinkedHashMap<>();
        for (TensorDiff diff : result.tensors()) {
            boolean said =
                    diff.status() != TensorDiff.Status.SAME && detail(diff).isPresent();
            if (!diff.note().isEmpty() && !said) {
                tensors.computeIfAbsent(diff.note(), none -> new ArrayList<>()).add(diff.name());
            }
        }
        tensors.forEach((note, names) -> {
            out.paragraph("note: " + note + (names.size() == 1 ? "" : " (%d tensors)".formatted(names.size())));
            names.stream().limit(MOST_NAMES).forEach(name -> out.line("  " + name));
            if (names.size() > MOST_NAMES) {
                out.line("  and %d more; --json lists all".formatted(names.size() - MOST_NAMES));
            }
        });
        if (!tensors.isEmpty() || !result.notes().isEmpty()) {
            out.line();
        }
    }

    private static String counts(DiffResult result) {
        return Arrays.stream(TensorDiff.Status.values())
                .filter(status -> result.count(status) > 0 || status == TensorDiff.Status.SAME)
                .map(status -> result.count(status) + " " + status.id())
                .collect(Collectors.joining(", "));
    }

    private static void tensors(Out out, List<TensorDiff> differing) {
        Table table = new Table()
                .nameColumn("tensor")
                .column("status", Table.Align.LEFT)
                .column("differ", Table.Align.RIGHT)
                .column("max abs", Table.Align.RIGHT)
                .column("max rel", Table.Align.RIGHT)
                .column("ulp", Table.Align.RIGHT);
        for (TensorDiff diff : differing.subList(0, Math.min(MOST_ROWS, differing.size()))) {
            Optional<TensorComparison> figures = diff.comparison();
            table.row(
                    diff.name(),
                    diff.status().id(),
                    figures.map(f -> String.valueOf(f.differing())).orElse(NONE),
                    figures.map(f -> real(f.maxAbs())).orElse(NONE),
                    figures.map(f -> real(f.maxRel())).orElse(NONE),
                    figures.map(f -> String.valueOf(f.maxUlp())).orElse(NONE));
            detail(diff).ifPresent(table::detail);
        }
        out.table(table);
        if (differing.size() > MOST_ROWS) {
            out.line("and %d more; --json lists all".formatted(differing.size() - MOST_ROWS));
        }
    }

    /** What a status alone does not say. */
    private static Optional<String> detail(TensorDiff diff) {
        if (diff.reshaped()) {
            return Optional.of(diff.note());
        }
        if (diff.newName().isPresent()) {
            return Optional.of("in B " + diff.newName().get());
        }
        return diff.retyped() ? Optional.of(diff.note()) : Optional.empty();
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
        out.paragraph("worst element: %s %s"
                .formatted(diff.name(), Arrays.toString(diff.either().shape().index(element))));
        out.paragraph("  A %s  %s".formatted(worst.left(), place(diff.left(), element)));
        out.paragraph("  B %s  %s".formatted(worst.right(), place(diff.right(), element)));
        if (worst.left() == worst.right() && worst.difference() > 0) {
            out.paragraph("  integers %s apart, both rounded above to what a double holds"
                    .formatted(real(worst.difference())));
        }
    }

    private static double difference(TensorDiff diff) {
        return diff.comparison().orElseThrow().worst().get(0).difference();
    }

    private static String place(Optional<LogicalTensor> side, long element) throws IOException {
        Optional<ElementPlace> place = side.isPresent() ? ElementPlace.of(side.get(), element) : Optional.empty();
        return place.map(found -> found.file() + " at byte " + found.offset()).orElse("");
    }

    private static void places(Out out, String what, String weight, List<StateDifference> state) {
        if (state.isEmpty()) {
            return;
        }
        out.line("%s %s%s:".formatted(what, Count.of(state.size(), "place"), weight));
        List<StateDifference> shown = new ArrayList<>(state.subList(0, Math.min(MOST_STATE, state.size())));
        for (StateDifference difference : shown) {
            out.paragraph("  %s: %s / %s"
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
