package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentRemark;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import dev.shardsmith.reshard.pattern.PatternArguments;
import dev.shardsmith.verify.validate.Finding.Effect;
import dev.shardsmith.verify.validate.WidthRelations.Violation;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Compares the saved arguments with the weights. */
final class ArgumentCheck {
    /** Without one of these in the checkpoint, a run that loads it stops. */
    private static final List<String> REQUIRED = List.of("num_layers", "hidden_size", "num_attention_heads");
    /** Arguments that older releases did not have; the values of that time are taken. */
    private static final List<String> CONSTANTS = List.of("mamba_state_dim", "mamba_head_dim", "mamba_num_groups");
    /** Facts that do not bind the saved arguments: the program changes them, or they may be set without effect. */
    private static final List<String> LOOSE =
            List.of("mtp_num_layers", "moe_grouped_gemm", "moe_router_enable_expert_bias");

    private final ArgumentValues saved;
    private final Map<String, Fact> facts;
    private final WeightModel model;
    private final Findings findings;

    ArgumentCheck(ArgumentValues saved, Map<String, Fact> facts, WeightModel model, Findings findings) {
        this.saved = saved;
        this.facts = facts;
        this.model = model;
        this.findings = findings;
    }

    void check(Optional<PatternArguments> pattern) throws CheckpointException {
        for (String field : REQUIRED) {
            if (!saved.has(field)) {
                findings.error(
                        "args.missing",
                        "args." + field,
                        "the saved args have no %s, without which no run can load the checkpoint".formatted(field),
                        facts.containsKey(field)
                                ? "--set " + field + "=" + facts.get(field).value()
                                : "",
                        Effect.NONE);
            }
        }
        constants();
        experts();
        unused();
        ModelArguments effective = new ModelArguments(saved);
        boolean repeated = saved.flag("mtp_use_repeated_layer");
        if (repeated && model.predictions().size() > 1) {
            findings.error(
                    "args.weights",
                    "args.mtp_use_repeated_layer",
                    "mtp_use_repeated_layer is True, so that all depths share one block, but mtp.layers has %d blocks"
                            .formatted(model.predictions().size()),
                    "convert --set mtp_use_repeated_layer=False");
        }
        for (Fact fact : facts.values()) {
            if (repeated && fact.field().equals("mtp_num_layers")) {
                continue;
            }
            compare(fact, effective.value(fact.field()));
        }
        for (Violation violation : WidthRelations.violations(model, effective)) {
            findings.error(
                    "shape.args",
                    violation.where(),
                    violation.message(),
                    "correct " + String.join(" or ", violation.fields()) + " in the saved args with convert --set",
                    Effect.PREVENTS);
        }
        if (pattern.isPresent()) {
            for (ArgumentRemark remark : pattern.get().remarks()) {
                findings.add("args.pattern", "args." + remark.field(), remark);
            }
        }
    }

    private void constants() {
        boolean mamba = facts.containsKey("mamba_num_heads");
        List<String> absent =
                CONSTANTS.stream().filter(field -> !saved.knows(field)).toList();
        if (mamba && !absent.isEmpty()) {
            findings.info(
                    "args.old",
                    "args",
                    "the saved args are of a release without " + String.join(", ", absent)
                            + "; the constants of that time are used: state 128, head 64, groups 8");
        }
    }

    /** Experts without the argument come from a model that was put together in code. */
    private void experts() {
        Fact experts = facts.get("num_experts");
        if (experts != null && saved.knows("num_experts") && !saved.has("num_experts")) {
            findings.warning(
                    "args.weights",
                    "args.num_experts",
                    "num_experts is not set, but the weights have experts: " + experts.evidence(),
                    "convert --set num_experts=" + experts.value());
        }
    }

    /** Arguments that ask for parameters that are not there; such a run finds keys missing. */
    private void unused() {
        boolean latent = facts.containsKey("moe_latent_size");
        if (facts.containsKey("num_experts") && !latent && saved.has("moe_latent_size")) {
            findings.error(
                    "args.weights",
                    "args.moe_latent_size",
                    "moe_latent_size is %s, but no layer has mlp.fc1_latent_proj.weight"
                            .formatted(saved.text("moe_latent_size").orElse("")),
                    "convert --set moe_latent_size=None");
        }
        boolean table = facts.containsKey("position_embedding_type");
        boolean learned = saved.text("position_embedding_type")
                .filter("learned_absolute"::equals)
                .isPresent();
        if (model.model().containsKey("embedding.word_embeddings.weight") && learned && !table) {
            findings.warning(
                    "args.weights",
                    "args.position_embedding_type",
                    "position_embedding_type is learned_absolute, but there is no embedding.position_embeddings.weight",
                    "convert --set position_embedding_type=none");
        }
    }

    private void compare(Fact fact, Optional<String> said) {
        if (said.isEmpty() || said.get().equals(fact.value()) || !saved.knows(fact.field()) && !derived(fact.field())) {
            return;
        }
        String message = "%s is %s, but the weights say %s: %s"
                .formatted(fact.field(), said.get(), fact.value(), fact.evidence());
        String fix = "convert --set " + fact.field() + "=" + fact.value();
        // A value that the run would only derive was set in another way when the model was made.
        boolean derived = fact.field().endsWith("ffn_hidden_size") && !saved.has(fact.field());
        if (derived || LOOSE.contains(fact.field())) {
            findings.warning("args.weights", "args." + fact.field(), message, fix);
        } else {
            findings.error("args.weights", "args." + fact.field(), message, fix, effect(fact));
        }
    }

    /**
     * Biases that are promised but not stored add nothing: the layers run as they are, such as those of a model whose attention alone
     * has biases, for which Megatron has no option.
     */
    private static Effect effect(Fact fact) {
        boolean promised =
                fact.field().equals("add_bias_linear") && fact.value().equals("False");
        return promised ? Effect.NONE : Effect.DOUBT;
    }

    private boolean derived(String field) {
        return CONSTANTS.contains(field)
                || List.of("ffn_hidden_size", "mamba_num_heads", "add_bias_linear")
                        .contains(field);
    }
}
