package dev.shardsmith.verify.forward;

/** What a device does for {@link WideBackend}: products in double precision with weights that lie on it. */
public interface WideMultiplier {

    /**
     * {@code y[r,o] = bias[o] + Σ_i x[r,i] · weight[o,i]}, each a chain of fused multiply-adds in the order of i that starts
     * from the bias.
     *
     * @param x [rows, in]
     * @param weight [out, in], in float on this device
     * @param bias [out], or empty
     * @return [rows, out]
     */
    double[] multiplyWide(double[] x, DeviceArray weight, float[] bias, int rows, int in, int out);
}
