package dev.shardsmith.reshard.execute;

/**
 * Arithmetic on CRC-32 values as polynomials over GF(2), modulo the polynomial of zip and PNG.
 *
 * <p>Appending {@code n} bytes to data multiplies its checksum by x^(8n) and adds the checksum of what was appended. So the
 * checksum of a whole is the sum (exclusive or) of its parts' checksums, each multiplied by x to eight times the number of
 * bytes after it; the parts may come in any order. Polynomials are stored with the coefficient of x^0 in the highest bit.
 */
final class Crc32Combiner {
    private static final int POLYNOMIAL = 0xEDB88320;
    private static final int ONE = 0x80000000;
    /** Entry k is x^(2^k); x has order 2^32 - 1, so the powers repeat after 32 entries. */
    private static final int[] POWERS = powers();

    private Crc32Combiner() {}

    /** The checksum of A followed by B, from the checksums of both and the length of B in bytes. */
    static int combine(int first, int second, long secondLength) {
        return shift(first, secondLength) ^ second;
    }

    /** What {@code crc} contributes to the checksum of a whole in which {@code bytesAfter} bytes follow. */
    static int shift(int crc, long bytesAfter) {
        int factor = ONE;
        int power = 3;
        for (long rest = bytesAfter; rest != 0; rest >>>= 1) {
            if ((rest & 1) != 0) {
                factor = multiply(POWERS[power % 32], factor);
            }
            power++;
        }
        return multiply(factor, crc);
    }

    private static int multiply(int a, int b) {
        int product = 0;
        int shifted = b;
        for (int left = a; left != 0; left <<= 1) {
            product ^= left < 0 ? shifted : 0;
            shifted = (shifted >>> 1) ^ ((shifted & 1) == 0 ? 0 : POLYNOMIAL);
        }
        return product;
    }

    private static int[] powers() {
        int[] powers = new int[32];
        powers[0] = ONE >>> 1;
        for (int k = 1; k < 32; k++) {
            powers[k] = multiply(powers[k - 1], powers[k - 1]);
        }
        return powers;
    }
}
