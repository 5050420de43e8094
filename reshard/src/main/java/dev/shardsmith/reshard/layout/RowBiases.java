package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.family.MambaNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * The biases of row-parallel Linears in rank files.
 *
 * <p>The ranks' outputs are added up, so the bias is rank 0's alone, and the others do not have it at all. Where others do, it
 * matters what they have: the same (as Megatron saves it) or zeros say the same model, anything else does not.
 */
final class RowBiases {
    private static final long LARGEST_BYTES = 64L << 20;

    private RowBiases() {}

    /**
     * Looks at the biases that other ranks than the first have; reads them.
     *
     * @return what is unusual about them
     * @throws CheckpointException if a rank has another bias than rank 0, or one that rank 0 lacks
     */
    static List<String> check(List<Map<String, StoredTensor>> ranks) throws IOException {
        List<String> equal = new ArrayList<>();
        List<String> zero = new ArrayList<>();
        for (int rank = 1; rank < ranks.size(); rank++) {
            for (Map.Entry<String, StoredTensor> entry : ranks.get(rank).entrySet()) {
                if (MambaNames.isRowBias(entry.getKey())) {
                    boolean zeros = isZero(entry.getKey(), rank, ranks.size(), entry.getValue(), ranks.get(0));
                    List<String> kind = zeros ? zero : equal;
                    if (!kind.contains(entry.getKey())) {
                        kind.add(entry.getKey());
                    }
                }
            }
        }
        List<String> remarks = new ArrayList<>();
        if (!equal.isEmpty()) {
            remarks.add(
                    some(equal) + ": the same bias on several ranks, as Megatron saves it; only rank 0 of mamba_ssm "
                            + "should have it, and rank 0's is taken");
        }
        if (!zero.isEmpty()) {
            remarks.add(some(zero) + ": zeros on ranks that should not have this bias at all; rank 0's is taken");
        }
        return remarks;
    }

    private static String some(List<String> names) {
        return names.get(0) + (names.size() > 1 ? " and " + (names.size() - 1) + " more" : "");
    }

    private static boolean isZero(
            String name, int rank, int world, StoredTensor bias, Map<String, StoredTensor> rankZero)
            throws IOException {
        StoredTensor first = rankZero.get(name);
        if (first == null) {
            throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            name,
                            "rank " + rank + " of " + world
                                    + " has this bias, but rank 0, which alone should, does not")
                    .withHint("see whether the files of ranks are swapped");
        }
        byte[] copy = bytes(name, bias);
        byte[] expected = bytes(name, first);
        boolean zeros = true;
        for (byte b : copy) {
            zeros &= b == 0;
        }
        boolean sameSize = bias.shape().equals(first.shape()) && bias.dtype() == first.dtype();
        if (sameSize && Arrays.equals(copy, expected)) {
            return false;
        }
        if (zeros && sameSize) {
            return true;
        }
        throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        name,
                        "rank " + rank + " of " + world + " has another bias than rank 0 ("
                                + (sameSize
                                        ? different(copy, expected, bias.dtype().byteSize()) + " of "
                                                + bias.shape().elements() + " elements differ"
                                        : bias.dtype().torchName() + " " + bias.shape() + " and "
                                                + first.dtype().torchName() + " " + first.shape())
                                + "); the ranks' outputs are added, so which one was trained cannot be told")
                .withHint("remove the bias from the files of all ranks but 0 if rank 0's is the right one");
    }

    private static long different(byte[] copy, byte[] expected, int width) {
        long count = 0;
        for (int at = 0; at < copy.length; at += width) {
            count += Arrays.equals(copy, at, at + width, expected, at, at + width) ? 0 : 1;
        }
        return count;
    }

    private static byte[] bytes(String name, StoredTensor bias) throws IOException {
        if (bias.shape().rank() != 1 || bias.bytes() > LARGEST_BYTES) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT, name, "a bias has one dimension, this one has shape " + bias.shape());
        }
        byte[] bytes = new byte[(int) bias.bytes()];
        int width = bias.dtype().byteSize();
        if (bias.isRowMajor()) {
            bias.source().read(bias.offset(), ByteBuffer.wrap(bytes));
            return bytes;
        }
        for (int i = 0; i < bias.shape().elements(); i++) {
            bias.source().read(bias.offset() + i * bias.strides()[0] * width, ByteBuffer.wrap(bytes, i * width, width));
        }
        return bytes;
    }
}
