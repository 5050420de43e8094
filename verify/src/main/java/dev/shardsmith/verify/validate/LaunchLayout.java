package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.verify.launch.LaunchOption;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.validate.LaunchRow.Verdict;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Parallel sizes, processes, and what a run wants to load besides the model. */
final class LaunchLayout {
    private final LaunchScript script;
    private final LaunchArguments launch;
    private final WeightModel model;
    private final Map<String, Fact> facts;
    private final ModelView view;
    private final Findings findings;
    private final List<LaunchRow> rows;

    LaunchLayout(
            LaunchScript script,
            LaunchArguments launch,
            WeightModel model,
            Map<String, Fact> facts,
            ModelView view,
            Findings findings,
            List<LaunchRow> rows) {
        this.script = script;
        this.launch = launch;
        this.model = model;
        this.facts = facts;
        this.view = view;
        this.findings = findings;
        this.rows = rows;
    }

    void check(ModelArguments effective) throws CheckpointException {
        ArgumentValues args = launch.values();
        if (view.layout() != Layout.MEGATRON && view.layout() != Layout.TORCH_DIST) {
            findings.error(
                    "launch.layout",
                    script.name(),
                    "the checkpoint lies in the layout %s, which a training run cannot load"
                            .formatted(view.layout().id()),
                    "shardsmith convert --to torch_dist");
        }
        OptionalInt tensor = args.integer("tensor_model_parallel_size");
        OptionalInt pipeline = args.integer("pipeline_model_parallel_size");
        size("tensor_model_parallel_size", tensor, view.parallelism().tensor(), "--tp");
        size("pipeline_model_parallel_size", pipeline, view.parallelism().pipeline(), "--pp");
        size(
                "expert_model_parallel_size",
                args.integer("expert_model_parallel_size"),
                view.parallelism().expert(),
                "--ep");
        TargetCheck target = new TargetCheck(model, facts, effective, findings);
        if (tensor.orElse(1) > 1) {
            target.tensor(tensor.getAsInt());
        }
        if (pipeline.orElse(1) > 1) {
            target.pipeline(pipeline.getAsInt(), model.pattern());
        }
        processes(args, tensor.orElse(1), pipeline.orElse(1));
        vocabulary(args, tensor.orElse(1));
        load(args);
    }

    private void size(String field, OptionalInt wanted, int found, String convert) {
        String option = MegatronOption.ofField(field).orElseThrow().option();
        Optional<LaunchOption> given = launch.option(field);
        if (wanted.isEmpty()) {
            rows.add(new LaunchRow(
                    option,
                    given.map(LaunchOption::line).orElse(0),
                    launch.shown(field),
                    Integer.toString(found),
                    Verdict.UNKNOWN,
                    "depends on a variable that the script does not set"));
            return;
        }
        boolean same = wanted.getAsInt() == found;
        boolean reshards = view.layout() == Layout.TORCH_DIST;
        Verdict verdict = same || reshards ? Verdict.FITS : Verdict.FAILS;
        String fix = "shardsmith convert %s %d, or %s %d".formatted(convert, wanted.getAsInt(), option, found);
        if (given.isPresent() || verdict != Verdict.FITS) {
            rows.add(new LaunchRow(
                    option,
                    given.map(LaunchOption::line).orElse(0),
                    Integer.toString(wanted.getAsInt()),
                    reshards ? "any" : Integer.toString(found),
                    verdict,
                    verdict == Verdict.FAILS ? fix : ""));
        }
        if (verdict == Verdict.FAILS) {
            findings.error(
                    "launch.size",
                    given.map(each -> script.name() + ":" + each.line() + ", " + each.name())
                            .orElse(script.name()),
                    "%s is %d, but the files are of %d".formatted(field, wanted.getAsInt(), found),
                    fix);
        }
    }

    private void processes(ArgumentValues args, int tensor, int pipeline) throws CheckpointException {
        int context = args.integer("context_parallel_size").orElse(1);
        long model = Math.max(1, (long) tensor * pipeline * context);
        if (script.processes().isPresent() && script.processes().getAsLong() % model != 0) {
            findings.error(
                    "launch.processes",
                    script.name(),
                    "%d processes do not divide by TP %d x PP %d x CP %d"
                            .formatted(script.processes().getAsLong(), tensor, pipeline, context),
                    "start a multiple of " + model + " processes");
        }
    }

    /** The rows that the run gives its embedding: the vocabulary, rounded up for the tensor-parallel size. */
    private void vocabulary(ArgumentValues args, int tensor) throws CheckpointException {
        OptionalInt size = args.integer("vocab_size");
        Fact rows = facts.get("padded_vocab_size");
        if (size.isEmpty() || rows == null || tensor < 1) {
            return;
        }
        int divisor = args.integer("make_vocab_size_divisible_by").orElse(128);
        long unit = Math.max(1, (long) divisor * tensor);
        long padded = (size.getAsInt() + unit - 1) / unit * unit;
        if (!Long.toString(padded).equals(rows.value())) {
            String message =
                    "a vocabulary of %d is padded to %d (a multiple of %d x TP %d), but the embedding has %s rows"
                            .formatted(size.getAsInt(), padded, divisor, tensor, rows.value());
            String fix = "convert --pad-vocab-to " + padded;
            if (view.layout() == Layout.MEGATRON) {
                findings.error("launch.vocabulary", script.name(), message, fix);
            } else {
                findings.warning("launch.vocabulary", script.name(), message, fix);
            }
        }
    }

    private void load(ArgumentValues args) throws CheckpointException {
        boolean loads = launch.option("load").isPresent()
                || launch.option("pretrained_checkpoint").isPresent();
        if (!loads) {
            findings.warning(
                    "launch.load", script.name(), "no option --load: the run starts from random weights", "--load DIR");
        }
        boolean released = view.iterationFolder().filter("release"::equals).isPresent();
        if (view.layout() != Layout.MEGATRON
                || released
                || args.flag("finetune")
                || view.state().entries().isEmpty()) {
            return;
        }
        state(args, "rng_state", "no random number state", "no_load_rng", "--no-load-rng");
        state(args, "optimizer", "no optimizer state", "no_load_optim", "--no-load-optim");
    }

    private void state(ArgumentValues args, String entry, String what, String field, String option)
            throws CheckpointException {
        boolean there = view.state().entries().containsKey(entry);
        if (!there && !args.flag(field)) {
            findings.error(
                    "launch.state",
                    script.name(),
                    "the checkpoint has %s, and the run stops without it".formatted(what),
                    "add " + option + " or --finetune");
        }
    }
}
