package dev.shardsmith.verify.report;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.diff.DiffResult;
import dev.shardsmith.verify.diff.ElementPlace;
import dev.shardsmith.verify.diff.StateDifference;
import dev.shardsmith.verify.diff.TensorComparison;
import dev.shardsmith.verify.diff.TensorDiff;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import dev.shardsmith.verify.diff.ValuesPerElement;
import dev.shardsmith.verify.diff.WorstElement;
import dev.shardsmith.verify.inspect.LayerOutline;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import dev.shardsmith.verify.report.ReportDocument.StateTable;
import dev.shardsmith.verify.report.ReportDocument.TensorRow;
import dev.shardsmith.verify.report.ReportDocument.Tone;
import dev.shardsmith.verify.report.ReportDocument.Unit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** The report of a comparison of two checkpoints. */
public final class DiffReport {
    private DiffReport() {}

    /**
     * The document.
     *
     * @param surveys figures of the left side's tensors, for histograms; may leave tensors out
     * @param footer the last line
     */
    public static ReportDocument of(
            ModelView left, ModelView right, DiffResult result, List<TensorSurvey> surveys, String footer) {
        long wrong = result.tensors().size() - result.count(Status.SAME);
        ReportDocument.Builder report = ReportDocument.of(
                "diff",
                wrong == 0
                        ? "No tensor differs"
                        : Amounts.count(wrong) + " of "
                                + Amounts.count(result.tensors().size()) + " tensors differ",
                wrong == 0 ? Tone.GOOD : Tone.BAD);
        report.subject("left", left.path() + ", " + left.layout().id() + ", " + left.parallelism());
        report.subject("right", right.path() + ", " + right.layout().id() + ", " + right.parallelism());
        for (Status status : Status.values()) {
            report.fact(status.id(), Amounts.count(result.count(status)));
        }
        report.fact("compared", Amounts.bytes(result.bytes()));
        result.notes().forEach(note -> report.fact("note", note));
        result.forms().forEach(form -> report.fact("form of " + form.path(), form.left() + " against " + form.right()));
        result.ignored().forEach(ignored -> report.fact("left out", ignored));
        report.column("different", Unit.COUNT)
                .column("max abs", Unit.NUMBER)
                .column("max rel", Unit.NUMBER)
                .column("max ulp", Unit.COUNT);
        Map<String, TensorSurvey> known = new HashMap<>();
        surveys.forEach(survey -> known.put(survey.tensor().name(), survey));
        LayerOutline outline =
                LayerOutline.of(result.tensors().stream().map(TensorDiff::name).toList());
        double[] worst = new double[outline.layers().size()];
        int[] different = new int[worst.length];
        for (TensorDiff diff : result.tensors()) {
            int layer = outline.layerOf(diff.name());
            if (layer >= 0) {
                worst[layer] = Math.max(worst[layer], size(diff));
                different[layer] += diff.status() == Status.SAME ? 0 : 1;
            }
            report.tensor(row(diff, layer, Optional.ofNullable(known.get(diff.name()))));
        }
        LayerMaps.of(
                        outline,
                        "largest difference",
                        Scale.DIFFERENCE,
                        layer -> worst[layer],
                        layer -> different[layer] == 0 ? "" : different[layer] + " not the same")
                .ifPresent(report::layers);
        return report.state(state(result.state())).footer(footer).build();
    }

    /** What colours a layer: without figures, a tensor that is not the same counts as infinitely different. */
    private static double size(TensorDiff diff) {
        boolean mismatch = diff.comparison()
                .map(comparison -> comparison.nanMismatches() + comparison.infinityMismatches() > 0)
                .orElse(diff.status() != Status.SAME);
        return mismatch
                ? Double.POSITIVE_INFINITY
                : diff.comparison().map(TensorComparison::maxAbs).orElse(0.0);
    }

    private static TensorRow row(TensorDiff diff, int layer, Optional<TensorSurvey> survey) {
        LogicalTensor tensor = diff.either();
        boolean valued = diff.comparison().isPresent() || diff.status() == Status.SAME;
        TensorComparison comparison = diff.comparison().orElseGet(TensorComparison::new);
        double[] values = valued
                ? new double[] {comparison.differing(), comparison.maxAbs(), comparison.maxRel(), comparison.maxUlp()}
                : new double[] {Double.NaN, Double.NaN, Double.NaN, Double.NaN};
        return new TensorRow(
                diff.name(),
                layer,
                tensor.dtype().shortName(),
                tensor.shape().toString(),
                tensor.bytes(),
                diff.status().id(),
                values,
                survey.flatMap(Histograms::of),
                () -> details(diff));
    }

    private static List<Fact> details(TensorDiff diff) throws IOException {
        List<Fact> details = new ArrayList<>();
        diff.newName().ifPresent(name -> details.add(new Fact("on the right", name)));
        if (!diff.note().isEmpty()) {
            details.add(new Fact("note", diff.note()));
        }
        if (diff.comparison().isEmpty()) {
            return details;
        }
        TensorComparison comparison = diff.comparison().get();
        details.add(new Fact("root mean square", String.valueOf(comparison.rms())));
        details.add(new Fact("cosine", String.valueOf(comparison.cosine())));
        if (comparison.nanMismatches() > 0) {
            details.add(new Fact("NaN on one side", String.valueOf(comparison.nanMismatches())));
        }
        if (comparison.infinityMismatches() > 0) {
            details.add(new Fact("infinite on one side", String.valueOf(comparison.infinityMismatches())));
        }
        for (WorstElement worst : comparison.worst()) {
            long element = worst.index() / ValuesPerElement.of(diff.either().dtype());
            details.add(new Fact(
                    "element " + java.util.Arrays.toString(diff.either().shape().index(element)),
                    worst.left() + place(diff.left(), element) + " against " + worst.right()
                            + place(diff.right(), element)));
        }
        return details;
    }

    private static String place(Optional<LogicalTensor> tensor, long element) throws IOException {
        Optional<ElementPlace> place = tensor.isPresent() ? ElementPlace.of(tensor.get(), element) : Optional.empty();
        return place.map(found -> " (" + found + ")").orElse("");
    }

    private static StateTable state(List<StateDifference> differences) {
        return new StateTable(
                StateTable.STATE,
                "These differences do not count: a conversion has to change some options.",
                List.of("where", "left", "right"),
                differences.stream()
                        .map(difference -> List.of(difference.path(), difference.left(), difference.right()))
                        .toList());
    }
}
