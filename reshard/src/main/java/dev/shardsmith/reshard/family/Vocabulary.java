package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Fill;
import java.util.OptionalLong;

/**
 * Vocabulary padding: how many rows embedding and output layer have for a tensor-parallel size.
 *
 * <p>Megatron pads V real rows to {@code ceil(V / (d·T))·d·T} with d = {@code make_vocab_size_divisible_by}.
 *
 * @param rows rows that are stored
 * @param real real rows among them, if known
 * @param divisor d
 * @param tensor T of the source
 */
record Vocabulary(long rows, OptionalLong real, long divisor, int tensor) {

    /** What a target has. */
    record Target(long rows, String note) {}

    /**
     * The row from which on a target is filled.
     *
     * <p>Stored rows behind the real ones are copied as they are, unless the user says that they are padding or how padding is
     * made: then all padding is alike, and none of it is made from other padding.
     */
    long firstFilled(ConversionOptions options) {
        boolean anew = options.vocabulary().isPresent() || options.padFill() != Fill.Mode.ZERO;
        return anew ? Math.min(rows, known(options).orElse(rows)) : rows;
    }

    /** Rows that Megatron computes for V real rows and T ranks. */
    static long padded(long real, long divisor, int tensor) {
        long multiple = Math.multiplyExact(divisor, (long) tensor);
        return Math.multiplyExact(Math.floorDiv(real + multiple - 1, multiple), multiple);
    }

    /** The real rows: as the user says, else as saved if that agrees with the stored rows. */
    private OptionalLong known(ConversionOptions options) {
        if (options.vocabulary().isPresent()) {
            return options.vocabulary();
        }
        boolean agrees =
                real.isPresent() && (real.getAsLong() == rows || padded(real.getAsLong(), divisor, tensor) == rows);
        return agrees ? real : OptionalLong.empty();
    }

    /**
     * The rows of a target.
     *
     * @param options what the user wants
     * @param targetTensor T of the target
     * @param padded whether the target's layout pads by Megatron's rule
     */
    Target target(ConversionOptions options, int targetTensor, boolean padded) throws CheckpointException {
        OptionalLong known = known(options);
        if (known.isPresent() && known.getAsLong() > rows) {
            throw refused(
                    "the vocabulary is said to have " + known.getAsLong() + " rows, but only " + rows + " are stored");
        }
        if (options.padVocabularyTo().isPresent()) {
            return exactly(options.padVocabularyTo().getAsLong(), known, targetTensor, "--pad-vocab-to");
        }
        if (options.stripPadding()) {
            if (known.isEmpty()) {
                throw refused("the number of real vocabulary rows is not known: " + rows
                                + " rows are stored and the saved options do not say how many are padding")
                        .withHint("give --vocab-size N");
            }
            return exactly(known.getAsLong(), known, targetTensor, "--strip-padding");
        }
        if (known.isPresent()) {
            long wanted = padded ? padded(known.getAsLong(), divisor, targetTensor) : known.getAsLong();
            return new Target(
                    wanted,
                    wanted == rows
                            ? ""
                            : "vocabulary rows: " + rows + " stored, " + wanted
                                    + " written (" + known.getAsLong() + " real"
                                    + (padded ? ", padded to a multiple of " + divisor + " x TP " + targetTensor : "")
                                    + ")");
        }
        return unknown(targetTensor, padded);
    }

    private Target unknown(int targetTensor, boolean padded) {
        long multiple = divisor * targetTensor;
        if (rows % targetTensor == 0) {
            boolean odd = padded && targetTensor != tensor && rows % multiple != 0;
            return new Target(
                    rows,
                    odd
                            ? "vocabulary rows stay " + rows + ", which is no multiple of " + divisor + " x TP "
                                    + targetTensor
                                    + ": Megatron may compute another size; give --vocab-size N to pad anew"
                            : "");
        }
        long extended = padded(rows, divisor, targetTensor);
        return new Target(
                extended,
                "vocabulary rows: " + rows + " stored, " + extended + " written, because " + rows
                        + " rows cannot be divided among " + targetTensor + " ranks");
    }

    private Target exactly(long wanted, OptionalLong known, int targetTensor, String option)
            throws CheckpointException {
        if (wanted % targetTensor != 0) {
            throw refused(option + " asks for " + wanted + " vocabulary rows, which cannot be divided among "
                    + targetTensor + " tensor-parallel ranks");
        }
        long least = known.orElse(rows);
        if (wanted < least) {
            throw refused(option + " asks for " + wanted + " vocabulary rows, but "
                            + (known.isPresent() ? least + " are real" : "all " + rows + " stored ones may be real"))
                    .withHint("give --vocab-size N with the number of real rows");
        }
        return new Target(wanted, wanted == rows ? "" : "vocabulary rows: " + rows + " stored, " + wanted + " written");
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, "", problem);
    }
}
