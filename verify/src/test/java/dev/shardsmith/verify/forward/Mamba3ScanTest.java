package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.Arrays;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class Mamba3ScanTest {

    @Test
    void agreesWithTheSumOverPairsOfTokens() {
        Cases.forAll(40, random -> {
            int groups = random.nextInt(1, 3);
            int ranks = random.nextInt(1, 4);
            Mamba3Scan scan = new Mamba3Scan(2 * groups, 3, groups, 8, ranks, random.nextInt(1, 5), ranks > 1);
            Mamba3Scan.Inputs in = inputs(random, scan, 9);
            double[] found = scan.run(1, 9, in);
            double[] expected = pairs(scan, in, 9);
            assertThat(ScanVectors.relative(found, expected)).isLessThan(1e-12);
        });
    }

    @Test
    void withoutMixingAndAnglesItIsTheScanOfMamba2() {
        RandomGenerator random = Cases.random(2);
        Mamba3Scan scan = new Mamba3Scan(4, 3, 2, 6, 1, 1, false);
        int tokens = 12;
        Mamba3Scan.Inputs given = inputs(random, scan, tokens);
        double[] a = new double[tokens * 4];
        double[] mix = new double[tokens * 4];
        float[] aLog = {0.5f, 1, 0.2f, -0.3f};
        for (int i = 0; i < a.length; i++) {
            a[i] = -Math.exp(aLog[i % 4]);
            mix[i] = 1;
        }
        Mamba3Scan.Inputs in = new Mamba3Scan.Inputs(
                given.x(),
                given.b(),
                given.c(),
                given.dt(),
                a,
                mix,
                new double[tokens],
                new float[24],
                new float[24],
                given.mimoX(),
                given.d());
        ScanProblem same = ScanProblem.of(
                        new ScanShape(1, tokens, 4, 3, 2, 6),
                        narrow(in.x()),
                        narrow(in.dt()),
                        aLog,
                        narrow(in.b()),
                        narrow(in.c()))
                .withD(in.d())
                .withTimeStep(Optional.empty(), TimeStep.READY);
        assertThat(ScanVectors.relative(
                        scan.run(1, tokens, in), ReferenceScan.run(same).y()))
                .isLessThan(1e-6);
    }

    @Test
    void rowsOfABatchDoNotSeeEachOther() {
        Mamba3Scan scan = new Mamba3Scan(2, 3, 1, 4, 2, 2, true);
        Mamba3Scan.Inputs in = inputs(Cases.random(4), scan, 10);
        double[] whole = scan.run(2, 5, in);
        double[] first = Arrays.copyOf(scan.run(1, 10, in), whole.length / 2);
        assertThat(Arrays.copyOf(whole, whole.length / 2)).isEqualTo(first);
    }

    private static Mamba3Scan.Inputs inputs(RandomGenerator random, Mamba3Scan s, int tokens) {
        double[] dt = normals(random, tokens * s.heads(), 0.2, 0);
        double[] a = normals(random, tokens * s.heads(), 1, 0);
        double[] mix = normals(random, tokens * s.heads(), 1, 0);
        for (int i = 0; i < dt.length; i++) {
            dt[i] = Math.abs(dt[i]);
            a[i] = -Math.abs(a[i]) - 0.01;
            mix[i] = 1 / (1 + Math.exp(-mix[i]));
        }
        float[] ones = new float[s.heads() * s.ranks() * s.headDim()];
        Arrays.fill(ones, 1);
        return new Mamba3Scan.Inputs(
                floats(random, tokens * s.heads() * s.headDim()),
                floats(random, tokens * s.ranks() * s.groups() * s.state()),
                floats(random, tokens * s.ranks() * s.groups() * s.state()),
                roundedToFloat(dt),
                a,
                mix,
                normals(random, tokens * s.angles(), 1, 0),
                RandomScans.normals(random, s.heads() * s.ranks() * s.state(), 1, 0),
                RandomScans.normals(random, s.heads() * s.ranks() * s.state(), 1, 0),
                s.ranks() == 1 ? ones : RandomScans.normals(random, ones.length, 1, 0),
                RandomScans.normals(random, s.heads(), 1, 0));
    }

    private static double[] floats(RandomGenerator random, int count) {
        return roundedToFloat(normals(random, count, 1, 0));
    }

    private static double[] roundedToFloat(double[] values) {
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) values[i];
        }
        return values;
    }

    private static double[] normals(RandomGenerator random, int count, double scale, double mean) {
        return random.doubles(count)
                .map(u -> mean + scale * random.nextGaussian())
                .toArray();
    }

    private static float[] narrow(double[] values) {
        float[] narrow = new float[values.length];
        for (int i = 0; i < narrow.length; i++) {
            narrow[i] = (float) values[i];
        }
        return narrow;
    }

    /**
     * The closed form: token j reaches token i with weight {@code γ_j + dt_{j+1}·(1-λ_{j+1})}, decayed from j to i, and
     * itself with {@code γ_j} only.
     */
    private static double[] pairs(Mamba3Scan s, Mamba3Scan.Inputs in, int tokens) {
        double[] out = new double[tokens * s.heads() * s.ranks() * s.headDim()];
        for (int head = 0; head < s.heads(); head++) {
            double[][] theta = new double[tokens][s.angles()];
            double[] decay = new double[tokens];
            for (int t = 0; t < tokens; t++) {
                double dt = in.dt()[t * s.heads() + head];
                decay[t] = (t == 0 ? 0 : decay[t - 1]) + dt * in.a()[t * s.heads() + head];
                for (int i = 0; i < s.angles(); i++) {
                    theta[t][i] =
                            (t == 0 ? 0 : theta[t - 1][i]) + dt * Math.PI * Math.tanh(in.angle()[t * s.angles() + i]);
                }
            }
            for (int i = 0; i < tokens; i++) {
                for (int r = 0; r < s.ranks(); r++) {
                    double[] query = rotated(s, in.c(), in.cBias(), i, head, r, theta[i]);
                    for (int j = 0; j <= i; j++) {
                        double weight = in.mix()[j * s.heads() + head] * in.dt()[j * s.heads() + head];
                        if (j < i) {
                            int next = (j + 1) * s.heads() + head;
                            weight += in.dt()[next] * (1 - in.mix()[next]);
                        }
                        weight *= Math.exp(decay[i] - decay[j]);
                        for (int q = 0; q < s.ranks(); q++) {
                            double[] key = rotated(s, in.b(), in.bBias(), j, head, q, theta[j]);
                            double product = 0;
                            for (int n = 0; n < s.state(); n++) {
                                product += query[n] * key[n];
                            }
                            for (int p = 0; p < s.headDim(); p++) {
                                out[((i * s.heads() + head) * s.ranks() + r) * s.headDim() + p] +=
                                        weight * product * value(s, in, j, head, q, p);
                            }
                        }
                    }
                    for (int p = 0; p < s.headDim(); p++) {
                        out[((i * s.heads() + head) * s.ranks() + r) * s.headDim() + p] +=
                                in.d()[head] * value(s, in, i, head, r, p);
                    }
                }
            }
        }
        return out;
    }

    private static double value(Mamba3Scan s, Mamba3Scan.Inputs in, int token, int head, int r, int p) {
        return in.mimoX()[(head * s.ranks() + r) * s.headDim() + p]
                * in.x()[(token * s.heads() + head) * s.headDim() + p];
    }

    private static double[] rotated(
            Mamba3Scan s, double[] source, float[] bias, int token, int head, int r, double[] theta) {
        double[] v = new double[s.state()];
        int group = head / (s.heads() / s.groups());
        for (int n = 0; n < v.length; n++) {
            v[n] = source[((token * s.ranks() + r) * s.groups() + group) * s.state() + n]
                    + bias[(head * s.ranks() + r) * s.state() + n];
        }
        for (int i = 0; i < s.angles(); i++) {
            int first = s.halves() ? i : 2 * i;
            int second = s.halves() ? i + s.state() / 2 : 2 * i + 1;
            double a = v[first];
            double b = v[second];
            v[first] = a * Math.cos(theta[i]) - b * Math.sin(theta[i]);
            v[second] = a * Math.sin(theta[i]) + b * Math.cos(theta[i]);
        }
        return v;
    }
}
