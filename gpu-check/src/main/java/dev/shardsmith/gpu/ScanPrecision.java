package dev.shardsmith.gpu;

/** In what precision a scan multiplies. */
public enum ScanPrecision {
    /** Products and sums in float32, never TF32: within 2e-6 of the double-precision definition. */
    FLOAT32,
    /** As models run: x, dt, B, C, z and y in bfloat16, products on the tensor cores, sums in float32. */
    BFLOAT16
}
