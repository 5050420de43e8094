package dev.shardsmith.gpu;

/** One argument of a kernel, as it lies in memory. */
sealed interface Argument {

    /** An address in device memory; 0 is a null pointer. */
    record Address(long value) implements Argument {}

    /** A 32-bit integer, or a struct of 32-bit fields. */
    record Words(int... values) implements Argument {}

    /** A 64-bit integer. */
    record Count(long value) implements Argument {}

    /** A single-precision number. */
    record Single(float value) implements Argument {}

    /** A double-precision number. */
    record Double(double value) implements Argument {}

    /** The address of an array, or null for none. */
    static Argument of(GpuArray array) {
        return new Address(array == null ? 0 : array.address());
    }

    /** Integers. */
    static Argument of(int... values) {
        return new Words(values);
    }
}
