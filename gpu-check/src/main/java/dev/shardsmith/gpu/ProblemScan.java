package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanResult;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Brings a scan from the heap to a card and its results back. */
final class ProblemScan {
    private final Gpu gpu;
    private final ScanPrecision precision;

    ProblemScan(Gpu gpu, ScanPrecision precision) {
        this.gpu = gpu;
        this.precision = precision;
    }

    ScanResult run(ScanProblem problem) throws CheckpointException {
        ScanShape shape = problem.shape();
        if (shape.length() == 0) {
            float[] states = problem.initialState()
                    .map(float[]::clone)
                    .orElseGet(() -> new float[shape.batch() * shape.stateSize()]);
            return new ScanResult(new float[0], states, Optional.empty());
        }
        List<GpuArray> held = new ArrayList<>();
        try {
            ScanInputs inputs = inputs(problem, held);
            int width = precision == ScanPrecision.FLOAT32 ? Float.BYTES : Short.BYTES;
            GpuArray y = keep(held, gpu.memory().array(problem.x().length, width));
            GpuArray states = keep(held, gpu.memory().floats((long) shape.batch() * shape.stateSize()));
            Optional<float[]> sequences = Optional.empty();
            if (problem.sequenceStarts().isPresent()) {
                sequences =
                        Optional.of(sequences(inputs, problem.sequenceStarts().get(), y, states));
            } else {
                whole(inputs, y, states);
            }
            GpuArray result = precision == ScanPrecision.FLOAT32 ? y : keep(held, new LayerKernels(gpu).toFloat32(y));
            return new ScanResult(
                    gpu.transfers().out(result, 0, problem.x().length),
                    gpu.transfers().out(states, 0, shape.batch() * shape.stateSize()),
                    sequences);
        } finally {
            held.forEach(GpuArray::close);
        }
    }

    private void whole(ScanInputs inputs, GpuArray y, GpuArray states) throws CheckpointException {
        HopperScan hopper = new HopperScan(gpu);
        if (precision == ScanPrecision.BFLOAT16 && hopper.fits(inputs)) {
            hopper.run(inputs, y, states);
        } else {
            new ChunkScan(gpu, precision).run(inputs, y, states);
        }
    }

    /** One packed sequence after the other, because each one's last state is wanted. */
    private float[] sequences(ScanInputs inputs, int[] starts, GpuArray y, GpuArray states) throws CheckpointException {
        int size = inputs.shape().stateSize();
        float[] all = new float[Math.multiplyExact(starts.length - 1, size)];
        ChunkScan scan = new ChunkScan(gpu, precision);
        for (int i = 0; i + 1 < starts.length; i++) {
            scan.run(inputs, new ChunkScan.Tokens(0, 1, starts[i], starts[i + 1], i == 0), y, states);
            gpu.transfers().out(states, 0, all, i * size, size);
        }
        return all;
    }

    private ScanInputs inputs(ScanProblem problem, List<GpuArray> held) throws CheckpointException {
        return new ScanInputs(
                problem.shape(),
                problem.timeStep(),
                elements(problem.x(), held),
                elements(problem.dt(), held),
                keep(held, gpu.upload(problem.aLog())),
                elements(problem.b(), held),
                elements(problem.c(), held),
                optional(problem.d(), held),
                problem.z().isPresent() ? elements(problem.z().get(), held) : null,
                optional(problem.dtBias(), held),
                optional(problem.initialState(), held),
                problem.sequenceIds().isPresent()
                        ? keep(held, gpu.upload(problem.sequenceIds().get()))
                        : null);
    }

    private GpuArray optional(Optional<float[]> values, List<GpuArray> held) throws CheckpointException {
        return values.isPresent() ? keep(held, gpu.upload(values.get())) : null;
    }

    /** Uploads in the precision of the scan. */
    private GpuArray elements(float[] values, List<GpuArray> held) throws CheckpointException {
        GpuArray array = gpu.upload(values);
        if (precision == ScanPrecision.FLOAT32) {
            return keep(held, array);
        }
        try (array) {
            return keep(held, new LayerKernels(gpu).toBfloat16(array));
        }
    }

    private static GpuArray keep(List<GpuArray> held, GpuArray array) {
        held.add(array);
        return array;
    }
}
