package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.family.CheckpointModels;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.Timeline;
import dev.shardsmith.verify.report.HtmlReport;
import dev.shardsmith.verify.report.TimelinePicture;
import java.io.IOException;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.IntPredicate;
import org.apache.commons.cli.Options;

/** {@code shardsmith verify A B}: whether two checkpoints compute the same, layer by layer. */
final class VerifyCommand implements Command {
    private static final int MOST_LAYERS = 1_000_000;

    @Override
    public String name() {
        return "verify";
    }

    @Override
    public String summary() {
        return "prove by forward passes that two checkpoints compute the same";
    }

    @Override
    public String description() {
        return "Runs every layer of both checkpoints on the same seeded input, each as its own training framework would run "
                + "its own shards, and compares the results: a few tokens in double precision, then all of them. What "
                + "rounding explains is allowed, and no more; a cast must be exact. Where layers differ, known mistakes are "
                + "tried, and the one that explains the difference is named. Exits with 1 if the checkpoints are not "
                + "equivalent, and with 3 if nothing differs but there are parts for which no forward pass is known, or "
                + "whose results prove nothing.";
    }

    @Override
    public List<String> operands() {
        return List.of("A", "B");
    }

    @Override
    public Options options() {
        return Flags.htmlReport(
                Flags.value("layers", "LIST", "layers to compare, such as 0,4-7; all if not given"),
                Flags.value("seq-len", "L", "tokens of each sequence; 128 if not given"),
                Flags.value("batch", "B", "sequences; 1 if not given"),
                Flags.value("seed", "S", "seed of the input; 0 if not given"),
                Flags.value(
                        "input", "FILE.npy", "input of every layer, [batch, length, width], instead of a random one"),
                Flags.flag("logits", "also run both whole models on random tokens and compare their predictions"),
                Device.FLAG,
                Flags.value(
                        "timeline",
                        "FILE.svg",
                        "draw when each layer was read and computed, and report how the time went"));
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith verify samples/hybrid-tp2-pp2 /tmp/tp1", "Prove that a conversion is right"),
                new Example(
                        "shardsmith verify samples/hybrid-tp2-pp2 /tmp/tp1 --layers 0,2-3 --seq-len 64 --json",
                        "Compare some layers, for a script"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        CheckOptions options = options(line);
        Optional<WholeFile> picture = line.output("timeline");
        Timeline timeline = new Timeline();
        Optional<WholeFile> html = line.output("html");
        try (ModelView left = Opening.open(line.path(0), line, out);
                ModelView right = Opening.open(line.path(1), line, out)) {
            LayeredModel leftModel = CheckpointModels.of(left, Map.of());
            LayeredModel rightModel = CheckpointModels.of(right, Map.of());
            checkLayers(line, options, leftModel);
            checkInput(options, leftModel);
            EquivalenceReport printed =
                    EquivalenceReport.of(leftModel, rightModel, options, timeline, line.has("logits"), line);
            ExitCode exit = printed.exit();
            Optional<TimelineReport> times = picture.map(file -> new TimelineReport(timeline));
            if (picture.isPresent()) {
                TimelinePicture.write(timeline, picture.get());
            }
            if (line.has("json")) {
                out.json(name(), exit.status(), json -> {
                    printed.write(json);
                    if (times.isPresent()) {
                        times.get().write(json);
                    }
                });
            } else {
                out.line("A  " + Opening.describe(left));
                out.line("B  " + Opening.describe(right));
                printed.print(out);
                times.ifPresent(found -> found.print(out));
            }
            if (html.isPresent()) {
                HtmlReport.write(printed.document(Opening.describe(left), Opening.describe(right)), html.get());
            }
            return exit;
        }
    }

    private static void checkLayers(Arguments line, CheckOptions options, LayeredModel model) throws UsageException {
        Optional<String> list = line.value("layers");
        if (list.isPresent()
                && model.blocks().stream().noneMatch(block -> options.layers().test(block.layer()))) {
            throw Arguments.wrong(
                    "layers",
                    list.get(),
                    "layers of the model, which has " + model.blocks().size());
        }
    }

    private static void checkInput(CheckOptions options, LayeredModel model) throws CheckpointException {
        long needed = (long) options.batch() * options.length() * model.width();
        if (options.input().isPresent() && options.input().get().length != needed) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    "--input",
                    "the input has %d numbers, but [%d, %d, %d] are needed"
                            .formatted(options.input().get().length, options.batch(), options.length(), model.width()));
        }
    }

    private static CheckOptions options(Arguments line) throws UsageException, IOException {
        int batch = line.number("batch", 1).orElse(1);
        int length = line.number("seq-len", 1).orElse(CheckOptions.DEFAULT_LENGTH);
        Optional<float[]> input = Optional.empty();
        Optional<Path> file = line.file("input");
        if (file.isPresent()) {
            NpyFile given = NpyFile.read(file.get());
            if (given.shape().length != 3) {
                throw Arguments.wrong("input", file.get().toString(), "an array of [batch, length, width]");
            }
            batch = given.shape()[0];
            length = given.shape()[1];
            input = Optional.of(given.floats());
        }
        return new CheckOptions(
                batch, length, line.longNumber("seed", Long.MIN_VALUE).orElse(0), layers(line.value("layers")), input);
    }

    /** The predicate of {@code 0,4-7}. */
    static IntPredicate layers(Optional<String> list) throws UsageException {
        if (list.isEmpty()) {
            return layer -> true;
        }
        BitSet wanted = new BitSet();
        for (String part : list.get().split(",", -1)) {
            String[] ends = part.strip().split("-", -1);
            try {
                int first = Integer.parseInt(ends[0]);
                int last = Integer.parseInt(ends[ends.length - 1]);
                if (ends.length <= 2 && first >= 0 && first <= last && last < MOST_LAYERS) {
                    wanted.set(first, last + 1);
                    continue;
                }
            } catch (NumberFormatException notANumber) {
                // Said below, as for a range of another form.
            }
            throw Arguments.wrong("layers", list.get(), "layer numbers and ranges such as 0,4-7");
        }
        return wanted::get;
    }
}
