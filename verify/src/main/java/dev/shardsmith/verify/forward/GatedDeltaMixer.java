package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * A gated delta net, rank by rank.
 *
 * <p>Rows of the input projection of each rank: [query, key, value, z, beta, alpha]; channels of its convolution: [query, key,
 * value].
 *
 * @param width channels of the residual stream
 * @param options what is the same on every rank
 * @param shards one per rank
 * @param outBias added once, after the sum over ranks
 */
public record GatedDeltaMixer(int width, Options options, List<Shard> shards, Optional<WeightSource> outBias)
        implements Mixer {

    /**
     * What the tensors do not say.
     *
     * @param keyDim channels of a query or key head
     * @param valueDim channels of a value head
     * @param norm of what each value head gives, before its gate
     */
    public record Options(int keyDim, int valueDim, Norm norm) {}

    /**
     * The weights of one rank.
     *
     * @param keyHeads query and key heads of this rank
     * @param valueHeads value heads of this rank, a multiple of the others
     * @param inProj [2·keyHeads·keyDim + 2·valueHeads·valueDim + 2·valueHeads, width]
     * @param inBias one per row of {@code inProj}
     * @param conv [2·keyHeads·keyDim + valueHeads·valueDim, kernel]
     * @param convBias one per channel of the convolution
     * @param dtBias [valueHeads]
     * @param aLog [valueHeads]
     * @param outNorm [valueDim]
     * @param outProj [width, valueHeads·valueDim]
     */
    public record Shard(
            int keyHeads,
            int valueHeads,
            WeightSource inProj,
            Optional<WeightSource> inBias,
            WeightSource conv,
            Optional<WeightSource> convBias,
            WeightSource dtBias,
            WeightSource aLog,
            WeightSource outNorm,
            WeightSource outProj) {

        Shard mapped(WeightMap map) {
            return new Shard(
                    keyHeads,
                    valueHeads,
                    map.of("in_proj.weight", inProj),
                    map.of("in_proj.bias", inBias),
                    map.of("conv1d.weight", conv),
                    map.of("conv1d.bias", convBias),
                    map.of("dt_bias", dtBias),
                    map.of("A_log", aLog),
                    map.of("out_norm.weight", outNorm),
                    map.of("out_proj.weight", outProj));
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
        int keys = shard.keyHeads() * options.keyDim();
        int values = shard.valueHeads() * options.valueDim();
        int mixed = 2 * keys + values;
        Signal projected = pass.linear(input, shard.inProj(), shard.inBias());
        if (projected.width() != mixed + values + 2 * shard.valueHeads()) {
            throw new IllegalArgumentException(
                    "in_proj has " + projected.width() + " rows, not " + (mixed + values + 2 * shard.valueHeads()));
        }
        Signal convolved =
                pass.convolve(pass.columns(projected, 0, mixed), shard.conv(), shard.convBias(), Activation.SILU);
        Signal z = pass.columns(projected, mixed, values);
        Signal beta = pass.columns(projected, mixed + values, shard.valueHeads());
        Signal alpha = pass.columns(projected, mixed + values + shard.valueHeads(), shard.valueHeads());
        DeltaScan scan = new DeltaScan(
                pass.batch(),
                pass.length(),
                shard.keyHeads(),
                shard.valueHeads(),
                options.keyDim(),
                options.valueDim(),
                pass.readWide(convolved),
                pass.readWide(beta),
                pass.readWide(alpha),
                pass.load(shard.aLog()),
                pass.load(shard.dtBias()));
        double[] out = new double[pass.tokens() * values];
        double[] error = new double[pass.tokens()];
        double[][] errors = IntStream.range(0, pass.batch() * shard.valueHeads())
                .parallel()
                .mapToObj(cell -> scan.head(cell, out, convolved.error(), projected.error(), pass.unit()))
                .toArray(double[][]::new);
        for (int cell = 0; cell < errors.length; cell++) {
            int first = cell / shard.valueHeads() * pass.length();
            for (int t = 0; t < pass.length(); t++) {
                error[first + t] = Math.max(error[first + t], errors[cell][t]);
            }
        }
        WeightSource weight = WeightSource.concat(Collections.nCopies(shard.valueHeads(), shard.outNorm()));
        Signal normed = pass.normalize(
                pass.signalWide(out, values, error),
                options.norm(),
                Optional.of(weight),
                Optional.empty(),
                options.valueDim());
        return pass.linear(pass.gate(z, normed, Activation.SILU), shard.outProj(), Optional.empty());
    }

    @Override
    public GatedDeltaMixer mapped(WeightMap map) {
        List<Shard> changed = shards.stream().map(shard -> shard.mapped(map)).toList();
        return new GatedDeltaMixer(width, options, changed, map.of("out_proj.bias", outBias));
    }
}
