package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.ExecutionReport;
import dev.shardsmith.reshard.execute.TargetPaths;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.family.CheckpointModels;
import dev.shardsmith.verify.forward.Timeline;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;

/** {@code shardsmith convert SRC DST}: another layout, other parallel sizes, the same model. */
final class ConvertCommand implements Command {
    private static final List<String> VERIFICATIONS = List.of("none", "read-back", "forward");

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
        Execution.WRITING.forEach(options::addOption);
        options.addOption(Execution.DAMAGED);
        options.addOption(Flags.value(
                "verify",
                "none|read-back|forward",
                "read-back compares what was written before it is published; forward runs the layers of both "
                        + "checkpoints afterwards, as the verify command does"));
        options.addOption(Device.FLAG);
        Flags.report().getOptions().forEach(options::addOption);
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
        requireOutside(line.path(0), destination);
        Optional<Path> planFile = line.file("plan");
        if (planFile.isPresent()) {
            try (FilePool pool = new FilePool()) {
                requireNothingToPlan(line);
                Plan plan = PlanCodec.read(planFile.get(), pool);
                requireFrom(line.path(0), plan);
                return carryOut(plan, destination, options.withSourceCheck(pool::verifyUnchanged), line, out);
            }
        }
        try (ModelView source = Opening.source(line, out)) {
            Plan plan = ConversionFlags.plan(source, line, out);
            ExecutionOptions checked = options.withSourceCheck(source.files()::verifyUnchanged);
            return carryOut(plan, destination, checked, line, out);
        }
    }

    /** A plan has settled what the planning options would say. */
    private static void requireNothingToPlan(Arguments line) throws UsageException {
        for (Option option : ConversionFlags.ALL) {
            if (line.has(option.getLongOpt())) {
                throw new UsageException("--plan has settled --" + option.getLongOpt() + ": make another plan for it");
            }
        }
    }

    /** A plan names its source files; they must be those of SRC. */
    private static void requireFrom(Path source, Plan plan) throws IOException {
        Path given = TargetPaths.real(source);
        for (Path file : plan.sourceFiles()) {
            if (!TargetPaths.real(file).startsWith(given)) {
                throw CheckpointException.of(
                                CheckpointException.Kind.REFUSED,
                                given.toString(),
                                "the plan was made for another source: it reads " + file)
                        .withHint("name the checkpoint that the plan was made for, or make another plan");
            }
        }
    }

    /** Nothing is ever written into the source. */
    private static void requireOutside(Path source, Path destination) throws IOException {
        Path from = TargetPaths.real(source);
        Path to = TargetPaths.real(destination);
        if (to.startsWith(from) && !to.equals(from)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED, to.toString(), "the destination lies inside the source " + from);
        }
    }

    private static ExecutionOptions options(Arguments line) throws UsageException, IOException {
        ExecutionOptions options = Execution.read(line, System.getenv());
        return switch (line.choice("verify", "none", VERIFICATIONS)) {
            case "read-back" -> options.with(ExecutionOptions.ReadBackMode.COMPARE);
            default -> options;
        };
    }

    private ExitCode carryOut(Plan plan, Path destination, ExecutionOptions options, Arguments line, Out out)
            throws UsageException, IOException {
        PlanReport report = new PlanReport(plan);
        if (line.has("dry-run")) {
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), report::write);
            } else {
                report.print(out);
                report.printUneven(out);
                out.field(
                        "memory",
                        "%s of buffers for %d workers".formatted(ByteSize.format(options.memory()), options.workers()));
            }
            return ExitCode.OK;
        }
        ExecutionReport done = Writing.execute(plan, destination, options, out);
        Optional<EquivalenceReport> proof = proof(destination, line, out);
        ExitCode exit = proof.map(EquivalenceReport::exit).orElse(ExitCode.OK);
        if (line.has("json")) {
            out.json(name(), exit.status(), json -> {
                report.write(json);
                write(json, destination, done);
                if (proof.isPresent()) {
                    json.writeObjectFieldStart("verification");
                    proof.get().write(json);
                    json.writeEndObject();
                }
            });
        } else {
            report.print(out);
            Writing.print(out, destination, done);
            proof.ifPresent(found -> found.print(out));
        }
        return exit;
    }

    /** The layers of both checkpoints, run as the training framework would run their shards. */
    private static Optional<EquivalenceReport> proof(Path destination, Arguments line, Out out)
            throws UsageException, IOException {
        if (!line.choice("verify", "none", VERIFICATIONS).equals("forward")) {
            return Optional.empty();
        }
        try (ModelView source = Opening.open(line.path(0), line, out);
                ModelView written = Checkpoints.open(destination, OpenOptions.defaults())) {
            return Optional.of(EquivalenceReport.of(
                    CheckpointModels.of(source, Map.of()),
                    CheckpointModels.of(written, Map.of()),
                    CheckOptions.DEFAULT,
                    new Timeline(),
                    false,
                    line));
        }
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
