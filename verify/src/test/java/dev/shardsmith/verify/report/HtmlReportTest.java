package dev.shardsmith.verify.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.LayerRow;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class HtmlReportTest {
    private static String page(ReportDocument document) throws IOException {
        StringWriter writer = new StringWriter();
        HtmlReport.write(document, writer);
        return writer.toString();
    }

    @Test
    void nothingIsLoadedFromElsewhere() throws IOException {
        String page = page(SampleReports.diff());
        assertThat(page).doesNotContain("http://www.example").contains("default-src 'none'");
        Matcher references = Pattern.compile("(?:src|href)=\"([^\"]*)\"").matcher(page);
        while (references.find()) {
            assertThat(references.group(1)).matches("#.*|data:.*");
        }
        assertThat(page).doesNotContain("url(").doesNotContain("@import").doesNotContain("@DATA@");
    }

    @Test
    void aNameCannotEndTheScript() throws IOException {
        String page = page(SampleReports.diff());
        int data = page.indexOf("<script type=\"application/json\"");
        String json = page.substring(page.indexOf('>', data) + 1, page.indexOf("</script>", data));
        assertThat(json)
                .contains("\\u003c/script>\\u003cscript>alert(1)")
                .doesNotContain("<")
                .endsWith("}");
        assertThat(Pattern.compile("</script>").matcher(page).results().count()).isEqualTo(2);
    }

    @Test
    void theTitleIsEscaped() throws IOException {
        assertThat(page(ReportDocument.of("diff", "<i>&</i>", ReportDocument.Tone.GOOD)
                        .build()))
                .contains("<title>shardsmith diff: &lt;i&gt;&amp;&lt;/i&gt;</title>");
    }

    @Test
    void theSameDocumentGivesTheSamePage() throws IOException {
        assertThat(page(SampleReports.diff())).isEqualTo(page(SampleReports.diff()));
    }

    @Test
    void aForwardCheckTellsTheFirstDivergenceAndWhatExplainsIt() {
        ReportDocument report = SampleReports.verify();
        assertThat(report.verdict()).isEqualTo("1 of 32 parts compute something else");
        assertThat(report.tone()).isEqualTo(ReportDocument.Tone.BAD);
        assertThat(report.facts()).contains(new ReportDocument.Fact("first divergence", "layer 7, attention"));
        assertThat(report.findings()).singleElement().satisfies(finding -> {
            assertThat(finding.message())
                    .isEqualTo("the results differ by 0.830, rounding explains 3.00e-06, at token 17, channel 203: "
                            + "the gated projection was cut over ranks as one block");
        });
        assertThat(report.layers().orElseThrow().cells())
                .filteredOn(cell -> cell.value() > 0)
                .singleElement()
                .satisfies(cell -> assertThat(cell.label()).isEqualTo("7"));
    }

    @Test
    void predictionLayersHaveTheSymbolsOfTheirKindsAndRenameNone() {
        List<LayerRow> rows = Stream.of("mamba", "mtp join", "mtp attention", "mtp mlp", "mtp norm")
                .map(kind -> new LayerRow(
                        1,
                        Optional.of(0),
                        kind,
                        0,
                        0,
                        1,
                        0,
                        LayerRow.Verdict.SAME,
                        Optional.empty(),
                        0,
                        Optional.empty()))
                .toList();
        ReportDocument report = VerifyReport.of(
                "left", "right", new CheckReport(rows, List.of()), "CPU", Optional.empty(), "shardsmith");
        ReportDocument.LayerMap map = report.layers().orElseThrow();
        assertThat(map.cells()).extracting(ReportDocument.LayerCell::symbol).containsExactly("M", "J", "*", "-", "N");
        assertThat(map.kinds())
                .contains(new ReportDocument.Fact("M", "mamba"), new ReportDocument.Fact("*", "attention"));
    }

    @Test
    void aRowNeedsAValueForEachColumn() {
        ReportDocument.Builder report =
                ReportDocument.of("diff", "", ReportDocument.Tone.GOOD).column("max abs", ReportDocument.Unit.NUMBER);
        report.tensor(new ReportDocument.TensorRow(
                "t", -1, "F32", "[]", 4, "", new double[0], Optional.empty(), ReportDocument.Details.NONE));
        assertThatThrownBy(report::build)
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("t has 0");
    }

    @Test
    void detailsOfRowsAreAskedForWhenTheyAreWritten() throws IOException {
        AtomicInteger asked = new AtomicInteger();
        ReportDocument.Builder builder = ReportDocument.of("diff", "", ReportDocument.Tone.GOOD);
        builder.tensor(
                new ReportDocument.TensorRow("t", -1, "F32", "[]", 4, "", new double[0], Optional.empty(), () -> {
                    asked.incrementAndGet();
                    return List.of(new ReportDocument.Fact("cosine", "0.25"));
                }));
        ReportDocument report = builder.build();
        assertThat(asked).hasValue(0);
        StringWriter page = new StringWriter();
        HtmlReport.write(report, page);
        assertThat(asked).hasValue(1);
        assertThat(page.toString()).contains("[\"cosine\",\"0.25\"]");
    }

    /** Also leaves the pages where the browser's test looks for them. */
    @Test
    void pagesAreWrittenWhole() throws IOException {
        Path folder = Path.of("target", "report-samples");
        Files.createDirectories(folder);
        HtmlReport.write(SampleReports.diff(), WholeFile.replacing(folder.resolve("diff.html")));
        HtmlReport.write(SampleReports.inspect(), WholeFile.replacing(folder.resolve("inspect.html")));
        HtmlReport.write(SampleReports.verify(), WholeFile.replacing(folder.resolve("verify.html")));
        HtmlReport.write(SampleReports.validate(), WholeFile.replacing(folder.resolve("validate.html")));
        HtmlReport.write(SampleReports.large(), WholeFile.replacing(folder.resolve("large.html")));
        try (var files = Files.list(folder)) {
            assertThat(files.map(Path::getFileName).map(Path::toString))
                    .contains("diff.html", "inspect.html", "verify.html", "validate.html", "large.html");
        }
        assertThat(Files.readString(folder.resolve("large.html"))).endsWith("</html>\n");
    }
}
