package dev.shardsmith.verify.forward;

/**
 * Rotary position embedding.
 *
 * @param rotated channels at the front of each head that are rotated, even
 * @param base the angle of pair {@code i} is {@code position · base^(-2i/rotated)}
 * @param interleaved pairs are (2i, 2i+1); else (i, i + rotated/2)
 */
public record Rotary(int rotated, double base, boolean interleaved) {

    /** Checks the number of rotated channels and that angles are numbers. */
    public Rotary {
        if (!(base > 0) || Double.isInfinite(base)) {
            throw new IllegalArgumentException("rotary embeddings of the base " + base);
        }
        if (rotated < 0 || rotated % 2 != 0) {
            throw new IllegalArgumentException(rotated + " rotated channels");
        }
    }

    /** The angle of a pair at a position. */
    double angle(int position, int pair) {
        return position * Math.pow(base, -2.0 * pair / rotated);
    }

    /** The first channel of a pair. */
    int first(int pair) {
        return interleaved ? 2 * pair : pair;
    }

    /** The second channel of a pair. */
    int second(int pair) {
        return interleaved ? 2 * pair + 1 : pair + rotated / 2;
    }
}
