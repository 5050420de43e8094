package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.diff.CheckpointDiff;
import dev.shardsmith.verify.diff.ComparedTensors;
import dev.shardsmith.verify.diff.DiffOptions;
import dev.shardsmith.verify.diff.DiffResult;
import dev.shardsmith.verify.diff.Tolerance;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.DiffReport;
import dev.shardsmith.verify.report.HtmlReport;
import java.io.IOException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.commons.cli.Options;

/** {@code shardsmith diff A B}: compares two checkpoints of any layouts, tensor by tensor. */
final class DiffCommand implements Command {
    @Override
    public String name() {
        return "diff";
    }

    @Override
    public String summary() {
        return "compare two checkpoints of any layouts, tensor by tensor";
    }

    @Override
    public String description() {
        return "Compares two checkpoints as undivided models, whatever their layouts and parallel sizes: first bit by "
                + "bit, then by value. Says which tensors are the same, different, missing, extra or renamed, how far "
                + "values are apart, and where the worst elements lie. Exits with 0 if all tensors are the same, with 1 "
                + "if not. Copies on other ranks count as tensors do. Differing arguments and counters are shown, but do not "
                + "count.";
    }

    @Override
    public List<String> operands() {
        return List.of("A", "B");
    }

    @Override
    public Options options() {
        return Flags.htmlReport(
                Flags.value("rtol", "R", "accept differences up to R times the larger magnitude"),
                Flags.value("atol", "A", "accept differences up to A"),
                Flags.value("ulp", "N", "accept differences up to N units in the last place of the coarser type"),
                Flags.value("tensors", "GLOB", "compare these tensors only; may be repeated"),
                Flags.value("ignore", "GLOB", "leave out these tensors; may be repeated"),
                Flags.value("true-vocab", "N", "compare the first N rows of the vocabulary only"),
                Flags.workers("threads"));
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example(
                        "shardsmith diff samples/hybrid-tp2-pp2 /tmp/tp1", "Check that a conversion kept every bit"),
                new Example(
                        "shardsmith diff samples/hybrid-tp2-pp2 /tmp/tp1 --tensors '*.mixer.*' --json",
                        "Compare the Mamba mixers only, for a script"),
                new Example(
                        "shardsmith diff samples/hybrid-tp2-pp2 /tmp/tp1 --html /tmp/diff.html",
                        "Look at the differences in a browser"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        DiffOptions options = options(line);
        Optional<WholeFile> html = line.output("html");
        try (ModelView left = Opening.whole(line.path(0), line, out);
                ModelView right = Opening.whole(line.path(1), line, out)) {
            ComparedTensors tensors = ComparedTensors.of(left, right);
            DiffResult result = compare(left, right, tensors, options, out);
            if (result.tensors().isEmpty() && line.has("tensors")) {
                throw CheckpointException.of(
                                CheckpointException.Kind.REFUSED,
                                "",
                                "no tensor of either checkpoint matches " + String.join(", ", line.values("tensors"))
                                        + ": nothing was compared")
                        .withHint(
                                "'shardsmith inspect CKPT --tensors' lists the names; '*' stands for any part of one");
            }
            Set<String> names = tensors.names();
            UnmatchedNames.warn(out, "tensors", line.values("tensors"), names);
            UnmatchedNames.warn(out, "ignore", line.values("ignore"), names);
            if (html.isPresent()) {
                List<TensorSurvey> surveys = Surveys.of(compared(left, result), options.workers(), out);
                HtmlReport.write(DiffReport.of(left, right, result, surveys, Version.line()), html.get());
            }
            left.files().verifyUnchanged();
            right.files().verifyUnchanged();
            ExitCode exit = ExitCode.answer(result.same());
            if (line.has("json")) {
                out.json(name(), exit.status(), json -> DiffJson.write(json, result));
            } else {
                DiffText.print(out, left, right, result);
            }
            return exit;
        }
    }

    private static List<LogicalTensor> compared(ModelView left, DiffResult result) {
        return result.tensors().stream()
                .map(diff -> left.tensors().get(diff.name()))
                .filter(Objects::nonNull)
                .toList();
    }

    private static DiffResult compare(
            ModelView left, ModelView right, ComparedTensors tensors, DiffOptions options, Out out) throws IOException {
        long bytes = new CheckpointDiff(options, done -> {}).bytes(tensors);
        try (ProgressMeter meter = out.progress("compare", bytes)) {
            return new CheckpointDiff(options, meter::advance).compare(left, right, tensors);
        }
    }

    private static DiffOptions options(Arguments line) throws UsageException {
        Tolerance tolerance = new Tolerance(
                line.amount("rtol").orElse(0),
                line.amount("atol").orElse(0),
                line.longNumber("ulp", 0).orElse(0));
        return new DiffOptions(
                tolerance,
                line.values("tensors").stream().map(Glob::of).toList(),
                line.values("ignore").stream().map(Glob::of).toList(),
                line.longNumber("true-vocab", 1),
                line.workers());
    }
}
