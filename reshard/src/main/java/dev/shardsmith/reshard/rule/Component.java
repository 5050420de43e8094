package dev.shardsmith.reshard.rule;

/**
 * One part of a fused tensor along the axis that is divided, such as {@code z} of {@code in_proj}.
 *
 * <p>Its width consists of units that are never cut. Rank r of W gets {@code units / W} of them, and one more if
 * {@code r < units mod W}: the first ranks hold the remainder (mamba_ssm's column-parallel Linear; where the units divide,
 * this is Megatron's equal split).
 *
 * @param name the field's name of the part
 * @param width size along the axis in the undivided tensor, in elements
 * @param unit size of what is never cut, in elements; divides {@code width}
 */
public record Component(String name, long width, long unit) {
    /** A component; the unit must divide the width. */
    public Component {
        if (width < 0 || unit < 1 || width % unit != 0) {
            throw new IllegalArgumentException(name + ": width " + width + " in units of " + unit);
        }
    }

    /** A component that may be cut anywhere. */
    public Component(String name, long width) {
        this(name, width, 1);
    }

    /** How many indivisible units there are. */
    public long units() {
        return width / unit;
    }

    /** Elements that a rank holds. */
    public long length(int rank, int world) {
        long extra = units() % world;
        return (units() / world + (rank < extra ? 1 : 0)) * unit;
    }

    /** First element that a rank holds. */
    public long start(int rank, int world) {
        long extra = units() % world;
        return (rank * (units() / world) + Math.min(rank, extra)) * unit;
    }

    /** True if every rank gets the same. */
    public boolean dividesEvenly(int world) {
        return units() % world == 0;
    }
}
