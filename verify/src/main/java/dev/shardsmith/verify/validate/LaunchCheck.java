package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.launch.LaunchOption;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.launch.ScriptRemark;
import dev.shardsmith.verify.validate.LaunchRow.Verdict;
import dev.shardsmith.verify.validate.WidthRelations.Violation;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Says, option by option, whether a checkpoint loads with a launch script's options, before anything is started. */
final class LaunchCheck {
    /** A run compares these with the saved arguments and stops where they differ. */
    private static final Set<String> COMPARED =
            Set.of("num_layers", "hidden_size", "num_attention_heads", "add_position_embedding", "gdp_num_householder");
    /** Compared only if the run has a vocabulary file. */
    private static final Set<String> COMPARED_WITH_VOCABULARY =
            Set.of("max_position_embeddings", "make_vocab_size_divisible_by", "tokenizer_type");
    /** The weights load in any case, but the model computes something else. */
    private static final Set<String> BEHAVIOUR = Set.of(
            "position_embedding_type",
            "rotary_base",
            "rotary_percent",
            "rotary_interleaved",
            "norm_epsilon",
            "apply_layernorm_1p",
            "squared_relu",
            "moe_router_topk",
            "moe_router_score_function",
            "attention_output_gate",
            "mamba_state_dim",
            "mamba_num_groups",
            "num_query_groups",
            "kv_channels");
    /** Taken from the checkpoint with {@code --use-checkpoint-args}. */
    private static final Set<String> COPIED = Set.of(
            "num_layers",
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "num_query_groups",
            "group_query_attention",
            "kv_channels",
            "max_position_embeddings",
            "position_embedding_type",
            "add_position_embedding",
            "rotary_base",
            "rotary_percent",
            "rotary_interleaved",
            "add_bias_linear",
            "add_qkv_bias",
            "squared_relu",
            "swiglu",
            "untie_embeddings_and_output_weights",
            "apply_layernorm_1p",
            "normalization",
            "hybrid_layer_pattern",
            "spec",
            "num_experts",
            "moe_ffn_hidden_size",
            "mamba_state_dim",
            "mamba_head_dim",
            "mamba_num_groups",
            "mamba_num_heads",
            "tokenizer_type",
            "tokenizer_model",
            "padded_vocab_size",
            "qk_layernorm");

    private final LaunchScript script;
    private final LaunchArguments launch;
    private final ModelArguments effective;
    private final Optional<ArgumentValues> saved;
    private final Map<String, Fact> facts;
    private final WeightModel model;
    private final ModelView view;
    private final Findings findings;
    private final List<LaunchRow> rows = new ArrayList<>();
    private final boolean copies;

    LaunchCheck(
            LaunchScript script,
            Optional<ArgumentValues> saved,
            Map<String, Fact> facts,
            WeightModel model,
            ModelView view,
            Findings findings)
            throws CheckpointException {
        this.script = script;
        this.launch = new LaunchArguments(script);
        this.effective = new ModelArguments(launch.values());
        this.saved = saved;
        this.facts = facts;
        this.model = model;
        this.view = view;
        this.findings = findings;
        this.copies = launch.values().flag("use_checkpoint_args");
    }

    /** Checks everything; the rows of the options that are given, or whose default does not fit. */
    List<LaunchRow> check() throws CheckpointException {
        script();
        new LaunchPattern(script, launch, model, copies, findings, rows).check();
        Set<String> done = new LinkedHashSet<>(List.of(
                "num_layers",
                "hybrid_layer_pattern",
                "hybrid_override_pattern",
                "hybrid_attention_ratio",
                "hybrid_mlp_ratio",
                "mtp_num_layers",
                "is_hybrid_model",
                "spec",
                "load",
                "tensor_model_parallel_size",
                "pipeline_model_parallel_size",
                "expert_model_parallel_size",
                "moe_grouped_gemm",
                "group_query_attention"));
        for (MegatronOption option : MegatronOption.all()) {
            if (done.add(option.field())) {
                option(option);
            }
        }
        relations();
        new LaunchLayout(script, launch, model, facts, view, findings, rows).check(effective);
        return rows;
    }

    private void script() {
        for (ScriptRemark remark : script.remarks()) {
            findings.warning("launch.script", where(remark.line()), remark.message(), "");
        }
        if (!script.sure()) {
            findings.info(
                    "launch.script",
                    script.name(),
                    "whether this command is run depends on conditions that cannot be decided here");
        }
        for (String name : script.loose()) {
            findings.warning(
                    "launch.unresolved",
                    script.name(),
                    "${%s} is not set in the script; options that it adds are not checked".formatted(name),
                    "");
        }
        Set<String> seen = new LinkedHashSet<>();
        for (LaunchOption option : script.options()) {
            if (seen.add(option.name())) {
                MegatronOption.instead(option.name())
                        .ifPresent(instead -> findings.warning(
                                "launch.outdated",
                                where(option.line()) + ", " + option.name(),
                                "current releases no longer take " + option.name(),
                                "use " + instead));
            }
            boolean lacksValue = option.values().isEmpty()
                    && MegatronOption.of(option.name())
                            .filter(known -> known.kind() == MegatronOption.Kind.ONE)
                            .isPresent();
            if (lacksValue) {
                findings.error(
                        "launch.value",
                        where(option.line()) + ", " + option.name(),
                        option.name() + " needs a value",
                        "join a value that begins with - by =: " + option.name() + "=VALUE");
            }
        }
    }

    private void option(MegatronOption option) throws CheckpointException {
        String field = option.field();
        Fact fact = facts.get(field);
        Optional<String> stored = fact == null ? storedValue(field) : Optional.of(fact.value());
        if (stored.isEmpty()) {
            return;
        }
        if (launch.isUnresolved(field)) {
            row(option, stored.get(), Verdict.UNKNOWN, "depends on a variable that the script does not set");
            findings.warning(
                    "launch.unresolved",
                    where(option),
                    "%s is %s, which the script does not set; the checkpoint has %s"
                            .formatted(option.option(), launch.shown(field), stored.get()),
                    option.giving(stored.get()));
            return;
        }
        String value = effective.value(field).orElse("None");
        if (sameValue(value, stored.get()) || vocabularyUnknown(field, value)) {
            row(option, stored.get(), Verdict.FITS, "");
        } else if (copies && COPIED.contains(field)) {
            row(option, stored.get(), Verdict.OVERRIDDEN, "--use-checkpoint-args takes the checkpoint's value");
        } else if (fact != null) {
            fails(option, value, stored.get(), "the weights say so: " + fact.evidence());
        } else if (COMPARED.contains(field)) {
            fails(option, value, stored.get(), "the run stops where this differs from the saved args");
        } else if (COMPARED_WITH_VOCABULARY.contains(field)) {
            withVocabulary(option, value, stored.get());
        } else if (BEHAVIOUR.contains(field)) {
            row(option, stored.get(), Verdict.CHANGES, "it loads, but the model computes something else");
            findings.error(
                    "launch.behaviour",
                    where(option),
                    "%s is %s, the checkpoint was trained with %s: it loads, but computes something else"
                            .formatted(field, value, stored.get()),
                    option.giving(stored.get()));
        }
    }

    private void withVocabulary(MegatronOption option, String value, String stored) throws CheckpointException {
        if (launch.values().has("vocab_file")) {
            fails(option, value, stored, "with a vocabulary file the run stops where this differs");
        } else {
            row(option, stored, Verdict.CHANGES, "");
            findings.warning(
                    "launch.differs",
                    where(option),
                    "%s is %s, the saved args have %s".formatted(option.field(), value, stored),
                    option.giving(stored));
        }
    }

    private void fails(MegatronOption option, String value, String stored, String reason) {
        row(option, stored, Verdict.FAILS, option.giving(stored));
        findings.error(
                "launch.fails",
                where(option),
                "%s is %s, but the checkpoint has %s (%s)".formatted(option.field(), value, stored, reason),
                option.giving(stored));
    }

    /** What the saved arguments say where the weights say nothing; the derived value, so that defaults compare. */
    private Optional<String> storedValue(String field) throws CheckpointException {
        boolean relevant =
                COMPARED.contains(field) || COMPARED_WITH_VOCABULARY.contains(field) || BEHAVIOUR.contains(field);
        return relevant && saved.isPresent() && saved.get().knows(field)
                ? new ModelArguments(saved.get()).value(field)
                : Optional.empty();
    }

    private void relations() throws CheckpointException {
        if (copies) {
            return;
        }
        for (Violation violation : WidthRelations.violations(model, effective)) {
            boolean unknown = violation.fields().stream().anyMatch(launch::isUnresolved);
            String options = String.join(
                    " and ",
                    violation.fields().stream()
                            .map(field -> MegatronOption.ofField(field)
                                    .map(MegatronOption::option)
                                    .orElse(field))
                            .toList());
            if (!unknown) {
                findings.error(
                        "launch.fails",
                        script.name() + ", " + options,
                        violation.where() + ": " + violation.message(),
                        "");
            }
        }
    }

    /** The rows of the embedding follow from the tokenizer, which is not opened here. */
    private static boolean vocabularyUnknown(String field, String value) {
        return field.equals("padded_vocab_size") && value.equals("None");
    }

    private static boolean sameValue(String a, String b) {
        if (a.equals(b)) {
            return true;
        }
        try {
            return Double.parseDouble(a) == Double.parseDouble(b);
        } catch (NumberFormatException e) {
            return false;
        }
    }

    private void row(MegatronOption option, String stored, Verdict verdict, String note) {
        Optional<LaunchOption> given = launch.option(option.field());
        if (given.isPresent() || verdict != Verdict.FITS) {
            rows.add(new LaunchRow(
                    given.map(LaunchOption::name).orElse(option.option()),
                    given.map(LaunchOption::line).orElse(0),
                    launch.shown(option.field()),
                    stored,
                    verdict,
                    note));
        }
    }

    private String where(MegatronOption option) {
        return launch.option(option.field())
                .map(given -> where(given.line()) + ", " + given.name())
                .orElse(script.name() + ", without " + option.option());
    }

    private String where(int line) {
        return script.name() + ":" + line;
    }
}
