package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.Optional;

/**
 * The operations that layers are made of, on arrays that stay on the device.
 *
 * <p>Every operation returns a new array and leaves its inputs alone; the caller closes what it got. Sizes are given with
 * each call because arrays carry none. {@code rows} is the number of tokens. Products accumulate in at least float
 * precision with float (not reduced) factors, so that one error model holds for every backend.
 */
public interface ForwardBackend extends ScanBackend, AutoCloseable {

    /** Copies numbers to the device. */
    DeviceArray upload(float[] values);

    /**
     * Copies a stored weight to the device without a detour over numbers on the heap. May be called by another thread while
     * one computes.
     *
     * @return nothing if the weight's type needs to be decoded first, or the device has no room; nothing was read then
     */
    default Optional<DeviceArray> upload(StoredElements weight) throws IOException {
        return Optional.empty();
    }

    /** How many elements of weights the device has room for beside what it needs to compute; 0 to read nothing ahead. */
    default long spareElements() {
        return 0;
    }

    /** How many elements of one weight are on the device at a time. */
    default long largestWeight() {
        return 1 << 23;
    }

    /** Half the distance between 1 and the next number of its precision. */
    default double unit() {
        return 0x1p-24;
    }

    /** Copies numbers back. */
    float[] download(DeviceArray array);

    /** Copies numbers to the device, in the precision that it computes in. */
    default DeviceArray uploadWide(double[] values) {
        float[] rounded = new float[values.length];
        for (int i = 0; i < rounded.length; i++) {
            rounded[i] = (float) values[i];
        }
        return upload(rounded);
    }

    /** Copies numbers back as they are, in no less than the precision that it computes in. */
    default double[] downloadWide(DeviceArray array) {
        return WideArray.widened(download(array));
    }

    /** {@code y[r,o] = Σ_i x[r,i] · weight[o,i] + bias[o]}: weight is [out, in] as frameworks store it. */
    DeviceArray linear(DeviceArray x, DeviceArray weight, Optional<DeviceArray> bias, int rows, int in, int out);

    /** {@link #linear}, and what its error depends on. */
    default WeightProduct product(
            DeviceArray x, DeviceArray weight, Optional<DeviceArray> bias, int rows, int in, int out)
            throws IOException {
        return new WeightProduct(linear(x, weight, bias, rows, in, out), Pass.largest(rowNorms(weight, out, in)));
    }

    /**
     * The same with a weight that is read while it is multiplied.
     *
     * @return nothing if the backend wants weights in one piece; nothing was read then
     */
    default Optional<WeightProduct> product(
            DeviceArray x, StoredElements weight, Optional<WeightSource> bias, int rows, int in, int out)
            throws IOException {
        return Optional.empty();
    }

    /** Columns [from, from + count) of an array of [rows, width]. */
    DeviceArray columns(DeviceArray x, int rows, int width, int from, int count);

    /** Arrays of [rows, widths[i]] side by side. */
    DeviceArray concat(DeviceArray[] parts, int rows, int[] widths);

    /** {@code a + factor · b}, element by element. */
    DeviceArray add(DeviceArray a, DeviceArray b, float factor);

    /** {@code f(x)}, element by element. */
    DeviceArray activate(DeviceArray x, Activation f);

    /** {@code f(gate) · value}, element by element. */
    DeviceArray gate(DeviceArray gate, DeviceArray value, Activation f);

    /**
     * Normalises each run of {@code group} channels of each row.
     *
     * @param weight [width]
     * @param bias [width]
     */
    DeviceArray normalize(
            DeviceArray x,
            Norm norm,
            Optional<DeviceArray> weight,
            Optional<DeviceArray> bias,
            int rows,
            int width,
            int group);

    /**
     * Causal depthwise convolution over time:
     * {@code y[t,c] = f(bias[c] + Σ_k weight[c,k] · x[t-kernel+1+k, c])}, zeros before the first token of a row.
     *
     * @param x [batch, length, channels]
     * @param weight [channels, kernel]
     */
    DeviceArray convolve(
            DeviceArray x,
            DeviceArray weight,
            Optional<DeviceArray> bias,
            int batch,
            int length,
            int channels,
            int kernel,
            Activation f);

    /**
     * The scan of {@link ScanProblem} on device arrays, without packing and from zero states.
     *
     * @param d [heads] or [heads, headDim]
     * @return y of [batch, length, heads, headDim]
     */
    DeviceArray scan(
            ScanShape shape,
            TimeStep timeStep,
            DeviceArray x,
            DeviceArray dt,
            DeviceArray aLog,
            DeviceArray b,
            DeviceArray c,
            Optional<DeviceArray> d,
            Optional<DeviceArray> dtBias);

    /**
     * Rotates the first {@code rotated} channels of each head by the token's position.
     *
     * @param x [batch, length, heads, headDim]
     */
    DeviceArray rotate(DeviceArray x, Rotary rotary, int batch, int length, int heads, int headDim);

    /**
     * Softmax attention; query head {@code h} uses key and value head {@code h / (heads / keyHeads)}.
     *
     * @param q [batch, length, heads, headDim]
     * @param k [batch, length, keyHeads, headDim]
     * @param v [batch, length, keyHeads, headDim]
     * @return [batch, length, heads, headDim]
     */
    DeviceArray attend(DeviceArray q, DeviceArray k, DeviceArray v, AttentionShape shape, double scale, boolean causal);

    /** The largest absolute value of each row, on the host. */
    float[] rowMaxima(DeviceArray x, int rows, int width);

    /** The Euclidean norm of each row, on the host. */
    float[] rowNorms(DeviceArray x, int rows, int width);

    @Override
    void close();
}
