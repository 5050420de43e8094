package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * A Mamba-3 mixer; it has no tensor-parallel form.
 *
 * <p>Rows of the input projection: [z, x, B, C, dt, A, λ, angles], B and C with the rank outermost, then the group.
 *
 * @param width channels of the residual stream
 * @param options what the tensors do not say
 * @param scan the sizes
 * @param inProj [2·heads·headDim + 2·ranks·groups·state + 3·heads + angles, width]
 * @param dtBias [heads]
 * @param bBias [heads, ranks, state]
 * @param cBias [heads, ranks, state]
 * @param bNorm [state]
 * @param cNorm [state]
 * @param mimo weights of several ranks; without them there is one rank
 * @param d [heads]
 * @param outNorm [heads·headDim], the norm of each head before the gate
 * @param outProj [width, heads·headDim]
 */
public record Mamba3Mixer(
        int width,
        Options options,
        Mamba3Scan scan,
        WeightSource inProj,
        WeightSource dtBias,
        WeightSource bBias,
        WeightSource cBias,
        WeightSource bNorm,
        WeightSource cNorm,
        Optional<Mimo> mimo,
        WeightSource d,
        Optional<WeightSource> outNorm,
        WeightSource outProj)
        implements Mixer {
    private static final float EPSILON = 1e-5f;

    /**
     * What the tensors do not say.
     *
     * @param decayFloor A is at most minus this
     * @param heavyTail whether A comes from {@code 1 + v} and {@code 1/(1 - v)}, and not, as earlier, from softplus
     */
    public record Options(double decayFloor, boolean heavyTail) {}

    /** Weights of several ranks, each [heads, ranks, headDim]. */
    public record Mimo(WeightSource x, WeightSource z, WeightSource o) {

        Mimo mapped(WeightMap map) {
            return new Mimo(map.of("mimo_x", x), map.of("mimo_z", z), map.of("mimo_o", o));
        }
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        int inner = scan.heads() * scan.headDim();
        int columns = scan.ranks() * scan.groups() * scan.state();
        Signal projected = pass.linear(input, inProj, Optional.empty());
        Signal z = pass.columns(projected, 0, inner);
        Signal x = pass.columns(projected, inner, inner);
        Signal b = columns(pass, projected, 2 * inner, columns, bNorm);
        Signal c = columns(pass, projected, 2 * inner + columns, columns, cNorm);
        int at = 2 * inner + 2 * columns;
        Signal heads = pass.columns(projected, at, 3 * scan.heads());
        Signal angle = pass.columns(projected, at + 3 * scan.heads(), scan.angles());
        Mamba3Steps steps = Mamba3Steps.of(pass.readWide(heads), pass.load(dtBias), options);
        float[] ones = new float[inner * scan.ranks()];
        Arrays.fill(ones, 1);
        Mamba3Scan.Inputs inputs = new Mamba3Scan.Inputs(
                pass.readWide(x),
                pass.readWide(b),
                pass.readWide(c),
                steps.dt(),
                steps.a(),
                steps.mix(),
                pass.readWide(angle),
                pass.load(bBias),
                pass.load(cBias),
                mimo.isPresent() ? pass.load(mimo.get().x()) : ones,
                pass.load(d));
        double[] o = scan.run(pass.batch(), pass.length(), inputs);
        double[] y = output(pass, o, pass.readWide(z));
        double[] error = new Mamba3Errors(scan, inputs, projected.error(), b.error(), c.error()).of(pass, o, y);
        return pass.linear(pass.signalWide(y, inner, error), outProj, Optional.empty());
    }

    private Signal columns(Pass pass, Signal projected, int from, int count, WeightSource weight) throws IOException {
        Signal raw = pass.columns(projected, from, count);
        List<WeightSource> repeated = Collections.nCopies(scan.ranks() * scan.groups(), weight);
        return pass.normalize(
                raw, Norm.rms(EPSILON), Optional.of(WeightSource.concat(repeated)), Optional.empty(), scan.state());
    }

    /** The gate, the norm of heads and the sum over ranks. */
    private double[] output(Pass pass, double[] o, double[] z) throws IOException {
        int headDim = scan.headDim();
        double[] y = new double[z.length];
        Optional<float[]> weight = outNorm.isPresent() ? Optional.of(pass.load(outNorm.get())) : Optional.empty();
        Optional<float[]> gates =
                mimo.isPresent() ? Optional.of(pass.load(mimo.get().z())) : Optional.empty();
        Optional<float[]> outs =
                mimo.isPresent() ? Optional.of(pass.load(mimo.get().o())) : Optional.empty();
        for (int cell = 0; cell < z.length / headDim; cell++) {
            int head = cell % scan.heads();
            for (int r = 0; r < scan.ranks(); r++) {
                int base = (cell * scan.ranks() + r) * headDim;
                double scale = weight.isPresent() ? 1 / Math.sqrt(meanSquare(o, base, headDim) + EPSILON) : 1;
                for (int p = 0; p < headDim; p++) {
                    int mixing = (head * scan.ranks() + r) * headDim + p;
                    double value = o[base + p] * scale;
                    if (weight.isPresent()) {
                        value *= weight.get()[head * headDim + p];
                    }
                    double gate = z[cell * headDim + p] * (gates.isPresent() ? gates.get()[mixing] : 1);
                    value *= Activation.SILU.of(gate) * (outs.isPresent() ? outs.get()[mixing] : 1);
                    y[cell * headDim + p] += value;
                }
            }
        }
        return y;
    }

    private static double meanSquare(double[] values, int from, int count) {
        double sum = 0;
        for (int i = from; i < from + count; i++) {
            sum += values[i] * values[i];
        }
        return sum / count;
    }

    @Override
    public Mamba3Mixer mapped(WeightMap map) {
        return new Mamba3Mixer(
                width,
                options,
                scan,
                map.of("in_proj.weight", inProj),
                map.of("dt_bias", dtBias),
                map.of("B_bias", bBias),
                map.of("C_bias", cBias),
                map.of("B_norm.weight", bNorm),
                map.of("C_norm.weight", cNorm),
                mimo.map(weights -> weights.mapped(map)),
                map.of("D", d),
                map.of("norm.weight", outNorm),
                map.of("out_proj.weight", outProj));
    }
}
