package dev.shardsmith.reshard.pattern;

import static dev.shardsmith.reshard.pattern.ArgumentRemark.Severity.ERROR;
import static dev.shardsmith.reshard.pattern.ArgumentRemark.Severity.WARNING;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentRemark.Severity;
import dev.shardsmith.reshard.pattern.PatternArguments.Source;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;

/** What the training framework checks, or silently changes, when it starts with a pattern. */
final class PatternArgumentRules {
    /** Fields that describe a pipeline in another way and may not be set beside a pattern. */
    private static final List<String> OTHER_LAYOUTS = List.of(
            "num_layers_per_virtual_pipeline_stage",
            "num_virtual_stages_per_pipeline_rank",
            "pipeline_model_parallel_layout");

    private final ArgumentValues args;
    private final Source source;
    private final HybridPattern pattern;
    private final List<ArgumentRemark> remarks;

    PatternArgumentRules(ArgumentValues args, Source source, HybridPattern pattern, List<ArgumentRemark> remarks) {
        this.args = args;
        this.source = source;
        this.pattern = pattern;
        this.remarks = remarks;
    }

    void check() throws CheckpointException {
        layerCount();
        predictionDepths();
        otherLayouts();
        latentAttention();
    }

    /** A run overwrites its own layer count from the pattern, but compares it with the count in a checkpoint. */
    private void layerCount() throws CheckpointException {
        OptionalInt given = args.integer("num_layers");
        if (given.isPresent() && given.getAsInt() != pattern.layerCount()) {
            String message = "num_layers is %d, but the pattern %s has %d layers"
                    .formatted(given.getAsInt(), PatternProblem.shown(pattern.text()), pattern.layerCount());
            add(source == Source.SAVED ? ERROR : WARNING, "num_layers", message, "num_layers " + pattern.layerCount());
        }
    }

    private void predictionDepths() throws CheckpointException {
        OptionalInt given = args.integer("mtp_num_layers");
        if (pattern.mtpDepths() > 0 && given.isPresent() && given.getAsInt() != pattern.mtpDepths()) {
            String message = "mtp_num_layers is %d, but the pattern has %d prediction parts; the pattern counts"
                    .formatted(given.getAsInt(), pattern.mtpDepths());
            add(WARNING, "mtp_num_layers", message, "mtp_num_layers " + pattern.mtpDepths());
        }
        // An absent field means the default on a command line, and an old release in a checkpoint.
        String absent = source == Source.COMMAND_LINE ? "learned_absolute" : "none";
        String positions = args.text("position_embedding_type").orElse(absent);
        boolean predicts = pattern.mtpDepths() > 0 || given.orElse(0) > 0;
        if (predicts && !positions.equals("rope") && !positions.equals("none")) {
            add(
                    ERROR,
                    "position_embedding_type",
                    "multi-token prediction does not work with position embeddings of type " + positions,
                    "--position-embedding-type rope or none, as the model was trained");
        }
    }

    private void otherLayouts() throws CheckpointException {
        for (String field : OTHER_LAYOUTS) {
            if (args.has(field)) {
                add(
                        source == Source.COMMAND_LINE ? ERROR : WARNING,
                        field,
                        field + " describes the stages in another way than the pattern does",
                        "remove it and put | where each stage ends");
            }
        }
        for (String field : List.of("account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")) {
            if (args.flag(field)) {
                add(
                        source == Source.COMMAND_LINE ? ERROR : WARNING,
                        field,
                        field + " has no meaning for a hybrid model",
                        "remove it");
            }
        }
    }

    private void latentAttention() throws CheckpointException {
        boolean saysNo = args.has("multi_latent_attention") && !args.flag("multi_latent_attention");
        if (pattern.isLatent() && saysNo) {
            add(
                    WARNING,
                    "multi_latent_attention",
                    "the pattern has latent attention (+, D), but multi_latent_attention is off; the pattern counts",
                    "");
        }
    }

    private void add(Severity severity, String field, String message, String fix) {
        remarks.add(new ArgumentRemark(severity, field, message, fix));
    }

    /** The stages that the arguments describe; what is wrong with them becomes a remark. */
    static Optional<StageLayout> layout(ArgumentValues args, HybridPattern pattern, List<ArgumentRemark> remarks)
            throws CheckpointException {
        int ppSize = args.integer("pipeline_model_parallel_size").orElse(1);
        EdgeStages edges = new EdgeStages(
                args.integer("decoder_first_pipeline_num_layers"), args.integer("decoder_last_pipeline_num_layers"));
        try {
            // The run derives its virtual stages from the pipes; what the field says is not asked.
            StageLayout layout = StageLayout.ofOrFault(pattern, ppSize, OptionalInt.empty(), edges);
            for (StageRemark remark : layout.remarks()) {
                Severity severity = remark.severity() == StageRemark.Severity.ERROR ? ERROR : WARNING;
                remarks.add(new ArgumentRemark(severity, "pipeline_model_parallel_size", remark.message(), ""));
            }
            OptionalInt virtual = args.integer("virtual_pipeline_model_parallel_size");
            if (virtual.isPresent() && virtual.getAsInt() != layout.vpSize()) {
                remarks.add(new ArgumentRemark(
                        WARNING,
                        "virtual_pipeline_model_parallel_size",
                        "virtual_pipeline_model_parallel_size is %d, but the pattern makes %d virtual stages"
                                .formatted(virtual.getAsInt(), layout.vpSize()),
                        ""));
            }
            return Optional.of(layout);
        } catch (PatternFault fault) {
            PatternProblem problem = fault.problem();
            remarks.add(new ArgumentRemark(ERROR, "pipeline_model_parallel_size", problem.message(), problem.fix()));
            return Optional.empty();
        }
    }
}
