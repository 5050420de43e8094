package dev.shardsmith.verify.forward;

import java.util.Arrays;

/**
 * How rounding errors go through a Mamba-3 scan: as {@link ScanErrors}, with the inputs of two tokens a step and with the
 * error of the angles, which grows along the sequence.
 *
 * @param scan the sizes
 * @param in what the scan was given
 * @param raw error of the projected channels of each token
 * @param keys error of B of each token
 * @param queries error of C of each token
 */
record Mamba3Errors(Mamba3Scan scan, Mamba3Scan.Inputs in, double[] raw, double[] keys, double[] queries) {

    /** The error of each token of the gated output {@code y}, whose scan gave {@code o}. */
    double[] of(Pass pass, double[] o, double[] y) {
        double[] error = new double[pass.tokens()];
        double bias = Math.max(Pass.largest(in.bBias()), Pass.largest(in.cBias()));
        double mixing = Pass.largest(in.mimoX()) * scan.ranks();
        double columns = largest(in.b()) + largest(in.c()) + bias;
        double inputs = largest(in.x()) * mixing;
        double outputs = largest(o);
        double gates = gateSize(o, y);
        for (int row = 0; row < pass.batch(); row++) {
            for (int head = 0; head < scan.heads(); head++) {
                head(pass, row, head, inputs, columns, outputs, gates, error);
            }
        }
        return error;
    }

    private void head(
            Pass pass, int row, int head, double inputs, double columns, double outputs, double gates, double[] error) {
        double size = 0;
        double variance = 0;
        double angle = 0;
        double reach = Math.sqrt(scan.state()) * columns;
        for (int t = 0; t < pass.length(); t++) {
            int token = row * pass.length() + t;
            double step = in.dt()[token * scan.heads() + head];
            double rate = -in.a()[token * scan.heads() + head];
            double decay = Math.exp(-step * rate);
            double stepError = raw[token] * (1 + step) + 2 * pass.unit() * step;
            angle = Pass.root(angle, Math.PI * (stepError + step * raw[token]));
            double fromDecay = decay * size * (rate * stepError + step * raw[token]);
            size = decay * size + step * inputs * columns;
            double added = Pass.root(
                    step * inputs * (keys[token] + angle * columns),
                    step * columns * raw[token] * scan.ranks(),
                    inputs * columns * stepError,
                    fromDecay,
                    3 * pass.unit() * size);
            variance = decay * decay * variance + added * added;
            double read = Pass.root(
                    reach * Math.sqrt(variance),
                    Math.sqrt(scan.state()) * size * (queries[token] + angle * columns),
                    Pass.largest(in.d()) * raw[token]);
            double out = gates * read + 1.1 * outputs * raw[token] * scan.ranks() + 4 * pass.unit() * gates * outputs;
            error[token] = Math.max(error[token], out);
        }
    }

    /** How much the output stage enlarges an error: at least 1, else the largest output by the largest scan result. */
    private double gateSize(double[] o, double[] y) {
        double scanned = largest(o);
        return scanned == 0
                ? 1
                : Math.max(
                        1,
                        4 * scan.ranks() * Arrays.stream(y).map(Math::abs).max().orElse(0) / scanned);
    }

    private static double largest(double[] values) {
        double largest = 0;
        for (double value : values) {
            largest = Math.max(largest, Math.abs(value));
        }
        return largest;
    }
}
