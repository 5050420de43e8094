package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import java.util.Optional;

/**
 * How a floating-point type lies in words of 64 bits, so that whole arrays of words can be worked on.
 *
 * <p>A word holds two values or four.
 */
enum FloatLayout {
    BRAIN(16, 8),
    HALF(16, 5),
    SINGLE(32, 8);

    /** Bits of one value. */
    final int bits;

    /** The exponent of each value of a word. */
    final long exponents;

    /** The lowest bit of each exponent: added to an exponent of ones, it carries into the sign. */
    final long exponentUnits;

    /** The sign of each value of a word. */
    final long signs;

    FloatLayout(int bits, int exponentBits) {
        int mantissaBits = bits - 1 - exponentBits;
        this.bits = bits;
        this.exponents = inEach(((1L << exponentBits) - 1) << mantissaBits);
        this.exponentUnits = inEach(1L << mantissaBits);
        this.signs = inEach(1L << (bits - 1));
    }

    /** The layout of a type; empty if it is none of these. */
    static Optional<FloatLayout> of(DType dtype) {
        return switch (dtype) {
            case BF16 -> Optional.of(BRAIN);
            case F16, C32 -> Optional.of(HALF);
            case F32, C64 -> Optional.of(SINGLE);
            case F64, C128, F8_E4M3FN, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0FNU, F4_E2M1FN_X2 -> Optional.empty();
            case F6_E2M3, F6_E3M2, QUINT4X2, QUINT2X4, BITS8, BITS16, BITS1X8, BITS2X4, BITS4X2 -> Optional.empty();
            case BOOL, I8, U8, QINT8, QUINT8, I16, U16, I32, U32, QINT32, I64, U64 -> Optional.empty();
        };
    }

    /** The value of each code; empty if there are too many codes. */
    Optional<double[]> table() {
        return switch (this) {
            case BRAIN -> Optional.of(CodeValues.brain());
            case HALF -> Optional.of(CodeValues.half());
            case SINGLE -> Optional.empty();
        };
    }

    /** Values in one word. */
    int perWord() {
        return Long.SIZE / bits;
    }

    /** Rows of words that hold a chunk of values. */
    int wordRows() {
        return FloatChunk.VALUES / perWord() / FloatChunk.ROW;
    }

    /** A number in each place of a word. */
    long inEach(long number) {
        long pair = bits == 32 ? number : number << 16 | number;
        return pair << 32 | pair;
    }

    /** The number at a position's place of its word. */
    long part(long word, int position) {
        return word >>> position % perWord() * bits & (1L << bits) - 1;
    }
}
