package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.ExecutionReport;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith convert SRC DST}: another layout, other parallel sizes, the same model. */
final class ConvertCommand implements Command {
    @Override
    public String name() {
        return "convert";
    }

    @Override
    public String summary() {
        return "write a checkpoint with another layout or other parallel sizes";
    }

    @Override
    public String description() {
        return "Writes the model of SRC to DST with another layout, other tensor- or pipeline-parallel sizes or another "
                + "element type. What no option names stays as it is. The plan is proven complete before a byte is "
                + "written, memory does not depend on the size of the model, and DST appears complete or not at all.";
    }

    @Override
    public List<String> operands() {
        return List.of("SRC", "DST");
    }

    @Override
    public Options options() {
        Options options = new Options();
        ConversionFlags.ALL.forEach(options::addOption);
        options.addOption(Flags.flag("dry-run", "print the plan and write nothing"));
        options.addOption(Flags.value("plan", "FILE", "carry out this plan, made by the plan command"));
        Execution.FLAGS.forEach(options::addOption);
        options.addOption(
                Flags.value("verify", "none|read-back", "read-back compares what was written before it is published"));
        options.addOption(Flags.json());
        Opening.FLAGS.forEach(options::addOption);
        return options;
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example(
                        "shardsmith convert samples/hybrid-tp2-pp2 /tmp/tp1 --tp 1 --pp 1", "Merge all ranks into one"),
                new Example(
                        "shardsmith convert samples/hybrid-tp2-pp2 /tmp/tp4 --tp 4 --pp 1 --dry-run",
                        "See what a conversion would do"),
                new Example(
                        "shardsmith convert /tmp/tp1 /tmp/pp2 --tp 1 --pp-layers 3,1 --pp 2 --verify read-back",
                        "Divide the layers unevenly, and read the result again"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        Path destination = line.path(1);
        ExecutionOptions options = options(line);
        Optional<Path> planFile = line.file("plan");
        if (planFile.isPresent()) {
            try (FilePool pool = new FilePool()) {
                Plan plan = PlanCodec.read(planFile.get(), pool);
                return carryOut(plan, destination, options.withSourceCheck(pool::verifyUnchanged), line, out);
            }
        }
        requireOutside(line.path(0), destination);
        try (ModelView source = Opening.open(line.path(0), line, out)) {
            Plan plan = Conversion.plan(source, ConversionFlags.read(line));
            ExecutionOptions checked = options.withSourceCheck(source.files()::verifyUnchanged);
            return carryOut(plan, destination, checked, line, out);
        }
    }

    /** Nothing is ever written into the source. */
    private static void requireOutside(Path source, Path destination) throws CheckpointException {
        Path from = source.toAbsolutePath().normalize();
        Path to = destination.toAbsolutePath().normalize();
        if (to.startsWith(from) && !to.equals(from)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED, to.toString(), "the destination lies inside the source " + from);
        }
    }

    private static ExecutionOptions options(Arguments line) throws UsageException, IOException {
        ExecutionOptions options = Execution.read(line, System.getenv());
        return switch (line.choice("verify", "none", List.of("none", "read-back"))) {
            case "read-back" -> options.with(ExecutionOptions.ReadBackMode.COMPARE);
            default -> options;
        };
    }

    private ExitCode carryOut(Plan plan, Path destination, ExecutionOptions options, Arguments line, Out out)
            throws IOException {
        PlanReport report = new PlanReport(plan);
        if (line.has("dry-run")) {
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), report::write);
            } else {
                report.print(out);
                out.line("%-10s %s of buffers for %d workers"
                        .formatted("memory", ByteSize.format(options.memory()), options.workers()));
            }
            return ExitCode.OK;
        }
        ExecutionReport done = Writing.execute(plan, destination, options, out);
        if (line.has("json")) {
            out.json(name(), ExitCode.OK.status(), json -> {
                report.write(json);
                write(json, destination, done);
            });
        } else {
            report.print(out);
            Writing.print(out, destination, done);
        }
        return ExitCode.OK;
    }

    private static void write(JsonGenerator json, Path destination, ExecutionReport done) throws IOException {
        json.writeStringField("output", destination.toString());
        json.writeStringField(
                "outcome", done.outcome().name().toLowerCase(Locale.ROOT).replace('_', '-'));
        json.writeNumberField("seconds", done.seconds());
        json.writeNumberField("bytesRead", done.bytesRead());
        json.writeNumberField("bytesWritten", done.bytesWritten());
        json.writeNumberField("bytesResumed", done.bytesResumed());
        counts(json, "overflows", done.overflows());
        counts(json, "replicaMismatches", done.mismatches());
    }

    private static void counts(JsonGenerator json, String field, Map<String, Long> counts) throws IOException {
        json.writeObjectFieldStart(field);
        for (Map.Entry<String, Long> count : counts.entrySet()) {
            json.writeNumberField(count.getKey(), count.getValue());
        }
        json.writeEndObject();
    }
}
