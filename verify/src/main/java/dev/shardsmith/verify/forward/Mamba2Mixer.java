package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;

/**
 * A Mamba-2 mixer, rank by rank.
 *
 * <p>Rows of the input projection of each rank: [z0, x0 (bypass), z, x, B, C, dt]; channels of its convolution: [x, B, C];
 * columns of its output projection: [bypass, heads].
 *
 * @param width channels of the residual stream
 * @param options what is the same on every rank
 * @param shards one per rank; ranks without heads are left out
 * @param outBias added once, after the sum over ranks
 */
public record Mamba2Mixer(int width, Options options, List<Shard> shards, Optional<WeightSource> outBias)
        implements Mixer {

    /**
     * What the tensors do not say.
     *
     * @param headDim channels of a head
     * @param state columns of a head's state
     * @param timeStep how steps are made
     * @param normGroup channels that the gated norm takes together: those of one group of the undivided model
     * @param epsilon of the gated norm
     * @param normBeforeGate whether the gate comes after the norm
     */
    public record Options(
            int headDim, int state, TimeStep timeStep, int normGroup, float epsilon, boolean normBeforeGate) {
        /** Checks that all sizes are there. */
        public Options {
            if (headDim < 1 || state < 1 || normGroup < 1) {
                throw new IllegalArgumentException("heads of %d channels and %d states, normalised %d at a time"
                        .formatted(headDim, state, normGroup));
            }
            if (!(epsilon >= 0) || Float.isInfinite(epsilon)) {
                throw new IllegalArgumentException("a gated norm with an epsilon of " + epsilon);
            }
        }
    }

    /**
     * The weights of one rank.
     *
     * @param heads heads of this rank
     * @param groups groups of B and C of this rank
     * @param bypass channels of the gated bypass of this rank
     * @param inProj [2·bypass + 2·heads·headDim + 2·groups·state + heads, width]
     * @param inBias one per row of {@code inProj}
     * @param conv [heads·headDim + 2·groups·state, kernel]
     * @param convBias one per channel of the convolution
     * @param dtBias [heads]
     * @param aLog [heads]
     * @param d [heads] or [heads·headDim]
     * @param norm [heads·headDim]; without it the gate is all there is
     * @param outProj [width, bypass + heads·headDim]
     */
    public record Shard(
            int heads,
            int groups,
            int bypass,
            WeightSource inProj,
            Optional<WeightSource> inBias,
            WeightSource conv,
            Optional<WeightSource> convBias,
            WeightSource dtBias,
            WeightSource aLog,
            WeightSource d,
            Optional<WeightSource> norm,
            WeightSource outProj) {
        Shard mapped(WeightMap map) {
            return new Shard(
                    heads,
                    groups,
                    bypass,
                    map.of("in_proj.weight", inProj),
                    map.of("in_proj.bias", inBias),
                    map.of("conv1d.weight", conv),
                    map.of("conv1d.bias", convBias),
                    map.of("dt_bias", dtBias),
                    map.of("A_log", aLog),
                    map.of("D", d),
                    map.of("norm.weight", norm),
                    map.of("out_proj.weight", outProj));
        }

        /** The same with another input projection. */
        public Shard withInProj(WeightSource value) {
            return new Shard(heads, groups, bypass, value, inBias, conv, convBias, dtBias, aLog, d, norm, outProj);
        }

        /** The same with another bias of the input projection. */
        public Shard withInBias(Optional<WeightSource> value) {
            return new Shard(heads, groups, bypass, inProj, value, conv, convBias, dtBias, aLog, d, norm, outProj);
        }

        /** The same with another convolution. */
        public Shard withConv(WeightSource value) {
            return new Shard(heads, groups, bypass, inProj, inBias, value, convBias, dtBias, aLog, d, norm, outProj);
        }

        /** The same with another bias of the convolution. */
        public Shard withConvBias(Optional<WeightSource> value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, value, dtBias, aLog, d, norm, outProj);
        }

        /** The same with other biases of the step. */
        public Shard withDtBias(WeightSource value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, convBias, value, aLog, d, norm, outProj);
        }

        /** The same with other decays. */
        public Shard withALog(WeightSource value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, convBias, dtBias, value, d, norm, outProj);
        }

        /** The same with another skip term. */
        public Shard withD(WeightSource value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, convBias, dtBias, aLog, value, norm, outProj);
        }

        /** The same with another norm. */
        public Shard withNorm(Optional<WeightSource> value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, convBias, dtBias, aLog, d, value, outProj);
        }

        /** The same with another output projection. */
        public Shard withOutProj(WeightSource value) {
            return new Shard(heads, groups, bypass, inProj, inBias, conv, convBias, dtBias, aLog, d, norm, value);
        }
    }

    @Override
    public Signal forward(Pass pass, Signal input) throws IOException {
        List<Signal> parts = new ArrayList<>();
        for (Shard shard : shards) {
            parts.add(rank(pass, input, shard));
        }
        return pass.sum(parts, outBias);
    }

    private Signal rank(Pass pass, Signal input, Shard shard) throws IOException {
        return pass.linear(gated(pass, split(pass, input, shard), shard), shard.outProj(), Optional.empty());
    }

    /** The channels of the input projection; what is not used any more is not held while others are computed. */
    private List<Signal> split(Pass pass, Signal input, Shard shard) throws IOException {
        Signal projected = pass.linear(input, shard.inProj(), shard.inBias());
        int inner = shard.heads() * options.headDim();
        int mixed = inner + 2 * shard.groups() * options.state();
        int[] widths = {shard.bypass(), shard.bypass(), inner, mixed, shard.heads()};
        if (projected.width() != IntStream.of(widths).sum()) {
            throw new IllegalArgumentException("in_proj has " + projected.width() + " rows, not "
                    + IntStream.of(widths).sum());
        }
        List<Signal> parts = new ArrayList<>();
        int at = 0;
        for (int width : widths) {
            if (width > 0) {
                parts.add(pass.columns(projected, at, width));
            }
            at += width;
        }
        return parts;
    }

    private Signal gated(Pass pass, List<Signal> parts, Shard shard) throws IOException {
        int first = shard.bypass() > 0 ? 2 : 0;
        Signal convolved = pass.convolve(parts.remove(first + 1), shard.conv(), shard.convBias(), Activation.SILU);
        Signal y = scan(pass, convolved, parts.remove(first + 1), shard);
        Signal gated = gateAndNorm(pass, y, parts.remove(first), shard);
        return shard.bypass() > 0
                ? pass.concat(List.of(pass.gate(parts.get(0), parts.get(1), Activation.SILU), gated))
                : gated;
    }

    private Signal scan(Pass pass, Signal convolved, Signal dt, Shard shard) throws IOException {
        int inner = shard.heads() * options.headDim();
        int groupState = shard.groups() * options.state();
        ScanShape shape = new ScanShape(
                pass.batch(), pass.length(), shard.heads(), options.headDim(), shard.groups(), options.state());
        Signal x = pass.columns(convolved, 0, inner);
        Signal b = pass.columns(convolved, inner, groupState);
        Signal c = pass.columns(convolved, inner + groupState, groupState);
        float[] aLog = pass.load(shard.aLog());
        float[] skip = pass.load(shard.d());
        float[] bias = pass.load(shard.dtBias());
        DeviceArray y = pass.own(pass.backend()
                .scan(
                        shape,
                        options.timeStep(),
                        x.values(),
                        dt.values(),
                        pass.upload(aLog),
                        b.values(),
                        c.values(),
                        Optional.of(pass.upload(skip)),
                        Optional.of(pass.upload(bias))));
        double[] error =
                new ScanErrors(shape, options.timeStep(), x, b, c, dt).of(pass, y, aLog, bias, Pass.largest(skip));
        return new Signal(y, inner, error);
    }

    private Signal gateAndNorm(Pass pass, Signal y, Signal z, Shard shard) throws IOException {
        if (shard.norm().isEmpty()) {
            return pass.gate(z, y, Activation.SILU);
        }
        Norm norm = Norm.rms(options.epsilon());
        if (options.normBeforeGate()) {
            Signal normed = pass.normalize(y, norm, shard.norm(), Optional.empty(), options.normGroup());
            return pass.gate(z, normed, Activation.SILU);
        }
        Signal gated = pass.gate(z, y, Activation.SILU);
        return pass.normalize(gated, norm, shard.norm(), Optional.empty(), options.normGroup());
    }

    @Override
    public Mamba2Mixer mapped(WeightMap map) {
        List<Shard> changed = shards.stream().map(shard -> shard.mapped(map)).toList();
        return new Mamba2Mixer(width, options, changed, map.of("out_proj.bias", outBias));
    }

    /** The same with other options. */
    public Mamba2Mixer withOptions(Options other) {
        return new Mamba2Mixer(width, other, shards, outBias);
    }

    /** The same with other time steps. */
    Mamba2Mixer withTimeStep(TimeStep step) {
        return withOptions(new Options(
                options.headDim(),
                options.state(),
                step,
                options.normGroup(),
                options.epsilon(),
                options.normBeforeGate()));
    }

    /** The same with every shard changed. */
    public Mamba2Mixer withShards(UnaryOperator<Shard> change) {
        return new Mamba2Mixer(width, options, shards.stream().map(change).toList(), outBias);
    }

    /** The same with another output bias. */
    public Mamba2Mixer withOutBias(Optional<WeightSource> bias) {
        return new Mamba2Mixer(width, options, shards, bias);
    }
}
