package dev.shardsmith.verify.report;

import dev.shardsmith.verify.digest.ValueHistogram;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.ReportDocument.Histogram;
import java.util.List;
import java.util.Optional;

/** Histograms of surveys as a report shows them. */
final class Histograms {
    private Histograms() {}

    static Optional<Histogram> of(TensorSurvey survey) {
        List<ValueHistogram.Bar> bars = survey.bars();
        if (bars.isEmpty()) {
            return Optional.empty();
        }
        return Optional.of(new Histogram(
                bars.get(0).from(),
                bars.get(bars.size() - 1).to(),
                bars.stream().mapToDouble(ValueHistogram.Bar::count).toArray()));
    }
}
