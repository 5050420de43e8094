package dev.shardsmith.cli;

import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith inspect CKPT}: what is in a checkpoint. */
final class InspectCommand implements Command {
    @Override
    public String name() {
        return "inspect";
    }

    @Override
    public String summary() {
        return "show what is in a checkpoint";
    }

    @Override
    public String description() {
        return "Shows what a checkpoint is: layout, parallel sizes, layer pattern, sizes, tensors, and everything else that "
                + "was saved. No tensor data is read unless --stats asks for it.";
    }

    @Override
    public List<String> operands() {
        return List.of("CKPT");
    }

    @Override
    public Options options() {
        Options options = Flags.of(
                Flags.optional("tensors", "GLOB", "list the tensors whose names match, or all"),
                Flags.optional(
                        "objects", "PATH", "list what is no tensor, from this path on, such as args.hidden_size"),
                Flags.flag("stats", "read the tensors and show minimum, maximum, mean, zeros and more"),
                Flags.value("iteration", "N", "iteration to take instead of the one that the tracker names"),
                Flags.value("workers", "N", "threads for --stats; as many as processors if not given"),
                Flags.json());
        Opening.FLAGS.forEach(options::addOption);
        return options;
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith inspect samples/hybrid-tp2-pp2", "See what a checkpoint is"),
                new Example("shardsmith inspect samples/hybrid-tp2-pp2 --tensors '*.mixer.*'", "List tensors by name"),
                new Example(
                        "shardsmith inspect samples/hybrid-tp2-pp2 --objects args.num_layers", "Look up an argument"),
                new Example("shardsmith inspect samples/hybrid-tp2-pp2 --stats", "Look for NaN and dead weights"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        Optional<Glob> names = line.value("tensors").map(Glob::of);
        int workers = line.number("workers", 1).orElse(Runtime.getRuntime().availableProcessors());
        try (ModelView view = Opening.open(line.path(0), line, out)) {
            List<LogicalTensor> tensors = view.tensors().values().stream()
                    .filter(tensor ->
                            names.map(glob -> glob.matches(tensor.name())).orElse(true))
                    .toList();
            Optional<ModelStatistics> statistics =
                    line.has("stats") ? Optional.of(ModelStatistics.of(tensors, workers, out)) : Optional.empty();
            statistics.ifPresent(found -> found.warnings().forEach(out::warn));
            Optional<List<ObjectTree.Entry>> objects = line.has("objects")
                    ? Optional.of(
                            ObjectTree.of(view.state(), line.value("objects").orElse("")))
                    : Optional.empty();
            CheckpointSummary summary = CheckpointSummary.of(view);
            if (line.has("json")) {
                InspectJson document = new InspectJson(view, summary, tensors, statistics, objects);
                out.json(name(), ExitCode.OK.status(), document);
            } else {
                InspectText text = new InspectText(out, view, summary);
                text.summary();
                if (line.has("tensors") && statistics.isEmpty()) {
                    text.tensors(tensors);
                }
                statistics.ifPresent(found -> text.statistics(tensors, found));
                objects.ifPresent(text::objects);
            }
            return ExitCode.OK;
        }
    }
}
