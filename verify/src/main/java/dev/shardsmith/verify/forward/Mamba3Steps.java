package dev.shardsmith.verify.forward;

/**
 * The steps, decays and mixing weights of Mamba-3, all of [tokens, heads].
 *
 * @param dt softplus of the raw step and its bias
 * @param a the decay rate, at most minus the floor
 * @param mix the sigmoid of the raw trapezoid weight
 */
record Mamba3Steps(double[] dt, double[] a, double[] mix) {

    /** From raw columns [tokens, 3·heads]: steps, decays, trapezoid weights. */
    static Mamba3Steps of(double[] raw, float[] dtBias, Mamba3Mixer.Options options) {
        int heads = dtBias.length;
        int tokens = raw.length / (3 * heads);
        Mamba3Steps steps =
                new Mamba3Steps(new double[tokens * heads], new double[tokens * heads], new double[tokens * heads]);
        for (int t = 0; t < tokens; t++) {
            for (int h = 0; h < heads; h++) {
                int base = t * 3 * heads + h;
                int cell = t * heads + h;
                steps.dt[cell] = TimeStep.SOFTPLUS.of((double) raw[base] + dtBias[h]);
                steps.a[cell] = Math.min(-rate(raw[base + heads], options.heavyTail()), -options.decayFloor());
                steps.mix[cell] = 1 / (1 + Math.exp(-raw[base + 2 * heads]));
            }
        }
        return steps;
    }

    private static double rate(double v, boolean heavyTail) {
        if (!heavyTail) {
            return TimeStep.SOFTPLUS.of(v);
        }
        return v >= 0 ? 1 + v : 1 / (1 - v);
    }
}
