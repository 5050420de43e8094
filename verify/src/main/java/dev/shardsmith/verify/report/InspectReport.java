package dev.shardsmith.verify.report;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.StateTree;
import dev.shardsmith.verify.inspect.Inspection;
import dev.shardsmith.verify.inspect.LayerOutline;
import dev.shardsmith.verify.inspect.ReplicaDisagreement;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.Finding;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import dev.shardsmith.verify.report.ReportDocument.Severity;
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

/** The report of a look at one checkpoint. */
public final class InspectReport {
    private InspectReport() {}

    /**
     * The document.
     *
     * @param surveys what reading the tensors told; empty if they were not read
     * @param wastedBytes bytes of storages that no tensor shows
     * @param state options and other state
     * @param footer the last line
     */
    public static ReportDocument of(
            Inspection inspection,
            List<TensorSurvey> surveys,
            long wastedBytes,
            List<StateTree.Leaf> state,
            String footer)
            throws IOException {
        ModelView view = inspection.view();
        Tone tone = findings(surveys).isEmpty() ? Tone.NEUTRAL : Tone.WARNING;
        ReportDocument.Builder report =
                ReportDocument.of("inspect", view.layout().id() + ", " + view.parallelism(), tone);
        report.subject("checkpoint", view.path().toString());
        report.fact("taken for", view.description());
        view.pattern().ifPresent(pattern -> report.fact("pattern", pattern));
        view.iterationFolder().ifPresent(folder -> report.fact("iteration", folder));
        report.fact("tensors", Amounts.count(inspection.tensors().size()));
        report.fact("elements", Amounts.count(inspection.elements()));
        report.fact("bytes", Amounts.bytes(inspection.bytes()));
        inspection.bytesByType().forEach((type, bytes) -> report.fact(type, Amounts.bytes(bytes)));
        if (wastedBytes > 0) {
            report.fact("waste", Amounts.bytes(wastedBytes) + " of storages that no tensor shows");
        }
        findings(surveys).forEach(report::finding);
        inspection.fileSizes().forEach((file, bytes) -> report.rank(file, bytes, ""));
        tensors(report, inspection, surveys);
        List<List<String>> rows =
                state.stream().map(leaf -> List.of(leaf.path(), leaf.text())).toList();
        report.state(
                new StateTable(StateTable.STATE, "As saved, nothing is executed.", List.of("where", "value"), rows));
        return report.footer(footer).build();
    }

    private static List<Finding> findings(List<TensorSurvey> surveys) {
        List<Finding> findings = new java.util.ArrayList<>();
        for (TensorSurvey survey : surveys) {
            for (ReplicaDisagreement replica : survey.disagreements()) {
                findings.add(new Finding(
                        Severity.ERROR,
                        "replicas-disagree",
                        replica.file().map(Object::toString).orElse(""),
                        "%s %s: %d elements are not what another rank holds, by up to %s"
                                .formatted(
                                        replica.tensor(),
                                        replica.part(),
                                        replica.comparison().differing(),
                                        replica.comparison().maxAbs()),
                        "find out which rank is right; a conversion takes the first one"));
            }
            if (survey.figures()
                    .map(figures -> figures.nans() + figures.infinities() > 0)
                    .orElse(false)) {
                TensorSurvey.Figures figures = survey.figures().orElseThrow();
                findings.add(new Finding(
                        Severity.WARNING,
                        "not-finite",
                        survey.tensor().name(),
                        figures.nans() + " NaN, " + figures.infinities() + " infinite",
                        ""));
            }
        }
        return findings;
    }

    private static void tensors(ReportDocument.Builder report, Inspection inspection, List<TensorSurvey> surveys) {
        boolean read = !surveys.isEmpty();
        if (read) {
            report.column("min", Unit.NUMBER)
                    .column("max", Unit.NUMBER)
                    .column("mean", Unit.NUMBER)
                    .column("std", Unit.NUMBER)
                    .column("zeros", Unit.COUNT);
        }
        Map<String, TensorSurvey> known = new HashMap<>();
        surveys.forEach(survey -> known.put(survey.tensor().name(), survey));
        LayerOutline outline = LayerOutline.of(
                inspection.tensors().stream().map(LogicalTensor::name).toList());
        long[] elements = new long[outline.layers().size()];
        List<List<TensorSurvey.Figures>> figures = new ArrayList<>();
        outline.layers().forEach(layer -> figures.add(new ArrayList<>()));
        for (LogicalTensor tensor : inspection.tensors()) {
            int layer = outline.layerOf(tensor.name());
            Optional<TensorSurvey> survey = Optional.ofNullable(known.get(tensor.name()));
            if (layer >= 0) {
                elements[layer] += tensor.shape().elements();
                survey.flatMap(TensorSurvey::figures).ifPresent(figures.get(layer)::add);
            }
            report.tensor(new TensorRow(
                    tensor.name(),
                    layer,
                    tensor.dtype().shortName(),
                    tensor.shape().toString(),
                    tensor.bytes(),
                    "",
                    read ? values(survey) : new double[0],
                    survey.flatMap(Histograms::of),
                    () -> List.of(new Fact("divided", tensor.division()))));
        }
        LayerMaps.of(
                        outline,
                        read ? "standard deviation" : "number of elements",
                        Scale.STATISTIC,
                        layer -> read ? deviation(figures.get(layer)) : elements[layer],
                        layer -> "")
                .ifPresent(report::layers);
    }

    private static double deviation(List<TensorSurvey.Figures> figures) {
        TensorSurvey.Figures layer = TensorSurvey.Figures.together(figures);
        return layer.finite() == 0 ? Double.NaN : layer.std();
    }

    private static double[] values(Optional<TensorSurvey> survey) {
        return survey.flatMap(TensorSurvey::figures)
                .map(figures ->
                        new double[] {figures.min(), figures.max(), figures.mean(), figures.std(), figures.zeros()})
                .orElse(new double[] {Double.NaN, Double.NaN, Double.NaN, Double.NaN, Double.NaN});
    }
}
