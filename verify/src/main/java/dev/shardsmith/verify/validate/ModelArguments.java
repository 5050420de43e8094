package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentValues;
import java.util.Optional;
import java.util.OptionalInt;

/**
 * Arguments with the values that the training framework derives where they are not given.
 *
 * <p>A value that is neither given nor derived is empty: nothing can be compared with it.
 */
final class ModelArguments {
    private final ArgumentValues args;

    ModelArguments(ArgumentValues args) {
        this.args = args;
    }

    /** The value of an argument, given or derived, as Python prints it. */
    Optional<String> value(String field) throws CheckpointException {
        Optional<String> given = args.text(field);
        return switch (field) {
            case "ffn_hidden_size" -> given.isPresent() ? given : width();
            case "moe_ffn_hidden_size" ->
                given.isPresent() || !args.has("num_experts") ? given : value("ffn_hidden_size");
            case "kv_channels" -> given.isPresent() ? given : headWidth();
            case "num_query_groups" -> queryGroups();
            case "mamba_num_heads" -> given.isPresent() ? given : mambaHeads();
            case "mamba_state_dim" -> given.isPresent() ? given : Optional.of("128");
            case "mamba_head_dim" -> given.isPresent() ? given : Optional.of("64");
            case "mamba_num_groups" -> given.isPresent() ? given : Optional.of("8");
            case "add_bias_linear" -> given.isPresent() ? given : olderBias();
            default -> given;
        };
    }

    /** The value of an argument as a number; empty if it is not known or none. */
    OptionalInt number(String field) throws CheckpointException {
        Optional<String> value = value(field);
        if (value.isEmpty()) {
            return OptionalInt.empty();
        }
        try {
            return OptionalInt.of(Integer.parseInt(value.get().strip()));
        } catch (NumberFormatException e) {
            return OptionalInt.empty();
        }
    }

    private Optional<String> width() throws CheckpointException {
        OptionalInt hidden = args.integer("hidden_size");
        if (hidden.isEmpty()) {
            return Optional.empty();
        }
        long four = 4L * hidden.getAsInt();
        // A gated MLP has three matrices: two thirds of the width keep the number of parameters.
        return Optional.of(Long.toString(args.flag("swiglu") ? four * 2 / 3 / 64 * 64 : four));
    }

    private Optional<String> headWidth() throws CheckpointException {
        OptionalInt hidden = args.integer("hidden_size");
        OptionalInt heads = args.integer("num_attention_heads");
        return hidden.isPresent() && heads.isPresent() && heads.getAsInt() > 0
                ? Optional.of(Integer.toString(hidden.getAsInt() / heads.getAsInt()))
                : Optional.empty();
    }

    private Optional<String> queryGroups() throws CheckpointException {
        return args.flag("group_query_attention") ? args.text("num_query_groups") : args.text("num_attention_heads");
    }

    private Optional<String> mambaHeads() throws CheckpointException {
        OptionalInt hidden = args.integer("hidden_size");
        int headWidth = args.integer("mamba_head_dim").orElse(64);
        return hidden.isPresent() && headWidth > 0
                ? Optional.of(Long.toString(2L * hidden.getAsInt() / headWidth))
                : Optional.empty();
    }

    private Optional<String> olderBias() throws CheckpointException {
        return args.has("disable_bias_linear")
                ? Optional.of(args.flag("disable_bias_linear") ? "False" : "True")
                : Optional.empty();
    }
}
