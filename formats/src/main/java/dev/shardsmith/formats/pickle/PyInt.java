package dev.shardsmith.formats.pickle;

import java.math.BigInteger;
import java.util.OptionalLong;

/** A Python int of any size. */
public final class PyInt implements PyValue {
    /** Shapes, strides and flags are mostly small; one node serves them all. */
    private static final PyInt[] SMALL = new PyInt[8448];

    private static final int SMALLEST = -256;

    static {
        for (int i = 0; i < SMALL.length; i++) {
            SMALL[i] = new PyInt(SMALLEST + i, null);
        }
    }

    private final long small;
    private final BigInteger big;

    private PyInt(long small, BigInteger big) {
        this.small = small;
        this.big = big;
    }

    /** An int that fits 64 bits. */
    public static PyInt of(long value) {
        long index = value - SMALLEST;
        return value < SMALL.length && index >= 0 && index < SMALL.length ? SMALL[(int) index] : new PyInt(value, null);
    }

    /** An int of any size. */
    public static PyInt of(BigInteger value) {
        return value.bitLength() < Long.SIZE ? of(value.longValue()) : new PyInt(0, value);
    }

    /** The value, if it fits 64 bits. */
    public OptionalLong asLong() {
        return big == null ? OptionalLong.of(small) : OptionalLong.empty();
    }

    /** The value. */
    public BigInteger toBigInteger() {
        return big == null ? BigInteger.valueOf(small) : big;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PyInt that && toBigInteger().equals(that.toBigInteger());
    }

    @Override
    public int hashCode() {
        return big == null ? Long.hashCode(small) : big.hashCode();
    }

    @Override
    public String toString() {
        return big == null ? Long.toString(small) : big.toString();
    }
}
