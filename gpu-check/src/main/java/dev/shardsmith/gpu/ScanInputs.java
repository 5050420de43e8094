package dev.shardsmith.gpu;

import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;

/**
 * The arrays of one scan on the card; null for those that are not there.
 *
 * <p>x, dt, B, C, z and y are float32 or bfloat16, all alike; everything else is float32.
 *
 * @param shape the sizes
 * @param timeStep what is done with the raw step
 * @param x [batch, length, heads, headDim]
 * @param dt [batch, length, heads]
 * @param aLog [heads]
 * @param b [batch, length, groups, state]
 * @param c [batch, length, groups, state]
 * @param d [heads] or [heads, headDim]
 * @param z [batch, length, heads, headDim]
 * @param dtBias [heads]
 * @param initialState [batch, heads, headDim, state]
 * @param sequenceIds [batch, length], integers
 */
record ScanInputs(
        ScanShape shape,
        TimeStep timeStep,
        GpuArray x,
        GpuArray dt,
        GpuArray aLog,
        GpuArray b,
        GpuArray c,
        GpuArray d,
        GpuArray z,
        GpuArray dtBias,
        GpuArray initialState,
        GpuArray sequenceIds) {

    /** The skip mode of one D per channel. */
    static final int SKIP_PER_CHANNEL = 2;

    /** 0 without D, 1 for one per head, 2 for one per channel: the kernels' SkipMode. */
    int skipMode() {
        if (d == null) {
            return 0;
        }
        return d.length() == shape.heads() ? 1 : SKIP_PER_CHANNEL;
    }

    /** The least step as a float that the kernels can compare with. */
    float least() {
        return (float) Math.max(timeStep.min(), -Float.MAX_VALUE);
    }

    /** The greatest step. */
    float greatest() {
        return (float) timeStep.max();
    }
}
