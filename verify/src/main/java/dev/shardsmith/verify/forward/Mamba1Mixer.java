package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A Mamba-1 mixer, rank by rank.
 *
 * <p>Rows of each rank's input projection: [x, z]; rows of the projection to steps: [dt (rank), B, C], a row-parallel
 * product whose parts are summed over ranks before any rank goes on.
 *
 * @param width channels of the residual stream
 * @param options what is the same on every rank
 * @param shards one per rank
 * @param outBias added once, after the sum over ranks
 */
public record Mamba1Mixer(int width, Options options, List<Shard> shards, Optional<WeightSource> outBias)
        implements Mixer {

    /**
     * What the tensors do not say.
     *
     * @param state columns of a channel's state
     * @param stepRank channels of the low-rank step
     * @param innerNorm norm of the low-rank step, B and C, if the family has one
     */
    public record Options(int state, int stepRank, Optional<Norm> innerNorm) {}

    /**
     * The weights of one rank.
     *
     * @param inProj [2·channels, width]
     * @param inBias one per row of {@code inProj}
     * @param conv [channels, kernel]
     * @param convBias [channels]
     * @param xProj [stepRank + 2·state, channels]
     * @param dtProj [channels, stepRank]
     * @param dtBias [channels]
     * @param aLog [channels, state]
     * @param d [channels]
     * @param stepNorm [stepRank]
     * @param bNorm [state]
     * @param cNorm [state]
     * @param outProj [width, channels]
     */
    public record Shard(
            WeightSource inProj,
            Optional<WeightSource> inBias,
            WeightSource conv,
            Optional<WeightSource> convBias,
            WeightSource xProj,
            WeightSource dtProj,
            WeightSource dtBias,
            WeightSource aLog,
            WeightSource d,
            Optional<WeightSource> stepNorm,
            Optional<WeightSource> bNorm,
            Optional<WeightSource> cNorm,
            WeightSource outProj) {

        Shard mapped(WeightMap map) {
            return new Shard(
                    map.of("in_proj.weight", inProj),
                    map.of("in_proj.bias", inBias),
                    map.of("conv1d.weight", conv),
                    map.of("conv1d.bias", convBias),
                    map.of("x_proj.weight", xProj),
                    map.of("dt_proj.weight", dtProj),
                    map.of("dt_proj.bias", dtBias),
                    map.of("A_log", aLog),
                    map.of("D", d),
                    map.of("dt_layernorm.weight", stepNorm),
                    map.of("b_layernorm.weight", bNorm),
                    map.of("c_layernorm.weight", cNorm),
                    map.of("out_proj.weight", outProj));
        }
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        List<Signal> xs = new ArrayList<>();
        List<Signal> gates = new ArrayList<>();
        List<Signal> low = new ArrayList<>();
        for (Shard shard : shards) {
            Signal projected = pass.linear(input, shard.inProj(), shard.inBias());
            int channels = projected.width() / 2;
            Signal x = pass.convolve(
                    pass.columns(projected, 0, channels), shard.conv(), shard.convBias(), Activation.SILU);
            xs.add(x);
            gates.add(pass.columns(projected, channels, channels));
            low.add(pass.linear(x, shard.xProj(), Optional.empty()));
        }
        Signal steps = pass.sum(low, Optional.empty());
        List<Signal> parts = new ArrayList<>();
        for (int rank = 0; rank < shards.size(); rank++) {
            Signal y = scan(pass, xs.get(rank), steps, shards.get(rank));
            Signal gated = pass.gate(gates.get(rank), y, Activation.SILU);
            parts.add(pass.linear(gated, shards.get(rank).outProj(), Optional.empty()));
        }
        return pass.sum(parts, outBias);
    }

    private Signal scan(Pass pass, Signal x, Signal steps, Shard shard) throws IOException {
        Signal low = inner(pass, pass.columns(steps, 0, options.stepRank()), shard.stepNorm());
        Signal b = inner(pass, pass.columns(steps, options.stepRank(), options.state()), shard.bNorm());
        Signal c =
                inner(pass, pass.columns(steps, options.stepRank() + options.state(), options.state()), shard.cNorm());
        Signal raw = pass.linear(low, shard.dtProj(), Optional.empty());
        float[] bias = pass.load(shard.dtBias());
        float[] aLog = pass.load(shard.aLog());
        float[] d = pass.load(shard.d());
        double[] dt = pass.readWide(raw);
        for (int i = 0; i < dt.length; i++) {
            dt[i] = TimeStep.SOFTPLUS.of(dt[i] + bias[i % bias.length]);
        }
        double[] y = SelectiveScan.run(
                pass.batch(), pass.length(), pass.readWide(x), dt, aLog, pass.readWide(b), pass.readWide(c), d);
        DeviceArray out = pass.own(pass.backend().uploadWide(y));
        ScanShape shape = new ScanShape(pass.batch(), pass.length(), d.length, 1, 1, options.state());
        double[] error = new ScanErrors(shape, TimeStep.SOFTPLUS, x, b, c, raw)
                .of(pass, out, slowest(aLog, d.length), bias, Pass.largest(d));
        return new Signal(out, d.length, error);
    }

    private Signal inner(Pass pass, Signal x, Optional<WeightSource> weight) throws IOException {
        return options.innerNorm().isPresent()
                ? pass.normalize(x, options.innerNorm().get(), weight, Optional.empty(), x.width())
                : x;
    }

    private static float[] slowest(float[] aLog, int channels) {
        int state = aLog.length / channels;
        float[] slowest = new float[channels];
        for (int channel = 0; channel < channels; channel++) {
            slowest[channel] = aLog[channel * state];
            for (int n = 1; n < state; n++) {
                slowest[channel] = Math.min(slowest[channel], aLog[channel * state + n]);
            }
        }
        return slowest;
    }

    @Override
    public Mamba1Mixer mapped(WeightMap map) {
        List<Shard> changed = shards.stream().map(shard -> shard.mapped(map)).toList();
        return new Mamba1Mixer(width, options, changed, map.of("out_proj.bias", outBias));
    }
}
