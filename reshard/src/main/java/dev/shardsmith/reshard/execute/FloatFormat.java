package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.DType;
import java.util.Optional;

/**
 * A binary floating-point format of at most 16 bits, with conversions from and to double.
 *
 * <p>Encoding rounds to nearest, ties to even, once. What is too large becomes infinity, or NaN in formats without one, as in
 * PyTorch.
 */
enum FloatFormat {
    F16(5, 10, 15, Special.IEEE),
    BF16(8, 7, 127, Special.IEEE),
    F8_E5M2(5, 2, 15, Special.IEEE),
    F8_E4M3FN(4, 3, 7, Special.ALL_ONES_NAN),
    F8_E4M3FNUZ(4, 3, 8, Special.NEGATIVE_ZERO_NAN),
    F8_E5M2FNUZ(5, 2, 16, Special.NEGATIVE_ZERO_NAN);

    private enum Special {
        /** The largest exponent is infinity and NaN. */
        IEEE,
        /** Only the pattern of ones, with either sign, is NaN; there is no infinity. */
        ALL_ONES_NAN,
        /** The pattern of negative zero is NaN; there is neither infinity nor negative zero. */
        NEGATIVE_ZERO_NAN
    }

    private static final int DOUBLE_MANTISSA = 52;
    private static final int DOUBLE_BIAS = 1023;

    private final int exponentBits;
    private final int mantissaBits;
    private final int bias;
    private final Special special;

    FloatFormat(int exponentBits, int mantissaBits, int bias, Special special) {
        this.exponentBits = exponentBits;
        this.mantissaBits = mantissaBits;
        this.bias = bias;
        this.special = special;
    }

    /** The format of an element type, if it is one of these. */
    static Optional<FloatFormat> of(DType dtype) {
        for (FloatFormat format : values()) {
            if (format.name().equals(dtype.name())) {
                return Optional.of(format);
            }
        }
        return Optional.empty();
    }

    /** The exact value of a bit pattern. */
    double decode(int bits) {
        int exponent = bits >> mantissaBits & (1 << exponentBits) - 1;
        int mantissa = bits & (1 << mantissaBits) - 1;
        boolean negative = (bits & signBit()) != 0;
        if (isNaN(bits)) {
            return Double.NaN;
        }
        double magnitude;
        if (special == Special.IEEE && exponent == (1 << exponentBits) - 1) {
            magnitude = Double.POSITIVE_INFINITY;
        } else if (exponent == 0) {
            magnitude = Math.scalb((double) mantissa, 1 - bias - mantissaBits);
        } else {
            magnitude = Math.scalb((double) (mantissa | 1 << mantissaBits), exponent - bias - mantissaBits);
        }
        return negative ? -magnitude : magnitude;
    }

    /** True if the pattern is not a number. */
    boolean isNaN(int bits) {
        return switch (special) {
            case IEEE -> (bits & signBit() - 1) > largestExponent();
            case ALL_ONES_NAN -> (bits & signBit() - 1) == signBit() - 1;
            case NEGATIVE_ZERO_NAN -> bits == signBit();
        };
    }

    /** The pattern nearest to a value. */
    int encode(double value) {
        long bits = Double.doubleToRawLongBits(value);
        int sign = bits < 0 ? signBit() : 0;
        if (Double.isNaN(value)) {
            return encodeNaN(sign, bits);
        }
        if (Double.isInfinite(value)) {
            return tooLarge(sign);
        }
        int exponent = (int) (bits >>> DOUBLE_MANTISSA & 0x7FF) - DOUBLE_BIAS + bias;
        int drop = DOUBLE_MANTISSA - mantissaBits;
        long mantissa = bits & (1L << DOUBLE_MANTISSA) - 1;
        long kept;
        if (exponent > 0) {
            kept = roundedShift(mantissa | (long) exponent << DOUBLE_MANTISSA, drop);
        } else {
            kept = roundedShift(mantissa | 1L << DOUBLE_MANTISSA, Math.min(63, drop + 1 - exponent));
        }
        if (kept > largestFinite()) {
            return tooLarge(sign);
        }
        return special == Special.NEGATIVE_ZERO_NAN && kept == 0 ? 0 : sign | (int) kept;
    }

    /** True if the pattern is what {@link #encode} makes of a finite value that is too large. */
    boolean isTooLarge(int bits) {
        return special == Special.IEEE ? (bits & signBit() - 1) == largestExponent() : isNaN(bits);
    }

    private int encodeNaN(int sign, long bits) {
        return switch (special) {
            case IEEE ->
                sign
                        | largestExponent()
                        | 1 << mantissaBits - 1
                        | (int) (bits >>> DOUBLE_MANTISSA - mantissaBits & (1 << mantissaBits - 1) - 1);
            case ALL_ONES_NAN -> sign | signBit() - 1;
            case NEGATIVE_ZERO_NAN -> signBit();
        };
    }

    private int tooLarge(int sign) {
        return switch (special) {
            case IEEE -> sign | largestExponent();
            case ALL_ONES_NAN -> sign | signBit() - 1;
            case NEGATIVE_ZERO_NAN -> signBit();
        };
    }

    private int signBit() {
        return 1 << exponentBits + mantissaBits;
    }

    private int largestExponent() {
        return (1 << exponentBits) - 1 << mantissaBits;
    }

    private int largestFinite() {
        return switch (special) {
            case IEEE -> largestExponent() - 1;
            case ALL_ONES_NAN -> signBit() - 2;
            case NEGATIVE_ZERO_NAN -> signBit() - 1;
        };
    }

    /** {@code value} / 2^shift, to nearest, ties to even. */
    private static long roundedShift(long value, int shift) {
        long half = 1L << shift - 1;
        long kept = value >>> shift;
        long rest = value & (1L << shift) - 1;
        return rest > half || rest == half && (kept & 1) != 0 ? kept + 1 : kept;
    }
}
