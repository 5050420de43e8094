package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * All operations in double precision, written as they are defined.
 *
 * <p>What {@link CpuBackend} computes can be checked against it. Weights are those of the checkpoint, which float holds exactly
 * unless they are stored in double.
 *
 * <p>It runs on the processor. Beside a device that is a {@link WideMultiplier}, products with weights that lie there are
 * computed there; everything else is little work.
 */
public final class WideBackend implements ForwardBackend {
    private final ScratchPool<WideProduct.Scratch> scratches = new ScratchPool<>(WideProduct.Scratch::new);

    private final Optional<Beside> beside;

    /** A device, as what it is twice. */
    private record Beside(ForwardBackend device, WideMultiplier multiplier) {}

    /** Makes a backend of the processor alone; it holds scratch space between its operations. */
    public WideBackend() {
        this.beside = Optional.empty();
    }

    /** Makes a backend that leaves products to a device if that can multiply in double precision; it stays the caller's. */
    public WideBackend(ForwardBackend device) {
        this.beside = device instanceof WideMultiplier multiplier
                ? Optional.of(new Beside(device, multiplier))
                : Optional.empty();
    }

    /** How this backend gets at weights that are read for its device: those that lie there stay there. */
    public WeightReader reading(WeightReader ahead) {
        if (beside.isEmpty()) {
            return WeightReader.direct(this);
        }
        return new WeightReader() {
            @Override
            public float[] load(WeightSource source) throws IOException {
                return ahead.load(source);
            }

            @Override
            public DeviceArray upload(WeightSource source) throws IOException {
                return WideBackend.this.upload(ahead.load(source));
            }

            @Override
            public Optional<DeviceArray> kept(WeightSource source) throws IOException {
                return ahead.kept(source);
            }
        };
    }

    /** Numbers of this backend, or of the device beside it. */
    private double[] numbers(DeviceArray array) {
        return array.isOnHeap() || beside.isEmpty()
                ? WideArray.of(array)
                : WideArray.widened(beside.get().device().download(array));
    }

    @Override
    public String name() {
        return "cpu";
    }

    @Override
    public Availability availability() {
        return Availability.on(Runtime.getRuntime().availableProcessors() + " processors, double precision");
    }

    @Override
    public ScanResult scan(ScanProblem problem) {
        return ReferenceScan.run(problem).rounded();
    }

    @Override
    public double unit() {
        return 0x1p-53;
    }

    /** Numbers that were floats stay so: what is computed from them is not. */
    @Override
    public DeviceArray upload(float[] values) {
        return new CpuArray(values);
    }

    @Override
    public DeviceArray uploadWide(double[] values) {
        return new WideArray(values);
    }

    @Override
    public float[] download(DeviceArray array) {
        return array instanceof CpuArray narrow ? narrow.values() : ReferenceScan.rounded(numbers(array));
    }

    @Override
    public double[] downloadWide(DeviceArray array) {
        return numbers(array);
    }

    @Override
    public DeviceArray linear(
            DeviceArray x, DeviceArray weight, Optional<DeviceArray> bias, int rows, int in, int out) {
        try {
            return product(x, weight, bias, rows, in, out).values();
        } catch (IOException e) {
            throw new UncheckedIOException("reading a weight in memory", e);
        }
    }

    @Override
    public WeightProduct product(
            DeviceArray x, DeviceArray weight, Optional<DeviceArray> bias, int rows, int in, int out)
            throws IOException {
        float[] start = bias.map(this::download).orElse(new float[0]);
        if (beside.isPresent() && !weight.isOnHeap()) {
            Beside device = beside.get();
            double[] y = device.multiplier().multiplyWide(numbers(x), weight, start, rows, in, out);
            return new WeightProduct(
                    new WideArray(y), Pass.largest(device.device().rowNorms(weight, out, in)));
        }
        return product(numbers(x), WeightTiles.of(CpuArray.of(weight), in), start, rows, in, out);
    }

    @Override
    public Optional<WeightProduct> product(
            DeviceArray x, StoredElements weight, Optional<WeightSource> bias, int rows, int in, int out)
            throws IOException {
        float[] start = bias.isPresent() ? bias.get().load() : new float[0];
        return Optional.of(product(numbers(x), WeightTiles.of(weight, in), start, rows, in, out));
    }

    private WeightProduct product(double[] x, WeightTiles weight, float[] bias, int rows, int in, int out)
            throws IOException {
        WideProduct.Result result = new WideProduct(x, weight, bias, rows, in, out).run(scratches);
        return new WeightProduct(new WideArray(result.y()), result.largestRow());
    }

    @Override
    public DeviceArray columns(DeviceArray x, int rows, int width, int from, int count) {
        return new WideArray(Columns.pick(numbers(x), new double[rows * count], rows, width, from, count));
    }

    @Override
    public DeviceArray concat(DeviceArray[] parts, int rows, int[] widths) {
        double[][] sources = Arrays.stream(parts).map(this::numbers).toArray(double[][]::new);
        double[] target =
                new double[Math.multiplyExact(rows, Arrays.stream(widths).sum())];
        return new WideArray(Columns.join(sources, target, rows, widths));
    }

    @Override
    public DeviceArray add(DeviceArray a, DeviceArray b, float factor) {
        double[] left = numbers(a);
        double[] right = numbers(b);
        double[] sum = new double[left.length];
        for (int i = 0; i < sum.length; i++) {
            sum[i] = left[i] + factor * right[i];
        }
        return new WideArray(sum);
    }

    @Override
    public DeviceArray activate(DeviceArray x, Activation f) {
        double[] source = numbers(x);
        double[] target = new double[source.length];
        Arrays.parallelSetAll(target, i -> f.of(source[i]));
        return new WideArray(target);
    }

    @Override
    public DeviceArray gate(DeviceArray gate, DeviceArray value, Activation f) {
        double[] gates = numbers(gate);
        double[] values = numbers(value);
        double[] target = new double[values.length];
        Arrays.parallelSetAll(target, i -> f.of(gates[i]) * values[i]);
        return new WideArray(target);
    }

    @Override
    public DeviceArray normalize(
            DeviceArray x,
            Norm norm,
            Optional<DeviceArray> weight,
            Optional<DeviceArray> bias,
            int rows,
            int width,
            int group) {
        if (width % group != 0) {
            throw new IllegalArgumentException(width + " channels in norm groups of " + group);
        }
        double[] source = numbers(x);
        Optional<double[]> factors = weight.map(this::numbers);
        Optional<double[]> shifts = bias.map(this::numbers);
        double[] target = new double[source.length];
        for (int base = 0; base < rows * width; base += group) {
            double mean = 0;
            if (norm.kind() == Norm.Kind.LAYER) {
                for (int i = base; i < base + group; i++) {
                    mean += source[i] / group;
                }
            }
            double square = 0;
            for (int i = base; i < base + group; i++) {
                square += (source[i] - mean) * (source[i] - mean) / group;
            }
            double scale = 1 / Math.sqrt(square + norm.epsilon());
            for (int i = base; i < base + group; i++) {
                int channel = i % width;
                double factor = factors.isPresent() ? factors.get()[channel] + norm.weightOffset() : 1;
                double shift = shifts.isPresent() ? shifts.get()[channel] : 0;
                target[i] = (source[i] - mean) * scale * factor + shift;
            }
        }
        return new WideArray(target);
    }

    @Override
    public DeviceArray convolve(
            DeviceArray x,
            DeviceArray weight,
            Optional<DeviceArray> bias,
            int batch,
            int length,
            int channels,
            int kernel,
            Activation f) {
        double[] source = numbers(x);
        double[] taps = numbers(weight);
        Optional<double[]> start = bias.map(this::numbers);
        double[] target = new double[source.length];
        IntStream.range(0, batch * length).parallel().forEach(token -> {
            for (int c = 0; c < channels; c++) {
                double sum = start.isPresent() ? start.get()[c] : 0;
                for (int k = Math.max(0, kernel - 1 - token % length); k < kernel; k++) {
                    sum += taps[c * kernel + k] * source[(token - (kernel - 1) + k) * channels + c];
                }
                target[token * channels + c] = f.of(sum);
            }
        });
        return new WideArray(target);
    }

    @Override
    public DeviceArray scan(
            ScanShape shape,
            TimeStep timeStep,
            DeviceArray x,
            DeviceArray dt,
            DeviceArray aLog,
            DeviceArray b,
            DeviceArray c,
            Optional<DeviceArray> d,
            Optional<DeviceArray> dtBias) {
        ReferenceScan.Inputs inputs = new ReferenceScan.Inputs(
                numbers(x),
                numbers(dt),
                numbers(aLog),
                numbers(b),
                numbers(c),
                d.map(this::numbers),
                Optional.empty(),
                dtBias.map(this::numbers));
        return new WideArray(ReferenceScan.run(shape, timeStep, inputs).y());
    }

    @Override
    public DeviceArray rotate(DeviceArray x, Rotary rotary, int batch, int length, int heads, int headDim) {
        double[] y = numbers(x).clone();
        int pairs = rotary.rotated() / 2;
        for (int token = 0; token < batch * length; token++) {
            for (int pair = 0; pair < pairs; pair++) {
                double angle = rotary.angle(token % length, pair);
                for (int head = 0; head < heads; head++) {
                    int base = (token * heads + head) * headDim;
                    int first = base + rotary.first(pair);
                    int second = base + rotary.second(pair);
                    double a = y[first];
                    double b = y[second];
                    y[first] = a * Math.cos(angle) - b * Math.sin(angle);
                    y[second] = a * Math.sin(angle) + b * Math.cos(angle);
                }
            }
        }
        return new WideArray(y);
    }

    @Override
    public DeviceArray attend(
            DeviceArray q, DeviceArray k, DeviceArray v, AttentionShape shape, double scale, boolean causal) {
        double[] out = new double[numbers(q).length];
        WideAttention attention = new WideAttention(numbers(q), numbers(k), numbers(v), shape, scale, causal);
        IntStream.range(0, shape.batch() * shape.length() * shape.heads())
                .parallel()
                .forEach(cell -> attention.head(cell, out));
        return new WideArray(out);
    }

    @Override
    public float[] rowMaxima(DeviceArray x, int rows, int width) {
        return RowNorms.maxima(download(x), rows, width);
    }

    @Override
    public float[] rowNorms(DeviceArray x, int rows, int width) {
        return RowNorms.euclidean(download(x), rows, width);
    }

    @Override
    public void close() {
        scratches.clear();
    }
}
