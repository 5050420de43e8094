package dev.shardsmith.verify.forward;

/**
 * How rounding errors go through a scan.
 *
 * <p>They follow the recurrence itself, with one number per head: with {@code a = exp(dt·A)} and the root mean squares |x|
 * and |B| of a token, the state is at most {@code h = a·h + dt·|x|·|B|}; its squared error is that of before times {@code a²} plus
 * what x, B, dt, A and the rounding of this token add.
 *
 * @param shape the sizes of the scan
 * @param timeStep how steps are made
 * @param x its inputs
 * @param b its B
 * @param c its C
 * @param dt its raw steps
 */
record ScanErrors(ScanShape shape, TimeStep timeStep, Signal x, Signal b, Signal c, Signal dt) {

    /**
     * The error of each token of {@code y}.
     *
     * @param aLog the slowest decay of each head
     * @param bias of the step of each head
     * @param skip the largest |D|
     */
    double[] of(Pass pass, DeviceArray y, float[] aLog, float[] bias, double skip) {
        ForwardBackend backend = pass.backend();
        Sizes sizes = new Sizes(
                backend.rowNorms(x.values(), pass.tokens() * shape.heads(), shape.headDim()),
                backend.rowNorms(b.values(), pass.tokens() * shape.groups(), shape.state()),
                backend.rowNorms(c.values(), pass.tokens() * shape.groups(), shape.state()),
                backend.rowMaxima(y, pass.tokens(), shape.inner()),
                pass.read(dt));
        double[] error = new double[pass.tokens()];
        for (int row = 0; row < shape.batch(); row++) {
            for (int head = 0; head < shape.heads(); head++) {
                head(pass, row, head, aLog[head], bias[head], skip, sizes, error);
            }
        }
        return error;
    }

    /** Norms of x by head and of B and C by group, the largest |y| of each token, all raw steps. */
    private record Sizes(float[] x, float[] b, float[] c, float[] y, float[] steps) {}

    private void head(Pass pass, int row, int head, float aLog, float bias, double skip, Sizes sizes, double[] error) {
        double rate = Math.exp(aLog);
        double size = 0;
        double variance = 0;
        for (int t = 0; t < shape.length(); t++) {
            int token = row * shape.length() + t;
            double step = timeStep.of((double) sizes.steps[token * shape.heads() + head] + bias);
            double stepError = dt.error()[token] + 2 * pass.unit() * step;
            double decay = Math.exp(-step * rate);
            int group = token * shape.groups() + shape.groupOf(head);
            double inputs = sizes.x[token * shape.heads() + head] / Math.sqrt(shape.headDim());
            double columns = sizes.b[group] / Math.sqrt(shape.state());
            double fromDecay = decay * size * rate * stepError;
            size = decay * size + step * inputs * columns;
            double added = Pass.root(
                    step * inputs * b.error()[token],
                    step * columns * x.error()[token],
                    inputs * columns * stepError,
                    fromDecay,
                    3 * pass.unit() * size);
            variance = decay * decay * variance + added * added;
            double out = Pass.root(
                    sizes.c[group] * Math.sqrt(variance),
                    Math.sqrt(shape.state()) * size * c.error()[token],
                    skip * x.error()[token],
                    pass.unit()
                            * Math.sqrt(shape.state() + ChunkedScan.CHUNK)
                            * (sizes.y[token] + size * sizes.c[group]));
            error[token] = Math.max(error[token], out);
        }
    }
}
