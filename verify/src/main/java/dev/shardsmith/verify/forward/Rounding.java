package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.DType;
import java.util.Optional;

/**
 * How numbers become those of a narrower type: to the nearest, ties to even, as frameworks cast.
 *
 * <p>What is too large becomes infinite, or no number in types without infinity.
 */
public enum Rounding {
    /** bfloat16. */
    BF16(7, -126, 0x1.fep127f, Float.POSITIVE_INFINITY),
    /** IEEE half precision. */
    F16(10, -14, 65504, Float.POSITIVE_INFINITY),
    /** Eight bits, five of exponent. */
    F8_E5M2(2, -14, 57344, Float.POSITIVE_INFINITY),
    /** Eight bits, four of exponent, without infinity. */
    F8_E4M3FN(3, -6, 448, Float.NaN),
    /** As {@link #F8_E4M3FN}, without a negative zero. */
    F8_E4M3FNUZ(3, -7, 240, Float.NaN),
    /** As {@link #F8_E5M2}, without infinity and negative zero. */
    F8_E5M2FNUZ(2, -15, 57344, Float.NaN);

    private static final int FLOAT_MANTISSA = 23;

    private final int dropped;
    private final float smallestNormal;
    /** Adding it leaves a float no bits below the smallest value of the type. */
    private final float shift;

    private final float largest;
    private final float beyond;

    Rounding(int mantissa, int smallestExponent, float largest, float beyond) {
        this.dropped = FLOAT_MANTISSA - mantissa;
        this.smallestNormal = Math.scalb(1f, smallestExponent);
        this.shift = Math.scalb(1.5f, smallestExponent - mantissa + FLOAT_MANTISSA);
        this.largest = largest;
        this.beyond = beyond;
    }

    /** The rounding to a type; nothing for float, wider types and those that are no floats. */
    public static Optional<Rounding> of(DType dtype) {
        for (Rounding rounding : values()) {
            if (rounding.name().equals(dtype.name())) {
                return Optional.of(rounding);
            }
        }
        return Optional.empty();
    }

    /** The type. */
    public DType type() {
        return DType.valueOf(name());
    }

    /** The nearest number of the type. */
    public float of(float value) {
        float size = Math.abs(value);
        float rounded;
        if (size < smallestNormal) {
            rounded = size + shift - shift;
        } else if (size <= Float.MAX_VALUE) {
            int bits = Float.floatToRawIntBits(size);
            int odd = (bits >>> dropped) & 1;
            int nearest = ((bits + (1 << (dropped - 1)) - 1 + odd) >>> dropped) << dropped;
            rounded = Float.intBitsToFloat(nearest);
        } else {
            rounded = Float.isNaN(value) ? Float.NaN : Float.POSITIVE_INFINITY;
        }
        if (rounded > largest) {
            rounded = beyond;
        }
        return Math.copySign(rounded, value);
    }

    /** Rounds elements [from, from + count). */
    void apply(float[] values, int from, int count) {
        for (int i = from; i < from + count; i++) {
            values[i] = of(values[i]);
        }
    }
}
