package dev.shardsmith.verify.report;

import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.ReportDocument.Histogram;
import java.util.Optional;

/** Histograms of surveys as a report shows them. */
final class Histograms {
    private Histograms() {}

    static Optional<Histogram> of(TensorSurvey survey) {
        return survey.bars().map(bars -> new Histogram(bars.min(), bars.max(), bars.counts()));
    }
}
