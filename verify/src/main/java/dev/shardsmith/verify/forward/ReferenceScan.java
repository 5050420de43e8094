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
    public record Result(double[] y, double[] finalState, Optional<double[]> sequenceStates) {}

    /** Runs a scan; rows and heads are independent and run in parallel. */
    public static Result run(ScanProblem problem) {
        ScanShape shape = problem.shape();
        double[] y = new double[problem.x().length];
        double[] states = initialStates(problem);
        Optional<double[]> sequences = problem.sequenceStarts()
                .map(starts -> new double[Math.multiplyExact(starts.length - 1, shape.stateSize())]);
        IntStream.range(0, shape.batch() * shape.heads()).parallel().forEach(index -> {
            new OneHead(problem, index / shape.heads(), index % shape.heads(), y, states, sequences).run();
        });
        return new Result(y, states, sequences);
    }

    private static double[] initialStates(ScanProblem problem) {
        ScanShape shape = problem.shape();
        double[] states = new double[Math.multiplyExact(shape.batch(), shape.stateSize())];
        if (problem.initialState().isPresent()) {
            float[] given = problem.initialState().get();
            for (int i = 0; i < states.length; i++) {
                states[i] = given[i];
            }
        }
        return states;
    }

    /** One head of one row; {@code state} holds its [headDim, state] at {@code stateBase}. */
    private record OneHead(
            ScanProblem problem, int row, int head, double[] y, double[] state, Optional<double[]> sequences) {

        void run() {
            ScanShape shape = problem.shape();
            double decayRate = -Math.exp(problem.aLog()[head]);
            double bias = problem.dtBias().map(all -> (double) all[head]).orElse(0.0);
            int stateBase = (row * shape.heads() + head) * shape.headDim() * shape.state();
            int size = shape.headDim() * shape.state();
            int previous = 0;
            for (int t = 0; t < shape.length(); t++) {
                int token = row * shape.length() + t;
                if (problem.sequenceIds().isPresent()) {
                    int id = problem.sequenceIds().get()[token];
                    if (id != previous) {
                        Arrays.fill(state, stateBase, stateBase + size, 0);
                    }
                    previous = id;
                }
                double step = problem.timeStep().of(problem.dt()[token * shape.heads() + head] + bias);
                step(token, step, Math.exp(step * decayRate), stateBase);
                storeSequenceEnd(t, stateBase, size);
            }
        }

        private void step(int token, double dt, double decay, int stateBase) {
            ScanShape shape = problem.shape();
            int group = token * shape.groupState() + shape.groupOf(head) * shape.state();
            int channel = (token * shape.heads() + head) * shape.headDim();
            for (int p = 0; p < shape.headDim(); p++) {
                double x = problem.x()[channel + p];
                double sum = 0;
                int cell = stateBase + p * shape.state();
                for (int n = 0; n < shape.state(); n++) {
                    double next = decay * state[cell + n] + dt * x * problem.b()[group + n];
                    state[cell + n] = next;
                    sum += next * problem.c()[group + n];
                }
                double out = sum + skip(p) * x;
                if (problem.z().isPresent()) {
                    out *= Activation.SILU.of(problem.z().get()[channel + p]);
                }
                y[channel + p] = out;
            }
        }

        private double skip(int p) {
            if (problem.d().isEmpty()) {
                return 0;
            }
            int index = problem.skipPerChannel() ? head * problem.shape().headDim() + p : head;
            return problem.d().get()[index];
        }

        private void storeSequenceEnd(int t, int stateBase, int size) {
            if (sequences.isEmpty()) {
                return;
            }
            int ended = Arrays.binarySearch(problem.sequenceStarts().get(), t + 1);
            if (ended > 0) {
                int target = (ended - 1) * problem.shape().stateSize() + head * size;
                System.arraycopy(state, stateBase, sequences.get(), target, size);
            }
        }
    }
}
