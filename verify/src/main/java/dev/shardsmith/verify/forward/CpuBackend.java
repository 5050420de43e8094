package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/** All operations on the processor, in plain Java that HotSpot vectorises; always usable. */
public final class CpuBackend implements ForwardBackend {
    private final ScratchPool<MatrixProduct.Scratch> scratches = new ScratchPool<>(MatrixProduct.Scratch::new);

    /** Makes a backend; it holds scratch space between its operations. */
    public CpuBackend() {}

    @Override
    public String name() {
        return "cpu";
    }

    @Override
    public Availability availability() {
        return Availability.on(Runtime.getRuntime().availableProcessors() + " processors");
    }

    @Override
    public ScanResult scan(ScanProblem problem) {
        return ChunkedScan.run(problem);
    }

    @Override
    public DeviceArray upload(float[] values) {
        return new CpuArray(values);
    }

    @Override
    public float[] download(DeviceArray array) {
        return CpuArray.of(array);
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
        float[] start = bias.map(CpuArray::of).orElse(new float[0]);
        return product(x, WeightTiles.of(CpuArray.of(weight), in), start, rows, in, out);
    }

    @Override
    public Optional<WeightProduct> product(
            DeviceArray x, StoredElements weight, Optional<WeightSource> bias, int rows, int in, int out)
            throws IOException {
        float[] start = bias.isPresent() ? bias.get().load() : new float[0];
        return Optional.of(product(x, WeightTiles.of(weight, in), start, rows, in, out));
    }

    private WeightProduct product(DeviceArray x, WeightTiles weight, float[] bias, int rows, int in, int out)
            throws IOException {
        MatrixProduct.Result result = new MatrixProduct(CpuArray.of(x), weight, bias, rows, in, out).run(scratches);
        return new WeightProduct(new CpuArray(result.y()), result.largestRow());
    }

    @Override
    public DeviceArray columns(DeviceArray x, int rows, int width, int from, int count) {
        return new CpuArray(Columns.pick(CpuArray.of(x), new float[rows * count], rows, width, from, count));
    }

    @Override
    public DeviceArray concat(DeviceArray[] parts, int rows, int[] widths) {
        float[][] sources = Arrays.stream(parts).map(CpuArray::of).toArray(float[][]::new);
        float[] target =
                new float[Math.multiplyExact(rows, Arrays.stream(widths).sum())];
        return new CpuArray(Columns.join(sources, target, rows, widths));
    }

    @Override
    public DeviceArray add(DeviceArray a, DeviceArray b, float factor) {
        float[] left = CpuArray.of(a);
        float[] right = CpuArray.of(b);
        float[] sum = new float[left.length];
        for (int i = 0; i < sum.length; i++) {
            sum[i] = left[i] + factor * right[i];
        }
        return new CpuArray(sum);
    }

    @Override
    public DeviceArray activate(DeviceArray x, Activation f) {
        float[] source = CpuArray.of(x);
        float[] target = new float[source.length];
        blocks(source.length, (from, to) -> {
            for (int i = from; i < to; i++) {
                target[i] = (float) f.of(source[i]);
            }
        });
        return new CpuArray(target);
    }

    @Override
    public DeviceArray gate(DeviceArray gate, DeviceArray value, Activation f) {
        float[] gates = CpuArray.of(gate);
        float[] values = CpuArray.of(value);
        float[] target = new float[values.length];
        blocks(values.length, (from, to) -> {
            for (int i = from; i < to; i++) {
                target[i] = (float) (f.of(gates[i]) * values[i]);
            }
        });
        return new CpuArray(target);
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
        return new CpuArray(RowNorms.normalize(
                CpuArray.of(x), norm, weight.map(CpuArray::of), bias.map(CpuArray::of), rows, width, group));
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
        float[] source = CpuArray.of(x);
        float[] taps = CpuArray.of(weight);
        Optional<float[]> start = bias.map(CpuArray::of);
        float[] target = new float[source.length];
        IntStream.range(0, batch * length).parallel().forEach(token -> {
            double[] sum = new double[channels];
            if (start.isPresent()) {
                for (int c = 0; c < channels; c++) {
                    sum[c] = start.get()[c];
                }
            }
            for (int k = Math.max(0, kernel - 1 - token % length); k < kernel; k++) {
                int base = (token - (kernel - 1) + k) * channels;
                for (int c = 0; c < channels; c++) {
                    sum[c] += (double) taps[c * kernel + k] * source[base + c];
                }
            }
            for (int c = 0; c < channels; c++) {
                target[token * channels + c] = (float) f.of(sum[c]);
            }
        });
        return new CpuArray(target);
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
        ScanProblem problem = ScanProblem.of(
                        shape, CpuArray.of(x), CpuArray.of(dt), CpuArray.of(aLog), CpuArray.of(b), CpuArray.of(c))
                .withTimeStep(dtBias.map(CpuArray::of), timeStep);
        if (d.isPresent()) {
            problem = problem.withD(CpuArray.of(d.get()));
        }
        return new CpuArray(scan(problem).y());
    }

    @Override
    public DeviceArray rotate(DeviceArray x, Rotary rotary, int batch, int length, int heads, int headDim) {
        return new CpuArray(CpuAttention.rotate(CpuArray.of(x), rotary, batch, length, heads, headDim));
    }

    @Override
    public DeviceArray attend(
            DeviceArray q, DeviceArray k, DeviceArray v, AttentionShape shape, double scale, boolean causal) {
        return new CpuArray(CpuAttention.run(CpuArray.of(q), CpuArray.of(k), CpuArray.of(v), shape, scale, causal));
    }

    @Override
    public float[] rowMaxima(DeviceArray x, int rows, int width) {
        return RowNorms.maxima(CpuArray.of(x), rows, width);
    }

    @Override
    public float[] rowNorms(DeviceArray x, int rows, int width) {
        return RowNorms.euclidean(CpuArray.of(x), rows, width);
    }

    @Override
    public void close() {
        scratches.clear();
    }

    /** Work on elements [from, to). */
    private interface Range {
        void run(int from, int to);
    }

    private static void blocks(int length, Range range) {
        int block = 1 << 14;
        IntStream.range(0, (length + block - 1) / block)
                .parallel()
                .forEach(i -> range.run(i * block, Math.min(length, (i + 1) * block)));
    }
}
