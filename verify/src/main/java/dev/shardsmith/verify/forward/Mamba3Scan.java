package dev.shardsmith.verify.forward;

import java.util.stream.IntStream;

/**
 * The recurrence of Mamba-3 in double precision, token by token.
 *
 * <p>Per head, with {@code R} ranks that share one state of [headDim, state]:
 *
 * <pre>
 *   α = exp(dt·A)   γ = λ·dt   β = (1-λ)·dt·α   θ = θ + dt·π·tanh(angle)
 *   K[r] = rot(B[r] + bBias[r], θ)     Q[r] = rot(C[r] + cBias[r], θ)     v[r] = mix[r] · x
 *   h = α·h + β·Σ_r outer(v'[r], K'[r]) + γ·Σ_r outer(v[r], K[r])            ' is the token before
 *   o[r] = h · Q[r] + D · v[r]
 * </pre>
 *
 * @param heads heads
 * @param headDim channels of a head
 * @param groups groups of B and C
 * @param state columns of a head's state
 * @param ranks inputs and outputs of a state
 * @param angles rotated pairs
 * @param halves whether pair i is (i, i + state/2), and not (2i, 2i+1)
 */
public record Mamba3Scan(int heads, int headDim, int groups, int state, int ranks, int angles, boolean halves) {

    /** Checks that the pairs fit the state. */
    public Mamba3Scan {
        if (heads % groups != 0 || 2 * angles > state) {
            throw new IllegalArgumentException(
                    heads + " heads, " + groups + " groups, " + angles + " angles for a state of " + state);
        }
    }

    /**
     * What a run takes; [tokens, …] with the tokens of each sequence together.
     *
     * @param x [tokens, heads, headDim]
     * @param b [tokens, ranks, groups, state], normalised
     * @param c [tokens, ranks, groups, state], normalised
     * @param dt [tokens, heads], ready
     * @param a [tokens, heads], negative
     * @param mix [tokens, heads], λ between 0 and 1
     * @param angle [tokens, angles], raw
     * @param bBias [heads, ranks, state]
     * @param cBias [heads, ranks, state]
     * @param mimoX [heads, ranks, headDim]; all ones for one rank
     * @param d [heads]
     */
    public record Inputs(
            double[] x,
            double[] b,
            double[] c,
            double[] dt,
            double[] a,
            double[] mix,
            double[] angle,
            float[] bBias,
            float[] cBias,
            float[] mimoX,
            float[] d) {}

    /**
     * Runs sequences from zero states.
     *
     * @return o of [tokens, heads, ranks, headDim]
     */
    public double[] run(int batch, int length, Inputs in) {
        double[] out = new double[Math.multiplyExact(batch * length, heads * ranks * headDim)];
        IntStream.range(0, batch * heads)
                .parallel()
                .forEach(i -> new Head(in, i % heads).run(i / heads * length, length, out));
        return out;
    }

    private final class Head {
        private final Inputs in;
        private final int head;
        private final double[] theta = new double[angles];
        private final double[] h = new double[headDim * state];
        private final double[][] keys = new double[ranks][state];
        private final double[][] values = new double[ranks][headDim];
        private final double[] query = new double[state];

        Head(Inputs in, int head) {
            this.in = in;
            this.head = head;
        }

        void run(int firstToken, int length, double[] out) {
            for (int token = firstToken; token < firstToken + length; token++) {
                int index = token * heads + head;
                double dt = in.dt[index];
                double decay = Math.exp(dt * in.a[index]);
                for (int i = 0; i < h.length; i++) {
                    h[i] *= decay;
                }
                addOuter((1 - in.mix[index]) * dt * decay);
                for (int i = 0; i < angles; i++) {
                    theta[i] += dt * Math.PI * Math.tanh(in.angle[token * angles + i]);
                }
                next(token);
                addOuter(in.mix[index] * dt);
                read(token, out);
            }
        }

        private void addOuter(double factor) {
            for (int r = 0; r < ranks; r++) {
                for (int p = 0; p < headDim; p++) {
                    for (int n = 0; n < state; n++) {
                        h[p * state + n] += factor * values[r][p] * keys[r][n];
                    }
                }
            }
        }

        private void next(int token) {
            for (int r = 0; r < ranks; r++) {
                rotated(in.b, in.bBias, token, r, keys[r]);
                for (int p = 0; p < headDim; p++) {
                    values[r][p] =
                            in.mimoX[(head * ranks + r) * headDim + p] * in.x[(token * heads + head) * headDim + p];
                }
            }
        }

        private void read(int token, double[] out) {
            for (int r = 0; r < ranks; r++) {
                rotated(in.c, in.cBias, token, r, query);
                for (int p = 0; p < headDim; p++) {
                    double sum = in.d[head] * values[r][p];
                    for (int n = 0; n < state; n++) {
                        sum += h[p * state + n] * query[n];
                    }
                    out[((token * heads + head) * ranks + r) * headDim + p] = sum;
                }
            }
        }

        private void rotated(double[] source, float[] bias, int token, int r, double[] target) {
            int base = ((token * ranks + r) * groups + head / (heads / groups)) * state;
            for (int n = 0; n < state; n++) {
                target[n] = source[base + n] + bias[(head * ranks + r) * state + n];
            }
            for (int i = 0; i < angles; i++) {
                int first = halves ? i : 2 * i;
                int second = halves ? i + state / 2 : 2 * i + 1;
                double cos = Math.cos(theta[i]);
                double sin = Math.sin(theta[i]);
                double a = target[first];
                double b = target[second];
                target[first] = a * cos - b * sin;
                target[second] = a * sin + b * cos;
            }
        }
    }
}
