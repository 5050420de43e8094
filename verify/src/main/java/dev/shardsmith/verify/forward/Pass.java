package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One run of one layer: the operations of a {@link ForwardBackend} together with what they do to the rounding error.
 *
 * <p>Rounding errors are taken as independent and of mean zero, so that they add as squares and a sum of k products
 * moves by about {@code u·√k} of its partial sums and not by {@code u·k} (N. Higham and T. Mary, "A new approach to
 * probabilistic rounding error analysis", SIAM J. Sci. Comput. 41, 2019). One number a token is kept: the largest error of
 * its channels. A product with weights of row norm at most {@code w} multiplies it by {@code w}.
 *
 * <p>Every array that an operation makes on a device lives until the pass is closed; those on the heap go when nobody holds them.
 */
public final class Pass implements AutoCloseable {
    /** The error function's own error, whatever the precision of its argument. */
    private static final double GELU_ERROR = 0x1p-41;

    private final ForwardBackend backend;
    private final int batch;
    private final int length;
    private final double unit;
    private final WeightReader weights;
    private final List<DeviceArray> owned = new ArrayList<>();
    private float[] embedded = new float[0];

    /** Begins a pass that reads each weight when it is needed. */
    public Pass(ForwardBackend backend, int batch, int length) {
        this(backend, batch, length, WeightReader.direct(backend));
    }

    /** Begins a pass whose weights may have been read ahead. */
    public Pass(ForwardBackend backend, int batch, int length, WeightReader weights) {
        this.backend = backend;
        this.batch = batch;
        this.length = length;
        this.unit = backend.unit();
        this.weights = weights;
    }

    /** A pass over other tokens with the same weights. */
    Pass over(int tokens) {
        return new Pass(backend, 1, tokens, weights);
    }

    int batch() {
        return batch;
    }

    int length() {
        return length;
    }

    int tokens() {
        return batch * length;
    }

    /** Whether more than single precision is computed in. */
    public boolean isPrecise() {
        return unit < 0x1p-24;
    }

    /** Half the distance between 1 and the next number of the backend's precision. */
    double unit() {
        return unit;
    }

    ForwardBackend backend() {
        return backend;
    }

    DeviceArray own(DeviceArray array) {
        if (!array.isOnHeap()) {
            owned.add(array);
        }
        return array;
    }

    DeviceArray upload(float[] values) {
        return own(backend.upload(values));
    }

    /** The numbers of a weight; nobody changes them. */
    float[] load(WeightSource source) throws IOException {
        return weights.load(source);
    }

    /** A weight on the device, for as long as this pass. */
    DeviceArray weight(WeightSource source) throws IOException {
        Optional<DeviceArray> kept = weights.kept(source);
        return kept.isPresent() ? kept.get() : own(weights.upload(source));
    }

    /** Exact activations of [tokens, width]. */
    public Signal input(float[] values, int width) {
        return signal(values, width, new double[tokens()]);
    }

    Signal signal(float[] values, int width, double[] error) {
        if (values.length != (long) tokens() * width) {
            throw new IllegalArgumentException(
                    values.length + " values for " + tokens() + " tokens of " + width + " channels");
        }
        return new Signal(upload(values), width, error);
    }

    /**
     * Tells what the embedded tokens were, [tokens, width], for layers that read them besides the residual stream.
     */
    public void embed(float[] values, int width) {
        if (values.length != (long) tokens() * width) {
            throw new IllegalArgumentException(values.length + " embedded values for " + tokens() + " tokens");
        }
        embedded = values;
    }

    /** The embedded tokens. */
    Signal embedded() {
        return input(embedded, embedded.length / tokens());
    }

    /** Exact activations of [tokens, width], in the precision of the backend. */
    Signal inputWide(double[] values, int width) {
        return signalWide(values, width, new double[tokens()]);
    }

    Signal signalWide(double[] values, int width, double[] error) {
        if (values.length != (long) tokens() * width) {
            throw new IllegalArgumentException(
                    values.length + " values for " + tokens() + " tokens of " + width + " channels");
        }
        return new Signal(own(backend.uploadWide(values)), width, error);
    }

    /** The values of a signal on the host. */
    public float[] read(Signal signal) {
        return backend.download(signal.values());
    }

    /** The values of a signal on the host, in the precision of the backend. */
    public double[] readWide(Signal signal) {
        return backend.downloadWide(signal.values());
    }

    Signal linear(Signal x, WeightSource weight, Optional<WeightSource> bias) throws IOException {
        int in = x.width();
        if (in == 0 || weight.elements() % in != 0) {
            throw new IllegalArgumentException(
                    "a weight of " + weight.elements() + " elements for " + in + " input channels");
        }
        int out = weight.elements() / in;
        WeightProduct product =
                new WeightProduct.Maker(backend, weights, tokens()).of(x.values(), weight, bias, in, out);
        double largest = product.largestRow();
        DeviceArray y = own(product.values());
        float[] norms = backend.rowNorms(x.values(), tokens(), in);
        float[] outputs = backend.rowMaxima(y, tokens(), out);
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            double own = unit * (Math.sqrt(in) * outputs[t] + 2 * largest * norms[t]);
            error[t] = root(largest * x.error()[t], own);
        }
        return new Signal(y, out, error);
    }

    Signal columns(Signal x, int from, int count) {
        if (from == 0 && count == x.width()) {
            return x;
        }
        return new Signal(own(backend.columns(x.values(), tokens(), x.width(), from, count)), count, x.error());
    }

    Signal concat(List<Signal> parts) {
        if (parts.size() == 1) {
            return parts.get(0);
        }
        int width = parts.stream().mapToInt(Signal::width).sum();
        double[] error = new double[tokens()];
        for (Signal part : parts) {
            for (int t = 0; t < error.length; t++) {
                error[t] = Math.max(error[t], part.error()[t]);
            }
        }
        DeviceArray joined = own(backend.concat(
                parts.stream().map(Signal::values).toArray(DeviceArray[]::new),
                tokens(),
                parts.stream().mapToInt(Signal::width).toArray()));
        return new Signal(joined, width, error);
    }

    Signal add(Signal a, Signal b, float factor) {
        DeviceArray sum = own(backend.add(a.values(), b.values(), factor));
        float[] outputs = backend.rowMaxima(sum, tokens(), a.width());
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            error[t] = root(a.error()[t], factor * b.error()[t], unit * outputs[t]);
        }
        return new Signal(sum, a.width(), error);
    }

    /** Partial results in rank order, then the bias once, as a row-parallel layer adds them. */
    Signal sum(List<Signal> parts, Optional<WeightSource> bias) throws IOException {
        Signal sum = parts.get(0);
        for (Signal part : parts.subList(1, parts.size())) {
            sum = add(sum, part, 1);
        }
        if (bias.isEmpty()) {
            return sum;
        }
        float[] row = load(bias.get());
        float[] rows = new float[Math.multiplyExact(tokens(), sum.width())];
        for (int t = 0; t < tokens(); t++) {
            System.arraycopy(row, 0, rows, t * sum.width(), sum.width());
        }
        return add(sum, input(rows, sum.width()), 1);
    }

    Signal activate(Signal x, Activation f) {
        float[] inputs = backend.rowMaxima(x.values(), tokens(), x.width());
        DeviceArray y = own(backend.activate(x.values(), f));
        float[] outputs = backend.rowMaxima(y, tokens(), x.width());
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            error[t] = root(f.slope(inputs[t]) * x.error()[t], (2 * unit + ownError(f)) * outputs[t]);
        }
        return new Signal(y, x.width(), error);
    }

    private static double ownError(Activation f) {
        return f == Activation.GELU ? GELU_ERROR : 0;
    }

    /** {@code f(gate) · value}. */
    Signal gate(Signal gate, Signal value, Activation f) {
        DeviceArray y = own(backend.gate(gate.values(), value.values(), f));
        float[] gates = backend.rowMaxima(gate.values(), tokens(), gate.width());
        float[] values = backend.rowMaxima(value.values(), tokens(), value.width());
        float[] outputs = backend.rowMaxima(y, tokens(), value.width());
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            double size = Math.max(Math.abs(f.of(gates[t])), Math.abs(f.of(-gates[t])));
            error[t] = root(
                    f.slope(gates[t]) * values[t] * gate.error()[t],
                    size * value.error()[t],
                    (3 * unit + ownError(f)) * outputs[t]);
        }
        return new Signal(y, value.width(), error);
    }

    /**
     * {@code sigmoid(gate) · value}, computed on the host.
     *
     * @param gate as wide as the value, or one for all channels of a token
     */
    Signal gateBySigmoid(Signal gate, Signal value) {
        double[] gates = readWide(gate);
        double[] values = readWide(value).clone();
        int width = value.width();
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            double largest = 0;
            for (int c = 0; c < width; c++) {
                int at = t * width + c;
                largest = Math.max(largest, Math.abs(values[at]));
                values[at] /= 1 + Math.exp(-gates[gate.width() == 1 ? t : at]);
            }
            error[t] = root(value.error()[t], largest * gate.error()[t] / 4, 3 * unit * largest);
        }
        return signalWide(values, width, error);
    }

    Signal normalize(Signal x, Norm norm, Optional<WeightSource> weight, Optional<WeightSource> bias, int group)
            throws IOException {
        Optional<float[]> scales = weight.isPresent() ? Optional.of(load(weight.get())) : Optional.empty();
        Optional<DeviceArray> scale = scales.map(this::upload);
        Optional<DeviceArray> shift = bias.isPresent() ? Optional.of(weight(bias.get())) : Optional.empty();
        DeviceArray y = own(backend.normalize(x.values(), norm, scale, shift, tokens(), x.width(), group));
        double largest = scales.map(all -> largest(all) + norm.weightOffset()).orElse(1.0);
        int groups = x.width() / group;
        float[] norms = backend.rowNorms(x.values(), tokens() * groups, group);
        float[] outputs = backend.rowMaxima(y, tokens(), x.width());
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            double smallest = Double.POSITIVE_INFINITY;
            for (int g = 0; g < groups; g++) {
                double square = (double) norms[t * groups + g] * norms[t * groups + g] / group;
                smallest = Math.min(smallest, Math.sqrt(square + norm.epsilon()));
            }
            error[t] = root(2 * largest * x.error()[t] / smallest, 4 * unit * outputs[t]);
        }
        return new Signal(y, x.width(), error);
    }

    Signal convolve(Signal x, WeightSource weight, Optional<WeightSource> bias, Activation f) throws IOException {
        int kernel = weight.elements() / x.width();
        float[] taps = load(weight);
        Optional<DeviceArray> shift = bias.isPresent() ? Optional.of(weight(bias.get())) : Optional.empty();
        DeviceArray y = own(backend.convolve(x.values(), upload(taps), shift, batch, length, x.width(), kernel, f));
        double largest = largest(RowNorms.euclidean(taps, x.width(), kernel));
        float[] inputs = backend.rowMaxima(x.values(), tokens(), x.width());
        double[] error = new double[tokens()];
        for (int t = 0; t < error.length; t++) {
            double worst = 0;
            double size = 0;
            for (int back = 0; back < Math.min(kernel, t % length + 1); back++) {
                worst = Math.max(worst, x.error()[t - back]);
                size = Math.max(size, inputs[t - back]);
            }
            double sum = 2 * largest * size;
            error[t] = f.slope(sum) * root(largest * worst, 3 * unit * sum);
        }
        return new Signal(y, x.width(), error);
    }

    static double largest(float[] values) {
        double largest = 0;
        for (float value : values) {
            largest = Math.max(largest, Math.abs(value));
        }
        return largest;
    }

    static double root(double... parts) {
        double squares = 0;
        for (double part : parts) {
            squares += part * part;
        }
        return Math.sqrt(squares);
    }

    @Override
    public void close() {
        owned.forEach(DeviceArray::close);
        owned.clear();
    }
}
