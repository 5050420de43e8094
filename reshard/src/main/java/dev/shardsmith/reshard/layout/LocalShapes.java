package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.util.Collection;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Tells whether a distributed checkpoint holds the tensors of one tensor-parallel rank as if they were the model's.
 *
 * <p>A module without a sharded state dict of its own is saved with its local shapes. Such a checkpoint is sound by itself; only the
 * saved options tell that each divided dimension is too small by the number of ranks.
 */
final class LocalShapes {
    private final MegatronArgs args;
    private final int ranks;
    private String evidence = "";
    private boolean whole;

    private LocalShapes(MegatronArgs args) {
        this.args = args;
        this.ranks = args.tensorParallel();
    }

    /** What to warn of, if all dimensions that the options tell are those of one rank. */
    static Optional<String> warning(MegatronArgs args, Collection<LogicalTensor> tensors) {
        LocalShapes shapes = new LocalShapes(args);
        if (shapes.ranks < 2) {
            return Optional.empty();
        }
        for (LogicalTensor tensor : tensors) {
            shapes.look(tensor);
        }
        return shapes.whole || shapes.evidence.isEmpty()
                ? Optional.empty()
                : Optional.of("the tensors look like those of one of " + shapes.ranks + " tensor-parallel ranks: "
                        + shapes.evidence + "; what the other ranks had is not there");
    }

    private void look(LogicalTensor tensor) {
        String name = tensor.name();
        if (name.equals("embedding.word_embeddings.weight")) {
            compare(tensor, 0, args.integer("padded_vocab_size"), "padded_vocab_size");
        } else if (name.endsWith(".mlp.linear_fc2.weight")) {
            compare(tensor, 1, args.integer("ffn_hidden_size"), "ffn_hidden_size");
        } else if (name.endsWith(".self_attention.linear_proj.weight")) {
            long heads = args.integer("num_attention_heads", 0);
            long channels = args.integer("kv_channels", 0);
            if (heads > 0 && channels > 0 && heads <= Integer.MAX_VALUE && channels <= Integer.MAX_VALUE) {
                compare(tensor, 1, OptionalLong.of(heads * channels), "num_attention_heads times kv_channels");
            }
        }
    }

    private void compare(LogicalTensor tensor, int axis, OptionalLong option, String name) {
        if (option.isEmpty() || tensor.shape().rank() <= axis) {
            return;
        }
        long expected = option.getAsLong();
        long size = tensor.shape().size(axis);
        // Any one that is not a rank's share is enough: then the options are wrong, or the tensors are the model's.
        if (expected % ranks != 0 || size != expected / ranks) {
            whole = true;
        } else if (evidence.isEmpty()) {
            evidence = tensor.name() + " has the shape " + tensor.shape() + ", but " + name + " is " + expected;
        }
    }
}
