package dev.shardsmith.verify.forward;

import java.util.stream.IntStream;

/**
 * The scan of Mamba-1, token by token in double precision.
 *
 * <pre>
 *   h[d,n] = exp(dt[t,d] · A[d,n]) · h[d,n] + dt[t,d] · B[t,n] · x[t,d]        A = -exp(aLog)
 *   y[t,d] = Σ_n h[d,n] · C[t,n] + D[d] · x[t,d]
 * </pre>
 */
public final class SelectiveScan {
    private SelectiveScan() {}

    /**
     * Runs a scan from zero states.
     *
     * @param batch sequences
     * @param length tokens of each
     * @param x [batch, length, channels]
     * @param dt [batch, length, channels], ready to use
     * @param aLog [channels, state]
     * @param b [batch, length, state]
     * @param c [batch, length, state]
     * @param d [channels]
     * @return y of [batch, length, channels]
     */
    public static double[] run(
            int batch, int length, double[] x, double[] dt, float[] aLog, double[] b, double[] c, float[] d) {
        int channels = d.length;
        int state = aLog.length / channels;
        double[] y = new double[x.length];
        IntStream.range(0, batch * channels).parallel().forEach(index -> {
            int row = index / channels;
            int channel = index % channels;
            double[] h = new double[state];
            for (int t = 0; t < length; t++) {
                int token = row * length + t;
                double input = x[token * channels + channel];
                double step = dt[token * channels + channel];
                double sum = d[channel] * input;
                for (int n = 0; n < state; n++) {
                    double decay = Math.exp(-step * Math.exp(aLog[channel * state + n]));
                    h[n] = decay * h[n] + step * b[token * state + n] * input;
                    sum += h[n] * c[token * state + n];
                }
                y[token * channels + channel] = sum;
            }
        });
        return y;
    }
}
