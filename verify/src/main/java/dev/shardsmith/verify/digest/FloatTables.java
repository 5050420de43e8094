package dev.shardsmith.verify.digest;

/**
 * Values of the small floating-point types, code by code.
 *
 * <p>A code that means NaN becomes a NaN that carries the code in its payload, so that different codes stay different.
 */
final class FloatTables {
    private static final float[] E4M3FN = eightBits(4, 7, Ending.LAST_CODE_IS_NAN);
    private static final float[] E5M2 = eightBits(5, 15, Ending.IEEE);
    private static final float[] E4M3FNUZ = eightBits(4, 8, Ending.NEGATIVE_ZERO_IS_NAN);
    private static final float[] E5M2FNUZ = eightBits(5, 16, Ending.NEGATIVE_ZERO_IS_NAN);
    private static final float[] E8M0FNU = powersOfTwo();

    /** E2M1 has no infinities and no NaN. */
    private static final float[] E2M1 = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

    private FloatTables() {}

    /** What the highest codes mean. */
    private enum Ending {
        IEEE,
        LAST_CODE_IS_NAN,
        NEGATIVE_ZERO_IS_NAN
    }

    /** The values of {@code float8_e4m3fn}. */
    static float[] e4m3fn() {
        return E4M3FN;
    }

    /** The values of {@code float8_e5m2}. */
    static float[] e5m2() {
        return E5M2;
    }

    /** The values of {@code float8_e4m3fnuz}. */
    static float[] e4m3fnuz() {
        return E4M3FNUZ;
    }

    /** The values of {@code float8_e5m2fnuz}. */
    static float[] e5m2fnuz() {
        return E5M2FNUZ;
    }

    /** The values of {@code float8_e8m0fnu}. */
    static float[] e8m0fnu() {
        return E8M0FNU;
    }

    /** The 16 values of a nibble of {@code float4_e2m1fn_x2}. */
    static float[] fourBits() {
        return E2M1;
    }

    private static float[] eightBits(int exponentBits, int bias, Ending ending) {
        int mantissaBits = 7 - exponentBits;
        float[] values = new float[256];
        for (int code = 0; code < 256; code++) {
            int exponent = (code >> mantissaBits) & ((1 << exponentBits) - 1);
            int mantissa = code & ((1 << mantissaBits) - 1);
            boolean last = exponent == (1 << exponentBits) - 1;
            boolean nan = switch (ending) {
                case IEEE -> last && mantissa != 0;
                case LAST_CODE_IS_NAN -> (code & 0x7f) == 0x7f;
                case NEGATIVE_ZERO_IS_NAN -> code == 0x80;
            };
            double magnitude = exponent == 0
                    ? Math.scalb((double) mantissa, 1 - bias - mantissaBits)
                    : Math.scalb((double) (mantissa | 1 << mantissaBits), exponent - bias - mantissaBits);
            if (ending == Ending.IEEE && last && mantissa == 0) {
                magnitude = Double.POSITIVE_INFINITY;
            }
            values[code] = nan ? nan(code) : (float) (code >= 0x80 ? -magnitude : magnitude);
        }
        return values;
    }

    private static float[] powersOfTwo() {
        float[] values = new float[256];
        for (int code = 0; code < 255; code++) {
            values[code] = (float) Math.scalb(1.0, code - 127);
        }
        values[255] = nan(255);
        return values;
    }

    private static float nan(int code) {
        return Float.intBitsToFloat((code >= 0x80 ? 0xffc00000 : 0x7fc00000) | code);
    }
}
