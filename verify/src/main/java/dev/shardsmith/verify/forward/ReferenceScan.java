package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * The state-space scan as it is defined: one token after the other, in double precision.
 *
 * <p>Slow and simple on purpose: everything faster is measured against it.
 */
public final class ReferenceScan {
    private ReferenceScan() {}

    /**
     * What the reference computes, unrounded.
     *
     * @param y [batch, length, heads, headDim]
     * @param finalState [batch, heads, headDim, state]
     * @param sequenceStates [sequences, heads, headDim, state]
     */
    public record Result(double[] y, double[] finalState, Optional<double[]> sequenceStates) {
        ScanResult rounded() {
            return new ScanResult(
                    ReferenceScan.rounded(y),
                    ReferenceScan.rounded(finalState),
                    sequenceStates.map(ReferenceScan::rounded));
        }
    }

    /** Rounds to float. */
    static float[] rounded(double[] values) {
        float[] rounded = new float[values.length];
        for (int i = 0; i < rounded.length; i++) {
            rounded[i] = (float) values[i];
        }
        return rounded;
    }

    /**
     * The numbers of a scan in double precision, shaped as those of {@link ScanProblem}.
     */
    record Inputs(
            double[] x,
            double[] dt,
            double[] aLog,
            double[] b,
            double[] c,
            Optional<double[]> d,
            Optional<double[]> z,
            Optional<double[]> dtBias) {}

    /** The state that each sequence begins with, and where sequences are packed. */
    private record Packing(
            Optional<float[]> initialState, Optional<int[]> sequenceIds, Optional<int[]> sequenceStarts) {}

    /** Runs a scan; rows and heads are independent and run in parallel. */
    public static Result run(ScanProblem problem) {
        Inputs inputs = new Inputs(
                WideArray.widened(problem.x()),
                WideArray.widened(problem.dt()),
                WideArray.widened(problem.aLog()),
                WideArray.widened(problem.b()),
                WideArray.widened(problem.c()),
                problem.d().map(WideArray::widened),
                problem.z().map(WideArray::widened),
                problem.dtBias().map(WideArray::widened));
        Packing packing = new Packing(problem.initialState(), problem.sequenceIds(), problem.sequenceStarts());
        return run(problem.shape(), problem.timeStep(), inputs, packing);
    }

    /** Runs a scan from zero states without packed sequences. */
    static Result run(ScanShape shape, TimeStep timeStep, Inputs inputs) {
        return run(shape, timeStep, inputs, new Packing(Optional.empty(), Optional.empty(), Optional.empty()));
    }

    private static Result run(ScanShape shape, TimeStep timeStep, Inputs inputs, Packing packing) {
        double[] y = new double[inputs.x.length];
        double[] states = packing.initialState
                .map(WideArray::widened)
                .orElseGet(() -> new double[Math.multiplyExact(shape.batch(), shape.stateSize())]);
        Optional<double[]> sequences = packing.sequenceStarts.map(
                starts -> new double[Math.multiplyExact(starts.length - 1, shape.stateSize())]);
        IntStream.range(0, shape.batch() * shape.heads()).parallel().forEach(index -> {
            int row = index / shape.heads();
            int head = index % shape.heads();
            new OneHead(shape, timeStep, inputs, packing, row, head, y, states, sequences).run();
        });
        return new Result(y, states, sequences);
    }

    /** One head of one row; {@code state} holds its [headDim, state] at {@code stateBase}. */
    private record OneHead(
            ScanShape shape,
            TimeStep timeStep,
            Inputs inputs,
            Packing packing,
            int row,
            int head,
            double[] y,
            double[] state,
            Optional<double[]> sequences) {

        void run() {
            double decayRate = -Math.exp(inputs.aLog[head]);
            double bias = inputs.dtBias.map(all -> all[head]).orElse(0.0);
            int stateBase = (row * shape.heads() + head) * shape.headDim() * shape.state();
            int size = shape.headDim() * shape.state();
            int previous = 0;
            for (int t = 0; t < shape.length(); t++) {
                int token = row * shape.length() + t;
                if (packing.sequenceIds.isPresent()) {
                    int id = packing.sequenceIds.get()[token];
                    if (id != previous) {
                        Arrays.fill(state, stateBase, stateBase + size, 0);
                    }
                    previous = id;
                }
                double step = timeStep.of(inputs.dt[token * shape.heads() + head] + bias);
                step(token, step, Math.exp(step * decayRate), stateBase);
                storeSequenceEnd(t, stateBase, size);
            }
        }

        private void step(int token, double dt, double decay, int stateBase) {
            int group = token * shape.groupState() + shape.groupOf(head) * shape.state();
            int channel = (token * shape.heads() + head) * shape.headDim();
            for (int p = 0; p < shape.headDim(); p++) {
                double x = inputs.x[channel + p];
                double sum = 0;
                int cell = stateBase + p * shape.state();
                for (int n = 0; n < shape.state(); n++) {
                    double next = decay * state[cell + n] + dt * x * inputs.b[group + n];
                    state[cell + n] = next;
                    sum += next * inputs.c[group + n];
                }
                double out = sum + skip(p) * x;
                if (inputs.z.isPresent()) {
                    out *= Activation.SILU.of(inputs.z.get()[channel + p]);
                }
                y[channel + p] = out;
            }
        }

        private double skip(int p) {
            if (inputs.d.isEmpty()) {
                return 0;
            }
            int index = inputs.d.get().length != shape.heads() ? head * shape.headDim() + p : head;
            return inputs.d.get()[index];
        }

        private void storeSequenceEnd(int t, int stateBase, int size) {
            if (sequences.isEmpty()) {
                return;
            }
            int ended = Arrays.binarySearch(packing.sequenceStarts.get(), t + 1);
            if (ended > 0) {
                int target = (ended - 1) * shape.stateSize() + head * size;
                System.arraycopy(state, stateBase, sequences.get(), target, size);
            }
        }
    }
}
