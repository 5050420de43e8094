package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.Availability;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.ScanBackend;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanResult;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.StoredElements;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WideMultiplier;
import java.io.IOException;
import java.util.Optional;

/**
 * Layers and scans on one NVIDIA card, in float32 that is never reduced to TF32.
 *
 * <p>The card is opened by the first operation and given back by {@link #close}. One backend serves one thread that computes,
 * and others that bring weights; several backends, on one card or on several, may run side by side. A failing driver throws {@link GpuFailure}.
 */
public final class GpuBackend implements ForwardBackend, WideMultiplier {
    private static final String NAME = "cuda";

    private final DriverSource source;
    private final int ordinal;
    private Gpu gpu;

    /** Where the driver comes from; a test gives its own. */
    interface DriverSource {
        /** The driver, loaded. */
        Driver get() throws CheckpointException;
    }

    /** The first card. Nothing is loaded before it is asked for. */
    public GpuBackend() {
        this(JCudaDriverCalls::start, 0);
    }

    GpuBackend(DriverSource source, int ordinal) {
        this.source = source;
        this.ordinal = ordinal;
    }

    /** A card by its number, from 0. */
    public static GpuBackend onCard(int ordinal) {
        return new GpuBackend(JCudaDriverCalls::start, ordinal);
    }

    @Override
    public String name() {
        return ordinal == 0 ? NAME : NAME + ":" + ordinal;
    }

    @Override
    public Optional<ScanBackend> onDevice(int number) {
        return Optional.of(new GpuBackend(source, number));
    }

    @Override
    public Availability availability() {
        return GpuReport.of(source).availability(ordinal);
    }

    /** An operation on the opened card. */
    private interface Operation<T> {
        T on(Gpu gpu) throws CheckpointException;
    }

    private synchronized <T> T run(Operation<T> operation) {
        try {
            return operation.on(opened());
        } catch (CheckpointException e) {
            throw new GpuFailure(e);
        }
    }

    /** The card, for the calls of this thread. */
    private synchronized Gpu opened() throws CheckpointException {
        if (gpu == null) {
            gpu = Gpu.open(source.get(), ordinal);
        }
        gpu.enter();
        return gpu;
    }

    private GpuArray own(DeviceArray array) {
        if (array instanceof GpuArray ours && ours.owner() == gpu.memory()) {
            return ours;
        }
        throw new IllegalArgumentException("an array of another backend: " + array.getClass());
    }

    private GpuArray own(Optional<DeviceArray> array) {
        return array.map(this::own).orElse(null);
    }

    @Override
    public ScanResult scan(ScanProblem problem) {
        return scan(problem, ScanPrecision.FLOAT32);
    }

    /**
     * Runs a scan in a given precision; with {@link ScanPrecision#BFLOAT16} x, dt, B, C and z are rounded first.
     *
     * @throws GpuFailure if the card failed
     */
    public ScanResult scan(ScanProblem problem, ScanPrecision precision) {
        return run(card -> new ProblemScan(card, precision).run(problem));
    }

    /** How two arrays differ, where {@code bound} has what each element may differ by. */
    public Difference compare(DeviceArray a, DeviceArray b, DeviceArray bound) {
        return run(card -> new LayerKernels(card).compare(own(a), own(b), own(bound), 0));
    }

    /** How two arrays differ, and how many elements by more than {@code limit}. */
    public Difference compare(DeviceArray a, DeviceArray b, float limit) {
        return run(card -> new LayerKernels(card).compare(own(a), own(b), null, limit));
    }

    @Override
    public DeviceArray upload(float[] values) {
        return run(card -> card.upload(values));
    }

    /** Not one with the operations: the file is read while another thread computes. */
    @Override
    public Optional<DeviceArray> upload(StoredElements weight) throws IOException {
        return new WeightUpload(opened()).of(weight);
    }

    @Override
    public long spareElements() {
        return run(card -> new WeightUpload(card).room());
    }

    @Override
    public long largestWeight() {
        return Math.max(ForwardBackend.super.largestWeight(), spareElements());
    }

    @Override
    public float[] download(DeviceArray array) {
        return run(card -> card.transfers().out(own(array), 0, Math.toIntExact(array.length())));
    }

    @Override
    public DeviceArray linear(
            DeviceArray x, DeviceArray weight, Optional<DeviceArray> bias, int rows, int in, int out) {
        return run(card -> new LayerKernels(card).linear(own(x), own(weight), own(bias), rows, in, out));
    }

    @Override
    public double[] multiplyWide(double[] x, DeviceArray weight, float[] bias, int rows, int in, int out) {
        return run(card -> {
            try (GpuArray factors = card.memory().doubles(x.length);
                    GpuArray start = bias.length == 0 ? null : card.upload(bias)) {
                card.transfers().in(x, factors);
                try (GpuArray y = new LayerKernels(card).linearWide(factors, own(weight), start, rows, in, out)) {
                    return card.transfers().outWide(y);
                }
            }
        });
    }

    @Override
    public DeviceArray columns(DeviceArray x, int rows, int width, int from, int count) {
        return run(card -> {
            GpuArray y = card.memory().floats((long) rows * count);
            new LayerKernels(card).copyColumns(own(x), width, from, y, count, 0, rows, count);
            return y;
        });
    }

    @Override
    public DeviceArray concat(DeviceArray[] parts, int rows, int[] widths) {
        return run(card -> {
            int width = 0;
            for (int part : widths) {
                width = Math.addExact(width, part);
            }
            GpuArray y = card.memory().floats((long) rows * width);
            int column = 0;
            for (int i = 0; i < parts.length; i++) {
                new LayerKernels(card).copyColumns(own(parts[i]), widths[i], 0, y, width, column, rows, widths[i]);
                column += widths[i];
            }
            return y;
        });
    }

    @Override
    public DeviceArray add(DeviceArray a, DeviceArray b, float factor) {
        return run(card -> new LayerKernels(card).add(own(a), own(b), factor));
    }

    @Override
    public DeviceArray activate(DeviceArray x, Activation f) {
        return run(card -> new LayerKernels(card).activate(own(x), f));
    }

    @Override
    public DeviceArray gate(DeviceArray gate, DeviceArray value, Activation f) {
        return run(card -> new LayerKernels(card).gate(own(gate), own(value), f));
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
        return run(card -> new LayerKernels(card).normalize(own(x), norm, own(weight), own(bias), rows, width, group));
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
        return run(card ->
                new LayerKernels(card).convolve(own(x), own(weight), own(bias), batch, length, channels, kernel, f));
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
        return run(card -> {
            ScanInputs inputs = new ScanInputs(
                    shape, timeStep, own(x), own(dt), own(aLog), own(b), own(c), own(d), null, own(dtBias), null, null);
            GpuArray y = card.memory().floats((long) shape.tokens() * shape.inner());
            if (shape.length() > 0) {
                try (GpuArray states = card.memory().floats((long) shape.batch() * shape.stateSize())) {
                    new ChunkScan(card, ScanPrecision.FLOAT32).run(inputs, y, states);
                }
            }
            return y;
        });
    }

    @Override
    public DeviceArray rotate(DeviceArray x, Rotary rotary, int batch, int length, int heads, int headDim) {
        return run(card -> new LayerKernels(card).rotate(own(x), rotary, batch, length, heads, headDim));
    }

    @Override
    public DeviceArray attend(
            DeviceArray q, DeviceArray k, DeviceArray v, AttentionShape shape, double scale, boolean causal) {
        return run(card -> new LayerKernels(card).attend(own(q), own(k), own(v), shape, (float) scale, causal));
    }

    @Override
    public float[] rowMaxima(DeviceArray x, int rows, int width) {
        return run(card -> new LayerKernels(card).perRow("row_maxima", own(x), rows, width));
    }

    @Override
    public float[] rowNorms(DeviceArray x, int rows, int width) {
        return run(card -> new LayerKernels(card).perRow("row_norms", own(x), rows, width));
    }

    @Override
    public synchronized void close() {
        if (gpu != null) {
            Gpu closing = gpu;
            gpu = null;
            try {
                closing.close();
            } catch (CheckpointException e) {
                throw new GpuFailure(e);
            }
        }
    }
}
