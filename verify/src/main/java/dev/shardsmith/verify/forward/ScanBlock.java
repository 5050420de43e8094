package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;

/**
 * Some heads of one group in one row of {@link ChunkedScan}, chunk after chunk.
 *
 * <p>Their channels lie side by side, so that the products with the state, which is kept as [state][channels], go over long rows. A
 * decay is a running product of the steps' decays: one exponential a token and head is all that is needed.
 */
final class ScanBlock {
    private final ScanProblem problem;
    private final ScanShape shape;
    private final int row;
    private final int group;
    private final int firstHead;
    private final int heads;
    private final int chunk;
    private final int width;
    private final float[][] out;
    private final float[][] inputs;
    private final float[][] weighted;
    private final float[][] turnedB;
    /** {@code products[i][j] = C_i · B_j}. */
    private final float[][] products;

    private final float[] mixing;
    /** For each head and token the decay of the state in that token's step. */
    private final double[][] decay;

    private final double[][] dt;
    /** For each token of the chunk the first of its sequence, at least 0. */
    private final int[] sequenceStart;

    private float[][] state;
    private float[][] next;

    /** Prepares heads [firstHead, firstHead + heads), which all use one group. */
    ScanBlock(ScanProblem problem, int row, int group, int firstHead, int heads, int chunk) {
        this.problem = problem;
        this.shape = problem.shape();
        this.row = row;
        this.group = group;
        this.firstHead = firstHead;
        this.heads = heads;
        this.chunk = chunk;
        this.width = heads * shape.headDim();
        this.out = RankUpdate.rows(chunk, width);
        this.inputs = RankUpdate.rows(chunk, width);
        this.weighted = RankUpdate.rows(chunk, width);
        this.turnedB = RankUpdate.rows(shape.state(), chunk);
        this.products = RankUpdate.rows(chunk, chunk);
        this.mixing = new float[chunk * chunk];
        this.decay = new double[heads][chunk];
        this.dt = new double[heads][chunk];
        this.sequenceStart = new int[chunk];
        this.state = RankUpdate.rows(shape.state(), width);
        this.next = RankUpdate.rows(shape.state(), width);
    }

    void run(float[] y, float[] states, Optional<float[]> sequences) {
        int base = stateBase(row);
        for (int n = 0; n < shape.state(); n++) {
            for (int c = 0; c < width; c++) {
                state[n][c] = states[base + c * shape.state() + n];
            }
        }
        for (int start = 0; start < shape.length(); start += chunk) {
            chunk(start, Math.min(chunk, shape.length() - start), y, sequences);
        }
        store(state, states, base);
    }

    /** Where this block's part of the states of a sequence begins. */
    private int stateBase(int sequence) {
        return sequence * shape.stateSize() + firstHead * shape.headDim() * shape.state();
    }

    private void store(float[][] from, float[] to, int base) {
        for (int n = 0; n < shape.state(); n++) {
            for (int c = 0; c < width; c++) {
                to[base + c * shape.state() + n] = from[n][c];
            }
        }
    }

    private void chunk(int start, int count, float[] y, Optional<float[]> sequences) {
        int firstToken = row * shape.length() + start;
        findSequences(firstToken, count);
        int carried = carriedTokens(firstToken, start, count);
        for (int h = 0; h < heads; h++) {
            step(h, firstToken, count);
        }
        for (int i = 0; i < count; i++) {
            int base = (firstToken + i) * shape.inner() + firstHead * shape.headDim();
            System.arraycopy(problem.x(), base, inputs[i], 0, width);
            Arrays.fill(out[i], 0);
        }
        addCarried(firstToken, carried);
        multiply(firstToken, count);
        for (int h = 0; h < heads; h++) {
            addWithin(h, count);
        }
        for (int i = 0; i < count; i++) {
            store(firstToken + i, out[i], inputs[i], y);
        }
        sequences.ifPresent(all -> storeSequences(firstToken, start, count, carried, all));
        stateAfter(count - 1, firstToken, carried);
        float[][] before = state;
        state = next;
        next = before;
    }

    private void findSequences(int firstToken, int count) {
        Arrays.fill(sequenceStart, 0);
        if (problem.sequenceIds().isPresent()) {
            int[] ids = problem.sequenceIds().get();
            for (int i = 1; i < count; i++) {
                sequenceStart[i] = ids[firstToken + i] == ids[firstToken + i - 1] ? sequenceStart[i - 1] : i;
            }
        }
    }

    /** Tokens at the chunk's start that go on with the sequence before it; sequence 0 goes on with the initial state. */
    private int carriedTokens(int firstToken, int start, int count) {
        if (problem.sequenceIds().isEmpty()) {
            return count;
        }
        int[] ids = problem.sequenceIds().get();
        int before = start == 0 ? 0 : ids[firstToken - 1];
        int carried = 0;
        while (carried < count && ids[firstToken + carried] == before) {
            carried++;
        }
        return carried;
    }

    private void step(int h, int firstToken, int count) {
        int head = firstHead + h;
        double rate = -Math.exp(problem.aLog()[head]);
        float bias = problem.dtBias().isPresent() ? problem.dtBias().get()[head] : 0;
        for (int i = 0; i < count; i++) {
            double raw = problem.dt()[(firstToken + i) * shape.heads() + head];
            dt[h][i] = problem.timeStep().of(raw + bias);
            decay[h][i] = Math.exp(dt[h][i] * rate);
        }
    }

    /** {@code exp(s_i) · H · C_i}. */
    private void addCarried(int firstToken, int carried) {
        RankUpdate.Factors c = new RankUpdate.Factors(problem.c(), column(firstToken), shape.groupState(), 1);
        RankUpdate.addAll(out, 0, carried, state, 0, shape.state(), c, 0, width);
        for (int h = 0; h < heads; h++) {
            double left = 1;
            for (int i = 0; i < carried; i++) {
                left *= decay[h][i];
                scale(out[i], h * shape.headDim(), (h + 1) * shape.headDim(), (float) left);
            }
        }
    }

    /** Where B or C of a token begins. */
    private int column(int token) {
        return token * shape.groupState() + group * shape.state();
    }

    private static void scale(float[] values, int from, int to, float factor) {
        for (int c = from; c < to; c++) {
            values[c] *= factor;
        }
    }

    /** What all heads of the group share: the products of C and B. */
    private void multiply(int firstToken, int count) {
        for (int j = 0; j < count; j++) {
            int base = column(firstToken + j);
            for (int n = 0; n < shape.state(); n++) {
                turnedB[n][j] = problem.b()[base + n];
            }
            Arrays.fill(products[j], 0);
        }
        RankUpdate.Factors c = new RankUpdate.Factors(problem.c(), column(firstToken), shape.groupState(), 1);
        RankUpdate.addAll(products, 0, count, turnedB, 0, shape.state(), c, 0, count);
    }

    /** {@code Σ_{j≤i} (C_i · B_j) · exp(s_i - s_j) · dt_j · x_j}. */
    private void addWithin(int h, int count) {
        for (int i = 0; i < count; i++) {
            int base = i * chunk;
            double left = 1;
            for (int j = i; j >= sequenceStart[i]; j--) {
                mixing[base + j] = (float) (products[i][j] * left * dt[h][j]);
                left *= decay[h][j];
            }
            Arrays.fill(mixing, base, base + sequenceStart[i], 0);
            Arrays.fill(mixing, base + i + 1, base + count, 0);
        }
        addTriangle(out, inputs, mixing, chunk, count, h * shape.headDim(), (h + 1) * shape.headDim());
    }

    /** {@code out_i += Σ_{j≤i} mixing[i · stride + j] · inputs_j} in channels [from, to). */
    static void addTriangle(float[][] out, float[][] inputs, float[] mixing, int stride, int count, int from, int to) {
        for (int i = 0; i < count; i += RankUpdate.BLOCK) {
            int some = Math.min(RankUpdate.BLOCK, count - i);
            RankUpdate.Factors m = new RankUpdate.Factors(mixing, i * stride, stride, 1);
            RankUpdate.addAll(out, i, some, inputs, 0, i + some, m, from, to);
        }
    }

    /** Puts the state after token {@code last} of the chunk, of the sequence that this token belongs to, into {@code next}. */
    private void stateAfter(int last, int firstToken, int carried) {
        int first = sequenceStart[last];
        for (int h = 0; h < heads; h++) {
            int from = h * shape.headDim();
            int to = from + shape.headDim();
            double left = 1;
            for (int j = last; j >= first; j--) {
                scaled(weighted[j], inputs[j], (float) (left * dt[h][j]), from, to);
                left *= decay[h][j];
            }
            float kept = last < carried ? (float) left : 0;
            for (int n = 0; n < shape.state(); n++) {
                scaled(next[n], state[n], kept, from, to);
            }
        }
        RankUpdate.Factors b = new RankUpdate.Factors(problem.b(), column(firstToken + first), 1, shape.groupState());
        RankUpdate.addAll(next, 0, shape.state(), weighted, first, last + 1 - first, b, 0, width);
    }

    private static void scaled(float[] target, float[] source, float factor, int from, int to) {
        for (int c = from; c < to; c++) {
            target[c] = factor * source[c];
        }
    }

    private void storeSequences(int firstToken, int start, int count, int carried, float[] all) {
        int[] starts = problem.sequenceStarts().orElseThrow();
        for (int sequence = 0; sequence + 1 < starts.length; sequence++) {
            int last = starts[sequence + 1] - 1 - start;
            if (last >= 0 && last < count) {
                stateAfter(last, firstToken, carried);
                store(next, all, stateBase(sequence));
            }
        }
    }

    private void store(int token, float[] sums, float[] x, float[] y) {
        int base = token * shape.inner() + firstHead * shape.headDim();
        if (problem.d().isEmpty()) {
            System.arraycopy(sums, 0, y, base, width);
        } else {
            float[] d = problem.d().get();
            boolean perChannel = problem.skipPerChannel();
            for (int h = 0; h < heads; h++) {
                int from = h * shape.headDim();
                for (int c = from; c < from + shape.headDim(); c++) {
                    float skip = d[perChannel ? firstHead * shape.headDim() + c : firstHead + h];
                    y[base + c] = Math.fma(skip, x[c], sums[c]);
                }
            }
        }
        if (problem.z().isPresent()) {
            float[] z = problem.z().get();
            for (int c = base; c < base + width; c++) {
                y[c] = (float) (y[c] * Activation.SILU.of(z[c]));
            }
        }
    }
}
