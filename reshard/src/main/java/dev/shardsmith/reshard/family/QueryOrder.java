package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;

/**
 * The order of the rows of fused queries, keys and values in a rank's file.
 *
 * <p>Since version 2 of Megatron's checkpoints they are [head][query, key, value][channel]. Version 0 has [query, key,
 * value][head][channel] and version 1 [head][channel][query, key, value], each of the rank's own heads. Both are older than
 * grouped queries.
 *
 * @param version of the checkpoint: 0 or 1 where rows have to be put in another order
 * @param headDim channels of a head
 */
public record QueryOrder(int version, long headDim) {
    private static final int CURRENT = 2;
    private static final int PARTS = 3;

    /**
     * The order in a checkpoint.
     *
     * @param entries the file's top-level entries
     * @param old whether keys are those from before the core library, which had no version at first
     * @return empty if it is today's
     * @throws CheckpointException if the version is unknown, or the saved options do not tell the heads
     */
    public static Optional<QueryOrder> of(Map<String, PyValue> entries, boolean old, String where)
            throws CheckpointException {
        double version = version(entries, old);
        if (version >= CURRENT) {
            return Optional.empty();
        }
        if (version != 0 && version != 1) {
            throw CheckpointException.of(Kind.UNSUPPORTED, where, "checkpoint_version " + version + " is not known");
        }
        Optional<AttentionSizes> sizes = Optional.ofNullable(entries.get("args"))
                .flatMap(MegatronArgs::of)
                .flatMap(AttentionSizes::of);
        if (sizes.isEmpty() || sizes.get().groups() != sizes.get().heads()) {
            throw CheckpointException.of(
                    Kind.UNSUPPORTED,
                    where,
                    "checkpoint_version " + (int) version
                            + " has queries, keys and values in an order that depends on the attention heads, "
                            + (sizes.isEmpty()
                                    ? "but the saved options do not tell them"
                                    : "but it is older than grouped queries, which the saved options have"));
        }
        return Optional.of(new QueryOrder((int) version, sizes.get().headDim()));
    }

    private static double version(Map<String, PyValue> entries, boolean old) {
        return number(entries.get("checkpoint_version")).orElse(old ? 0 : CURRENT);
    }

    private static OptionalDouble number(PyValue saved) {
        if (saved instanceof PyFloat number) {
            return OptionalDouble.of(number.value());
        }
        return saved instanceof PyInt number
                ? OptionalDouble.of(number.asLong().orElse(CURRENT))
                : OptionalDouble.empty();
    }

    /** Whether a saved version says that rows have an order which nothing here writes. */
    public static boolean isOutdated(PyValue version) {
        return number(version).orElse(CURRENT) < CURRENT;
    }

    /** True for the parameters whose rows have this order. */
    public static boolean concerns(MegatronName name) {
        return name.suffix().equals("self_attention.linear_qkv.weight")
                || name.suffix().equals("self_attention.linear_qkv.bias");
    }

    /**
     * A rank's rows in today's order.
     *
     * @throws CheckpointException if they are no whole heads
     */
    public List<Piece> pieces(StoredTensor shard, String where) throws CheckpointException {
        long rows = shard.shape().rank() == 0 ? 0 : shard.shape().size(0);
        long head = Math.multiplyExact(PARTS, headDim);
        if (rows == 0 || rows % head != 0) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT,
                    where,
                    "its " + rows + " rows are no whole heads of " + headDim + " channels for query, key and value");
        }
        long heads = rows / head;
        List<Piece> pieces = new ArrayList<>();
        for (long number = 0; number < heads; number++) {
            for (int part = 0; part < PARTS; part++) {
                long[] at = new long[shard.shape().rank()];
                at[0] = number * head + part * headDim;
                pieces.add(new Piece(at, part(shard, number, part, heads)));
            }
        }
        return pieces;
    }

    private StoredTensor part(StoredTensor shard, long head, int part, long heads) {
        if (version == 0) {
            return shard.narrow(0, (part * heads + head) * headDim, headDim);
        }
        // Channels of one part are three rows apart: [head, channel, part] without its first and its last index.
        return shard.split(0, heads).select(0, head).split(0, headDim).select(1, part);
    }
}
