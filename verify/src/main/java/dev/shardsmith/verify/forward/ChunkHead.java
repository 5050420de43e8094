package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;

/** One head of one row in one chunk of {@link ChunkedScan}. */
final class ChunkHead {
    /** Tokens that share one reference point of the decay, a multiple of the rows that are added at once. */
    private static final int TILE = 18;

    private final ScanProblem problem;
    private final ScanShape shape;
    private final ChunkGroup group;
    private final int head;
    private final int firstToken;
    private final int start;
    private final int stateBase;
    private final double[] sum;
    private final float[] dt;
    /** x turned over, [headDim][count]. */
    private final float[][] x;

    ChunkHead(ScanProblem problem, ChunkGroup group, int row, int head, int start) {
        this.problem = problem;
        this.shape = problem.shape();
        this.group = group;
        this.head = head;
        this.start = start;
        this.firstToken = row * shape.length() + start;
        this.stateBase = (row * shape.heads() + head) * shape.headDim() * shape.state();
        this.sum = new double[group.count()];
        this.dt = new float[group.count()];
        this.x = new float[shape.headDim()][group.count()];
        prepare();
    }

    private void prepare() {
        double rate = -Math.exp(problem.aLog()[head]);
        float bias = problem.dtBias().map(all -> all[head]).orElse(0f);
        double running = 0;
        for (int i = 0; i < group.count(); i++) {
            int token = firstToken + i;
            double step = problem.timeStep().of((double) problem.dt()[token * shape.heads() + head] + bias);
            running += step * rate;
            dt[i] = (float) step;
            sum[i] = running;
            int base = token * shape.inner() + head * shape.headDim();
            for (int p = 0; p < shape.headDim(); p++) {
                x[p][i] = problem.x()[base + p];
            }
        }
    }

    void run(float[] y, float[] states, Optional<float[]> sequences) {
        float[][] state = new float[shape.headDim()][];
        for (int p = 0; p < state.length; p++) {
            int base = stateBase + p * shape.state();
            state[p] = Arrays.copyOfRange(states, base, base + shape.state());
        }
        float[][] out = new float[shape.headDim()][group.count()];
        int carried = carriedTokens();
        addCarried(out, state, carried);
        addWithin(out);
        store(out, y);
        sequences.ifPresent(all -> storeSequences(state, carried, all));
        float[][] next = stateAfter(group.count() - 1, state, carried);
        for (int p = 0; p < next.length; p++) {
            System.arraycopy(next[p], 0, states, stateBase + p * shape.state(), shape.state());
        }
    }

    /** Tokens at the chunk's start that go on with the sequence before it; sequence 0 goes on with the initial state. */
    private int carriedTokens() {
        if (problem.sequenceIds().isEmpty()) {
            return group.count();
        }
        int[] ids = problem.sequenceIds().get();
        int before = start == 0 ? 0 : ids[firstToken - 1];
        return ids[firstToken] == before ? group.sequenceEnd()[0] : 0;
    }

    /** {@code exp(s_i) · H · C_i}. */
    private void addCarried(float[][] out, float[][] state, int carried) {
        for (int p = 0; p < out.length; p++) {
            RankUpdate.add(out[p], group.cTurned(), 0, shape.state(), state[p], 0, 0, carried);
        }
        for (int i = 0; i < carried; i++) {
            float decay = (float) Math.exp(sum[i]);
            for (float[] channel : out) {
                channel[i] *= decay;
            }
        }
    }

    /** {@code Σ_{j≤i} (C_i · B_j) · exp(s_i - s_j) · dt_j · x_j}. */
    private void addWithin(float[][] out) {
        int count = group.count();
        float[][] mixing = new float[TILE][count];
        float[] decay = new float[count];
        for (int tile = 0; tile < count; tile += TILE) {
            int tileEnd = Math.min(count, tile + TILE);
            for (int i = tileEnd; i < count; i++) {
                decay[i] = (float) Math.exp(sum[i] - sum[tileEnd - 1]);
            }
            for (int j = tile; j < tileEnd; j++) {
                mix(mixing[j - tile], decay, tile, tileEnd, j);
            }
            for (int p = 0; p < out.length; p++) {
                RankUpdate.add(out[p], mixing, 0, tileEnd - tile, x[p], tile, tile, count);
            }
        }
    }

    private void mix(float[] target, float[] decay, int tile, int tileEnd, int j) {
        float[] products = group.products()[j];
        int end = group.sequenceEnd()[j];
        Arrays.fill(target, tile, j, 0);
        for (int i = j; i < Math.min(tileEnd, end); i++) {
            target[i] = products[i] * (float) Math.exp(sum[i] - sum[j]) * dt[j];
        }
        scale(target, products, decay, (float) Math.exp(sum[tileEnd - 1] - sum[j]) * dt[j], tileEnd, end);
        Arrays.fill(target, Math.max(end, j), group.count(), 0);
    }

    private static void scale(float[] target, float[] products, float[] decay, float factor, int from, int to) {
        for (int i = from; i < to; i++) {
            target[i] = products[i] * decay[i] * factor;
        }
    }

    /** The state after token {@code last} of the chunk, of the sequence that this token belongs to. */
    private float[][] stateAfter(int last, float[][] state, int carried) {
        int first = last;
        while (first > 0 && group.sequenceEnd()[first - 1] > last) {
            first--;
        }
        int tokens = last + 1 - first;
        float[] weights = new float[tokens];
        for (int j = 0; j < tokens; j++) {
            weights[j] = (float) (Math.exp(sum[last] - sum[first + j]) * dt[first + j]);
        }
        float kept = last < carried ? (float) Math.exp(sum[last]) : 0;
        float[][] next = new float[shape.headDim()][shape.state()];
        float[] scaled = new float[tokens];
        for (int p = 0; p < next.length; p++) {
            for (int j = 0; j < tokens; j++) {
                scaled[j] = weights[j] * x[p][first + j];
            }
            for (int n = 0; n < next[p].length; n++) {
                next[p][n] = kept * state[p][n];
            }
            RankUpdate.add(next[p], group.b(), first, tokens, scaled, 0, 0, shape.state());
        }
        return next;
    }

    private void storeSequences(float[][] state, int carried, float[] all) {
        int[] starts = problem.sequenceStarts().orElseThrow();
        for (int sequence = 0; sequence + 1 < starts.length; sequence++) {
            int last = starts[sequence + 1] - 1 - start;
            if (last >= 0 && last < group.count()) {
                float[][] ended = stateAfter(last, state, carried);
                int base = sequence * shape.stateSize() + head * shape.headDim() * shape.state();
                for (int p = 0; p < ended.length; p++) {
                    System.arraycopy(ended[p], 0, all, base + p * shape.state(), shape.state());
                }
            }
        }
    }

    private void store(float[][] out, float[] y) {
        for (int i = 0; i < group.count(); i++) {
            int base = (firstToken + i) * shape.inner() + head * shape.headDim();
            for (int p = 0; p < out.length; p++) {
                double value = out[p][i] + skip(p) * x[p][i];
                if (problem.z().isPresent()) {
                    value *= Activation.SILU.of(problem.z().get()[base + p]);
                }
                y[base + p] = (float) value;
            }
        }
    }

    private double skip(int p) {
        if (problem.d().isEmpty()) {
            return 0;
        }
        return problem.d().get()[problem.skipPerChannel() ? head * shape.headDim() + p : head];
    }
}
