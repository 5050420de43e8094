package dev.shardsmith.verify.forward;

/**
 * The gated delta rule in double precision, as it is defined. For each value head, with q and k of length 1:
 *
 * <pre>
 *   S = exp(g) · S;   S = S + k ⊗ β·(v - Sᵀk);   o = Sᵀq / √keyDim        g = -exp(aLog) · softplus(alpha + dtBias), β = sigmoid(beta)
 * </pre>
 *
 * @param batch sequences
 * @param length tokens of each
 * @param keyHeads query and key heads; value head h has those of number h / (valueHeads / keyHeads)
 * @param valueHeads value heads
 * @param keyDim channels of a query or key head
 * @param valueDim channels of a value head
 * @param mixed [batch, length, 2·keyHeads·keyDim + valueHeads·valueDim]: queries, keys, values
 * @param beta [batch, length, valueHeads]
 * @param alpha [batch, length, valueHeads]
 * @param aLog [valueHeads]
 * @param dtBias [valueHeads]
 */
record DeltaScan(
        int batch,
        int length,
        int keyHeads,
        int valueHeads,
        int keyDim,
        int valueDim,
        double[] mixed,
        double[] beta,
        double[] alpha,
        float[] aLog,
        float[] dtBias) {
    /** Added to the squared length of a query or key. */
    private static final double EPSILON = 1e-6;

    /**
     * One value head of one sequence.
     *
     * @param cell number of the sequence times the value heads, plus that of the head
     * @param out [batch, length, valueHeads·valueDim], of which this head is written
     * @param inputs error of the mixed channels of each token
     * @param raw error of beta and alpha of each token
     * @param unit rounding of the precision in use
     * @return the error of each token of this head
     */
    double[] head(int cell, double[] out, double[] inputs, double[] raw, double unit) {
        int row = cell / valueHeads;
        int head = cell % valueHeads;
        int keys = keyHeads * keyDim;
        int keyHead = head / (valueHeads / keyHeads);
        double rate = Math.exp(aLog[head]);
        double[] state = new double[keyDim * valueDim];
        double[] error = new double[length];
        Spread spread = new Spread(keyDim, unit);
        for (int t = 0; t < length; t++) {
            int token = row * length + t;
            int base = token * (2 * keys + valueHeads * valueDim);
            Direction query = direction(base + keyHead * keyDim);
            Direction key = direction(base + keys + keyHead * keyDim);
            int value = base + 2 * keys + head * valueDim;
            double step = TimeStep.SOFTPLUS.of(alpha[token * valueHeads + head] + dtBias[head]);
            double decay = Math.exp(-step * rate);
            double write = 1 / (1 + Math.exp(-beta[token * valueHeads + head]));
            double largest = 0;
            for (int c = 0; c < valueDim; c++) {
                largest = Math.max(largest, Math.abs(mixed[value + c]));
                out[(token * valueHeads + head) * valueDim + c] =
                        channel(state, c, decay, write * mixed[value + c], write, key.values, query.values);
            }
            spread.step(
                    decay,
                    write,
                    largest,
                    inputs[token],
                    key.length,
                    rate * (raw[token] + 2 * unit * step),
                    raw[token]);
            error[t] = spread.output(inputs[token], query.length);
        }
        return error;
    }

    /** Advances one column of the state and reads it. */
    private double channel(
            double[] state, int c, double decay, double written, double write, double[] key, double[] query) {
        int first = c * keyDim;
        double held = 0;
        for (int i = 0; i < keyDim; i++) {
            state[first + i] *= decay;
            held += state[first + i] * key[i];
        }
        double change = written - write * held;
        double read = 0;
        for (int i = 0; i < keyDim; i++) {
            state[first + i] += key[i] * change;
            read += state[first + i] * query[i];
        }
        return read / Math.sqrt(keyDim);
    }

    /** A vector brought to length 1, and how long it was. */
    private record Direction(double[] values, double length) {}

    private Direction direction(int from) {
        double squares = EPSILON;
        for (int i = 0; i < keyDim; i++) {
            squares += mixed[from + i] * mixed[from + i];
        }
        double size = Math.sqrt(squares);
        double[] values = new double[keyDim];
        for (int i = 0; i < keyDim; i++) {
            values[i] = mixed[from + i] / size;
        }
        return new Direction(values, size);
    }

    /**
     * How errors go through: a column of the state is at most {@code size} long, and a step never makes an error longer, because it
     * takes away a part of the column along the key and multiplies the rest by the decay.
     */
    private static final class Spread {
        private final int keyDim;
        private final double unit;
        private double size;
        private double variance;

        Spread(int keyDim, double unit) {
            this.keyDim = keyDim;
            this.unit = unit;
        }

        void step(double decay, double write, double value, double input, double key, double rateError, double raw) {
            double turned = turned(input, key);
            double before = size;
            size = decay * size + write * value;
            double added = Pass.root(
                    write * input,
                    2 * write * (before + value) * turned,
                    raw / 4 * (before + value),
                    decay * before * rateError,
                    4 * unit * Math.sqrt(keyDim) * (before + value));
            variance = decay * decay * variance + added * added;
        }

        double output(double input, double query) {
            double read =
                    Pass.root(Math.sqrt(variance), size * turned(input, query), 2 * unit * Math.sqrt(keyDim) * size);
            return read / Math.sqrt(keyDim);
        }

        /** The error of a direction, from that of the channels of a vector of some length. */
        private double turned(double input, double length) {
            return 2 * Math.sqrt(keyDim) * input / length + 2 * unit;
        }
    }
}
