package dev.shardsmith.verify.report;

import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.LayerRow;
import dev.shardsmith.verify.report.ReportDocument.Details;
import dev.shardsmith.verify.report.ReportDocument.Fact;
import dev.shardsmith.verify.report.ReportDocument.Finding;
import dev.shardsmith.verify.report.ReportDocument.Histogram;
import dev.shardsmith.verify.report.ReportDocument.LayerCell;
import dev.shardsmith.verify.report.ReportDocument.LayerMap;
import dev.shardsmith.verify.report.ReportDocument.Scale;
import dev.shardsmith.verify.report.ReportDocument.Severity;
import dev.shardsmith.verify.report.ReportDocument.StateTable;
import dev.shardsmith.verify.report.ReportDocument.TensorRow;
import dev.shardsmith.verify.report.ReportDocument.Tone;
import dev.shardsmith.verify.report.ReportDocument.Unit;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;

/** Reports with everything in them, for looking at and for the browser's test. */
final class SampleReports {
    private static final String PATTERN = "M-M-M-M*-M-M-M-M*-M-M-M-M*-M-ME";

    private SampleReports() {}

    /** A report of a forward check in which one layer is wrong. */
    static ReportDocument verify() {
        List<LayerRow> rows = new ArrayList<>();
        rows.add(new LayerRow(
                0,
                Optional.empty(),
                "embedding",
                0,
                0,
                3.1,
                0,
                LayerRow.Verdict.SAME,
                Optional.empty(),
                0,
                Optional.empty()));
        for (int layer = 0; layer < PATTERN.length(); layer++) {
            boolean ok = layer != 7;
            String kind = PATTERN.charAt(layer) == 'M' ? "mamba" : PATTERN.charAt(layer) == '*' ? "attention" : "mlp";
            rows.add(new LayerRow(
                    layer + 1,
                    Optional.of(layer),
                    kind,
                    ok ? 1e-7 * layer : 0.83,
                    3e-6,
                    4.2,
                    1e-12,
                    ok ? LayerRow.Verdict.SAME : LayerRow.Verdict.DIFFERENT,
                    Optional.of(new LayerRow.Place(17, 203)),
                    0,
                    ok ? Optional.empty() : Optional.of("the gated projection was cut over ranks as one block")));
        }
        return VerifyReport.of(
                "/checkpoints/hybrid-8b: megatron, TP 1, PP 1, pattern " + PATTERN,
                "/exports/hybrid-8b-tp8: megatron, TP 8, PP 1, pattern " + PATTERN,
                new CheckReport(rows, List.of()),
                "CPU, 16 threads",
                Optional.empty(),
                "shardsmith 0.1.0");
    }

    /** A report of a diff with differences in some layers. */
    static ReportDocument diff() {
        RandomGenerator random = Cases.random(7);
        ReportDocument.Builder report = ReportDocument.of("diff", "3 of 186 tensors differ", Tone.BAD)
                .subject("left", "/checkpoints/hybrid-8b/iter_0050000")
                .subject("right", "/exports/hybrid-8b-hf")
                .fact("compared", "16.4 GiB")
                .fact("same", "183")
                .fact("different", "3")
                .fact("missing, extra, renamed", "0, 0, 0")
                .fact("worst element", "decoder.layers.4.mixer.in_proj.weight [1032, 77]")
                .fact("left out", "62 opaque module states (_extra_state)")
                .finding(new Finding(
                        Severity.ERROR,
                        "pattern-mismatch",
                        "layer 9",
                        "the pattern says attention, but the weights are those of a Mamba layer",
                        "give the pattern that the checkpoint was trained with: --pattern"))
                .finding(new Finding(
                        Severity.WARNING, "vocabulary-padding", "", "128 rows of the embedding are padding", ""))
                .column("max abs", Unit.NUMBER)
                .column("different", Unit.COUNT);
        List<LayerCell> cells = new ArrayList<>();
        for (int layer = 0; layer < PATTERN.length(); layer++) {
            double worst = layer % 7 == 4 ? Math.pow(10, -1 - layer % 5) : 0;
            cells.add(new LayerCell(
                    layer,
                    String.valueOf(layer),
                    PATTERN.substring(layer, layer + 1),
                    worst,
                    worst > 0 ? "1 differs" : ""));
            for (String name : List.of(
                    "mixer.in_proj.weight",
                    "mixer.conv1d.weight",
                    "mixer.A_log",
                    "mixer.D",
                    "mixer.norm.weight",
                    "norm.weight")) {
                boolean differs = worst > 0 && name.equals("mixer.in_proj.weight");
                report.tensor(new TensorRow(
                        "decoder.layers." + layer + "." + name,
                        layer,
                        "BF16",
                        "[10304, 4096]",
                        10304L * 4096 * 2,
                        differs ? "different" : "same",
                        new double[] {differs ? worst : 0, differs ? 1234567 : 0},
                        Optional.of(histogram(random)),
                        differs
                                ? () -> List.of(
                                        new Fact("worst", "[1032, 77]: 0.125 against 0.25"),
                                        new Fact("left at", "mp_rank_00/model_optim_rng.pt:1048576"))
                                : Details.NONE));
            }
        }
        report.layers(new LayerMap(
                "largest difference",
                Scale.DIFFERENCE,
                List.of(
                        new Fact("M", "Mamba"),
                        new Fact("*", "attention"),
                        new Fact("-", "MLP"),
                        new Fact("E", "experts")),
                cells));
        for (int rank = 0; rank < 8; rank++) {
            report.rank("mp_rank_0" + rank, (2L << 30) + rank * (60L << 20), rank == 7 ? "25% waste" : "");
        }
        report.tensor(new TensorRow(
                "odd </script><script>alert(1)</script> & <b>name",
                -1,
                "F32",
                "[]",
                4,
                "extra",
                new double[] {Double.NaN, Double.NaN},
                Optional.empty(),
                Details.NONE));
        report.state(new StateTable(
                StateTable.STATE,
                "Not counted: a conversion has to change some of it.",
                List.of("where", "left", "right"),
                List.of(
                        List.of("args.tensor_model_parallel_size", "8", "1"),
                        List.of("args.load", "'/checkpoints/hybrid-8b'", ""))));
        return report.footer("shardsmith 0.1.0").build();
    }

    /** A report of a validation, which lists no tensors. */
    static ReportDocument validate() {
        List<LayerCell> cells = new ArrayList<>();
        for (int layer = 0; layer < 8; layer++) {
            boolean wrong = layer == 4;
            String note = wrong ? "the pattern says attention" : "";
            double value = wrong ? Double.POSITIVE_INFINITY : 0;
            cells.add(new LayerCell(layer, String.valueOf(layer), "M", value, note));
        }
        return ReportDocument.of("validate", "The checkpoint is not valid", Tone.BAD)
                .subject("checkpoint", "/checkpoints/hybrid-8b/iter_0050000")
                .fact("saved pattern", "MMMM*MMM")
                .finding(new Finding(
                        Severity.ERROR,
                        "pattern-mismatch",
                        "layer 4",
                        "the pattern says attention, but the weights are those of a Mamba layer",
                        "give the pattern that the checkpoint was trained with: --pattern"))
                .layers(new LayerMap(
                        "whether the pattern says what the weights are",
                        Scale.DIFFERENCE,
                        List.of(new Fact("M", "Mamba")),
                        cells))
                .state(new StateTable(
                        "Launch script",
                        "Options of the launch script against the checkpoint.",
                        List.of("option", "given", "checkpoint", "verdict", "what to do"),
                        IntStream.range(0, 60)
                                .mapToObj(option -> List.of(
                                        "--option-" + option,
                                        "None",
                                        "NullTokenizer",
                                        "changes",
                                        "it loads, but the model computes something else"))
                                .toList()))
                .footer("shardsmith 0.1.0")
                .build();
    }

    /** A report of an inspection with statistics. */
    static ReportDocument inspect() {
        RandomGenerator random = Cases.random(8);
        ReportDocument.Builder report = ReportDocument.of("inspect", "megatron, TP 8, PP 4", Tone.NEUTRAL)
                .subject("checkpoint", "/checkpoints/hybrid-8b/iter_0050000")
                .column("mean", Unit.NUMBER)
                .column("std", Unit.NUMBER);
        List<LayerCell> cells = new ArrayList<>();
        for (int layer = 0; layer < 12; layer++) {
            cells.add(new LayerCell(layer, String.valueOf(layer), "M", random.nextDouble() * 0.05, ""));
            report.tensor(new TensorRow(
                    "decoder.layers." + layer + ".mixer.in_proj.weight",
                    layer,
                    "F32",
                    "[64, 32]",
                    8192,
                    "",
                    new double[] {random.nextGaussian() * 1e-4, 0.02},
                    Optional.of(histogram(random)),
                    Details.NONE));
        }
        return report.layers(
                        new LayerMap("standard deviation", Scale.STATISTIC, List.of(new Fact("M", "Mamba")), cells))
                .build();
    }

    /** A report with very many tensors. */
    static ReportDocument large() {
        ReportDocument.Builder report =
                ReportDocument.of("diff", "no tensor differs", Tone.GOOD).column("max abs", Unit.NUMBER);
        for (int i = 0; i < 100_000; i++) {
            report.tensor(new TensorRow(
                    "decoder.layers." + i / 800 + ".mlp.experts.local_experts." + i % 800 + ".linear_fc1.weight",
                    i / 800,
                    "BF16",
                    "[" + (i * 7919 % 4096) + ", 64]",
                    (i * 7919L % 4096) * 128,
                    i % 1000 == 999 ? "different" : "same",
                    new double[] {i % 1000 == 999 ? i : 0},
                    Optional.empty(),
                    Details.NONE));
        }
        List<LayerCell> cells = IntStream.range(0, 125)
                .mapToObj(layer -> new LayerCell(layer, String.valueOf(layer), "E", layer % 5 == 1 ? layer : 0, ""))
                .toList();
        return report.layers(
                        new LayerMap("largest difference", Scale.DIFFERENCE, List.of(new Fact("E", "experts")), cells))
                .build();
    }

    private static Histogram histogram(RandomGenerator random) {
        long[] counts = new long[40];
        for (int i = 0; i < 4000; i++) {
            counts[(int) Math.max(0, Math.min(39, 20 + random.nextGaussian() * 6))]++;
        }
        return new Histogram(-0.0871, 0.0912, counts);
    }
}
