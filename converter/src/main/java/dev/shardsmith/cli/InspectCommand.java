package dev.shardsmith.cli;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.placement.PlacementReport;
import dev.shardsmith.reshard.placement.PlacementRequest;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.StateTree;
import dev.shardsmith.verify.inspect.Holders;
import dev.shardsmith.verify.inspect.Inspection;
import dev.shardsmith.verify.inspect.TensorSurvey;
import dev.shardsmith.verify.report.HtmlReport;
import dev.shardsmith.verify.report.InspectReport;
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
        return Flags.htmlReport(
                Flags.optional(
                        "tensors",
                        "GLOB",
                        "list the tensors whose names match, or all, and which rank holds which part of them"),
                Flags.optional(
                        "objects", "PATH", "list what is no tensor, from this path on, such as args.hidden_size"),
                Flags.flag("stats", "read the tensors and show minimum, maximum, mean, zeros and more"),
                Flags.value(
                        "placement",
                        "tp=4,pp=2,dp=8",
                        "show what each rank of a training job of these sizes would hold; also vpp, ep, etp, cp and "
                                + "memory, the GiB of one GPU"),
                Flags.workers("threads for --stats"));
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith inspect samples/hybrid-tp2-pp2", "See what a checkpoint is"),
                new Example("shardsmith inspect samples/hybrid-tp2-pp2 --tensors '*.mixer.*'", "List tensors by name"),
                new Example(
                        "shardsmith inspect samples/hybrid-tp2-pp2 --objects args.num_layers", "Look up an argument"),
                new Example("shardsmith inspect samples/hybrid-tp2-pp2 --stats", "Look for NaN and dead weights"),
                new Example(
                        "shardsmith inspect samples/hybrid-tp2-pp2 --placement tp=2,pp=2,dp=8",
                        "See what each rank of a training job would hold"),
                new Example(
                        "shardsmith inspect samples/hybrid-tp2-pp2 --stats --html /tmp/inspect.html",
                        "Look at the weights of each layer in a browser"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        Optional<Glob> names = line.value("tensors").map(Glob::of);
        Optional<WholeFile> html = line.output("html");
        int workers = line.workers();
        try (ModelView view =
                line.has("stats") ? Opening.whole(line.path(0), line, out) : Opening.open(line.path(0), line, out)) {
            Inspection inspection = Inspection.of(view);
            List<LogicalTensor> tensors = names.isEmpty()
                    ? inspection.tensors()
                    : inspection.tensors().stream()
                            .filter(tensor -> names.get().matches(tensor.name()))
                            .toList();
            if (tensors.isEmpty()) {
                UnmatchedNames.warn(
                        out, "tensors", line.value("tensors").stream().toList(), List.of());
            }
            Optional<List<TensorSurvey>> surveys =
                    line.has("stats") ? Optional.of(Surveys.of(tensors, workers, out)) : Optional.empty();
            surveys.ifPresent(found -> Surveys.warnings(found).forEach(out::warn));
            Optional<List<ObjectTree.Entry>> objects = line.has("objects")
                    ? Optional.of(ObjectTree.of(view, line.value("objects").orElse("")))
                    : Optional.empty();
            Optional<PlacementText> placement = line.has("placement")
                    ? Optional.of(new PlacementText(
                            PlacementReport.of(view, PlacementRequest.parse(line.required("placement")))))
                    : Optional.empty();
            CheckpointSummary summary = CheckpointSummary.of(view);
            if (html.isPresent()) {
                List<TensorSurvey> read = surveys.orElse(List.of());
                List<StateTree.Leaf> state = ObjectTree.leaves(view);
                long wasted = summary.wastedBytes();
                HtmlReport.write(InspectReport.of(inspection, read, wasted, state, Version.line()), html.get());
            }
            if (line.has("json")) {
                // A distributed checkpoint's chunks are archives of their own, which are opened for --tensors only.
                boolean divided = view.ranks().size() > 1 || line.has("tensors");
                Optional<Holders> holders = divided ? Optional.of(Holders.of(view)) : Optional.empty();
                InspectJson document = new InspectJson(view, summary, tensors, surveys, objects, holders);
                out.json(name(), ExitCode.OK.status(), json -> {
                    document.write(json);
                    if (placement.isPresent()) {
                        placement.get().write(json);
                    }
                });
            } else {
                InspectText text = new InspectText(out, view, summary);
                text.summary();
                if (line.has("tensors") && surveys.isEmpty()) {
                    text.tensors(tensors, Holders.of(view));
                }
                surveys.ifPresent(text::statistics);
                objects.ifPresent(text::objects);
                placement.ifPresent(found -> found.print(out));
            }
            return ExitCode.OK;
        }
    }
}
