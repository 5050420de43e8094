package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;

/** Says everything that keeps a model from being run with other tensor and pipeline sizes. */
final class TargetCheck {
    private final WeightModel model;
    private final Map<String, Fact> facts;
    private final ModelArguments args;
    private final Findings findings;

    TargetCheck(WeightModel model, Map<String, Fact> facts, ModelArguments args, Findings findings) {
        this.model = model;
        this.facts = facts;
        this.args = args;
        this.findings = findings;
    }

    /** Checks every cut of a tensor-parallel size. */
    void tensor(int size) throws CheckpointException {
        divide("mamba_num_heads", fact("mamba_num_heads"), size, "a Mamba head is never cut");
        if (facts.containsKey("mamba_num_heads")) {
            divide(
                    "mamba_num_groups",
                    args.number("mamba_num_groups"),
                    size,
                    "every rank needs at least one group of B and C");
        }
        boolean attention =
                model.layers().values().stream().anyMatch(layer -> layer.kinds().containsKey(LayerKind.ATTENTION));
        OptionalInt heads = args.number("num_attention_heads");
        if (attention) {
            divide("num_attention_heads", heads, size, "an attention head is never cut");
            OptionalInt groups = args.number("num_query_groups");
            if (groups.isPresent() && groups.getAsInt() > 0) {
                int count = groups.getAsInt();
                if (count % size != 0 && size % count != 0) {
                    findings.error(
                            "target.tp",
                            "num_query_groups",
                            "%d query groups and TP %d: neither divides the other".formatted(count, size),
                            "choose a TP size that divides %d".formatted(count));
                }
            }
        }
        divide("ffn_hidden_size", fact("ffn_hidden_size"), size, "the MLP is cut by columns");
        divide("moe_ffn_hidden_size", fact("moe_ffn_hidden_size"), size, "experts are cut by columns");
        divide(
                "moe_shared_expert_intermediate_size",
                fact("moe_shared_expert_intermediate_size"),
                size,
                "shared experts are cut by columns");
        divide("linear_num_value_heads", fact("linear_num_value_heads"), size, "a value head is never cut");
        vocabulary(size);
    }

    private void vocabulary(int size) {
        OptionalInt rows = fact("padded_vocab_size");
        if (rows.isPresent() && rows.getAsInt() % size != 0) {
            findings.warning(
                    "target.vocabulary",
                    "embedding.word_embeddings.weight",
                    "%d rows do not divide by TP %d; the vocabulary has to be padded anew"
                            .formatted(rows.getAsInt(), size),
                    "convert --vocab-size N or --pad-vocab-to N");
        }
    }

    /** Checks the layers of a pipeline size. */
    void pipeline(int size, Optional<HybridPattern> pattern) {
        int layers =
                pattern.map(HybridPattern::layerCount).orElse(model.layers().size());
        boolean piped = pattern.isPresent()
                && pattern.get().segments().size() % size == 0
                && pattern.get().hasPipes();
        if (layers < size) {
            findings.error(
                    "target.pp",
                    "layers",
                    "%d layers cannot fill %d stages".formatted(layers, size),
                    "use a smaller --pp");
        } else if (layers % size != 0 && !piped) {
            findings.warning(
                    "target.pp",
                    "layers",
                    "%d layers do not divide by PP %d; the stages are uneven, which needs | in the pattern"
                            .formatted(layers, size),
                    "convert --pp-layers or --pattern");
        }
    }

    private void divide(String what, OptionalInt count, int size, String reason) {
        if (count.isPresent() && count.getAsInt() % size != 0) {
            findings.error(
                    "target.tp",
                    what,
                    "%s %d does not divide by TP %d: %s".formatted(what, count.getAsInt(), size, reason),
                    "choose a TP size that divides %d".formatted(count.getAsInt()));
        }
    }

    private OptionalInt fact(String field) {
        Fact fact = facts.get(field);
        if (fact == null) {
            return OptionalInt.empty();
        }
        try {
            return OptionalInt.of(Integer.parseInt(fact.value()));
        } catch (NumberFormatException e) {
            return OptionalInt.empty();
        }
    }
}
