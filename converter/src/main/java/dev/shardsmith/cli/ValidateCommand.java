package dev.shardsmith.cli;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.report.HtmlReport;
import dev.shardsmith.verify.report.ValidateReport;
import dev.shardsmith.verify.validate.ValidateOptions;
import dev.shardsmith.verify.validate.Validation;
import dev.shardsmith.verify.validate.Validator;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.apache.commons.cli.Options;

/** {@code shardsmith validate CKPT}: whether a checkpoint is what it, a pattern or a launch script says it is. */
final class ValidateCommand implements Command {
    @Override
    public String name() {
        return "validate";
    }

    @Override
    public String summary() {
        return "check a checkpoint against itself, a pattern or a launch script";
    }

    @Override
    public String description() {
        return "Infers layer kinds, widths and switches from the weights alone and holds against them what the saved "
                + "arguments, a pattern or the options of a launch script say, layer by layer. Also looks for missing keys, "
                + "stages that do not fit, values that are not numbers and files that are not what their checksums say. "
                + "Exits with 1 if something is wrong.";
    }

    @Override
    public List<String> operands() {
        return List.of("CKPT");
    }

    @Override
    public Options options() {
        return Flags.htmlReport(
                Flags.value("pattern", "P", "the hybrid layer pattern that the checkpoint should have"),
                Flags.value("launch", "FILE", "a training script whose options should fit; it is read, never run"),
                Flags.value("env", "NAME=VALUE", "a variable of the launch script; may be repeated"),
                Flags.value("tp", "N", "tensor-parallel size that the model shall be run with"),
                Flags.value("pp", "N", "pipeline-parallel size that the model shall be run with"),
                Flags.flag("optimizer", "also ask for optimizer state that a run could go on from"),
                Flags.flag("no-values", "look at names, shapes and arguments only, not at the values"),
                Flags.value("workers", "N", "threads that read; up to 4 if not given"));
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith validate samples/hybrid-tp2-pp2", "Check that a checkpoint is sound"),
                new Example(
                        "shardsmith validate samples/hybrid-tp2-pp2 --pattern 'M-*M' --tp 4",
                        "Check a pattern, and whether four ranks can divide the model"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        ValidateOptions options = options(line);
        Optional<WholeFile> html = line.output("html");
        try (ModelView view = Opening.reported(line, out)) {
            Validation validation = Validator.validate(view, options);
            ExitCode exit = ExitCode.answer(validation.valid());
            ValidationReport report = new ValidationReport(validation);
            if (line.has("json")) {
                out.json(name(), exit.status(), report::write);
            } else {
                out.line(Opening.describe(view));
                report.print(out);
            }
            if (html.isPresent()) {
                String footer = Version.TOOL + " " + Version.current();
                HtmlReport.write(ValidateReport.of(view, validation, footer), html.get());
            }
            return exit;
        }
    }

    private static ValidateOptions options(Arguments line) throws UsageException, IOException {
        ValidateOptions usual = ValidateOptions.defaults();
        Optional<Path> script = line.file("launch");
        if (line.has("env") && script.isEmpty()) {
            throw new UsageException("--env sets variables of a launch script; give --launch FILE");
        }
        OptionalInt workers = line.number("workers", 1);
        return new ValidateOptions(
                line.value("pattern"),
                script.isPresent() ? Optional.of(LaunchScript.read(script.get(), variables(line))) : Optional.empty(),
                line.number("tp", 1),
                line.number("pp", 1),
                line.has("no-values") ? ValidateOptions.Values.SKIP : ValidateOptions.Values.READ,
                line.has("optimizer") ? ValidateOptions.Optimizer.WANTED : ValidateOptions.Optimizer.NOT_NEEDED,
                workers.orElse(usual.workers()));
    }

    private static Map<String, String> variables(Arguments line) throws UsageException {
        Map<String, String> variables = new LinkedHashMap<>();
        for (String assignment : line.values("env")) {
            int at = assignment.indexOf('=');
            if (at <= 0) {
                throw Arguments.wrong("env", assignment, "NAME=VALUE");
            }
            variables.put(assignment.substring(0, at), assignment.substring(at + 1));
        }
        return variables;
    }
}
