package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/**
 * Self-attention, rank by rank.
 *
 * <p>Rows of the input projection of each rank: [q heads, k heads, v heads, output gates, up, gate]; the gates only where the
 * options say so, the last two only where an MLP is built in. Layouts that interleave q, k and v are brought into this order by a view of their rows.
 *
 * @param width channels of the residual stream
 * @param options what is the same on every rank
 * @param shards one per rank; ranks without heads are left out
 * @param outBias added once, after the sum over ranks
 */
public record AttentionMixer(int width, Options options, List<Shard> shards, Optional<WeightSource> outBias)
        implements Mixer {

    /**
     * What the tensors do not say.
     *
     * @param headDim channels of a head
     * @param scale factor of the scores
     * @param causal whether a token sees only itself and those before it
     * @param rotary position embedding, if there is one
     * @param outputGate whether what a head gives is multiplied by the sigmoid of a projected gate
     */
    public record Options(int headDim, double scale, boolean causal, Optional<Rotary> rotary, boolean outputGate) {
        /** Checks that there are channels, and no more of them rotated. */
        public Options {
            if (headDim < 1 || rotary.map(Rotary::rotated).orElse(0) > headDim) {
                throw new IllegalArgumentException("heads of " + headDim + " channels, "
                        + rotary.map(Rotary::rotated).orElse(0) + " of them rotated");
            }
        }

        /** The rows of the input projection of a rank. */
        int rows(Shard shard) {
            return ((outputGate ? 2 : 1) * shard.heads() + 2 * shard.keyHeads()) * headDim + 2 * shard.mlp();
        }
    }

    /**
     * The weights of one rank.
     *
     * @param heads query heads of this rank
     * @param keyHeads key and value heads of this rank
     * @param mlp channels of the built-in MLP
     * @param inProj [(heads + 2·keyHeads)·headDim + gates + 2·mlp, width]
     * @param inBias one per row of {@code inProj}
     * @param conv [(heads + 2·keyHeads)·headDim, kernel], without activation
     * @param convBias one per channel of the convolution
     * @param queryNorm of each query head, over its channels
     * @param keyNorm of each key head, over its channels
     * @param outProj [width, heads·headDim + mlp]
     */
    public record Shard(
            int heads,
            int keyHeads,
            int mlp,
            WeightSource inProj,
            Optional<WeightSource> inBias,
            Optional<WeightSource> conv,
            Optional<WeightSource> convBias,
            Optional<PreNorm> queryNorm,
            Optional<PreNorm> keyNorm,
            WeightSource outProj) {
        Shard mapped(WeightMap map) {
            return new Shard(
                    heads,
                    keyHeads,
                    mlp,
                    map.of("in_proj.weight", inProj),
                    map.of("in_proj.bias", inBias),
                    map.of("conv1d.weight", conv),
                    map.of("conv1d.bias", convBias),
                    queryNorm.map(norm -> norm.mapped(map.under("q_norm."))),
                    keyNorm.map(norm -> norm.mapped(map.under("k_norm."))),
                    map.of("out_proj.weight", outProj));
        }

        /** The same with another input projection. */
        public Shard withInProj(WeightSource value) {
            return new Shard(heads, keyHeads, mlp, value, inBias, conv, convBias, queryNorm, keyNorm, outProj);
        }

        /** The same with another bias of the input projection. */
        public Shard withInBias(Optional<WeightSource> value) {
            return new Shard(heads, keyHeads, mlp, inProj, value, conv, convBias, queryNorm, keyNorm, outProj);
        }

        /** The same with another output projection. */
        public Shard withOutProj(WeightSource value) {
            return new Shard(heads, keyHeads, mlp, inProj, inBias, conv, convBias, queryNorm, keyNorm, value);
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
        int queries = shard.heads() * options.headDim();
        int keys = shard.keyHeads() * options.headDim();
        Signal projected = pass.linear(input, shard.inProj(), shard.inBias());
        if (projected.width() != options.rows(shard)) {
            throw new IllegalArgumentException(
                    "the input projection has " + projected.width() + " rows, not " + options.rows(shard));
        }
        Signal qkv = pass.columns(projected, 0, queries + 2 * keys);
        if (shard.conv().isPresent()) {
            qkv = pass.convolve(qkv, shard.conv().get(), shard.convBias(), Activation.IDENTITY);
        }
        Signal q = heads(pass, pass.columns(qkv, 0, queries), shard.queryNorm(), shard.heads());
        Signal k = heads(pass, pass.columns(qkv, queries, keys), shard.keyNorm(), shard.keyHeads());
        Signal v = pass.columns(qkv, queries + keys, keys);
        Signal attended = attend(pass, q, k, v, shard);
        int at = queries + 2 * keys;
        if (options.outputGate()) {
            attended = pass.gateBySigmoid(pass.columns(projected, at, queries), attended);
            at += queries;
        }
        if (shard.mlp() > 0) {
            Signal up = pass.columns(projected, at, shard.mlp());
            Signal gate = pass.columns(projected, at + shard.mlp(), shard.mlp());
            attended = pass.concat(List.of(attended, pass.gate(gate, up, Activation.SILU)));
        }
        return pass.linear(attended, shard.outProj(), Optional.empty());
    }

    private Signal heads(Pass pass, Signal x, Optional<PreNorm> norm, int heads) throws IOException {
        Signal result = x;
        if (norm.isPresent()) {
            PreNorm own = norm.get();
            WeightSource weight = WeightSource.concat(Collections.nCopies(heads, own.weight()));
            Optional<WeightSource> bias = own.bias().map(one -> WeightSource.concat(Collections.nCopies(heads, one)));
            result = pass.normalize(result, own.norm(), Optional.of(weight), bias, options.headDim());
        }
        if (options.rotary().isPresent()) {
            DeviceArray rotated = pass.own(pass.backend()
                    .rotate(
                            result.values(),
                            options.rotary().get(),
                            pass.batch(),
                            pass.length(),
                            heads,
                            options.headDim()));
            float[] sizes = pass.backend().rowMaxima(rotated, pass.tokens(), result.width());
            double[] error = new double[pass.tokens()];
            for (int t = 0; t < error.length; t++) {
                error[t] = Pass.root(1.5 * result.error()[t], 2 * pass.unit() * sizes[t]);
            }
            result = new Signal(rotated, result.width(), error);
        }
        return result;
    }

    /**
     * An error δ of a score changes its weight by the factor 1 + δ, and so the result by at most 2·δ·max|v|; a score's own
     * error is that of q and k times the size of the other.
     */
    private Signal attend(Pass pass, Signal q, Signal k, Signal v, Shard shard) {
        AttentionShape shape =
                new AttentionShape(pass.batch(), pass.length(), shard.heads(), shard.keyHeads(), options.headDim());
        DeviceArray y = pass.own(
                pass.backend().attend(q.values(), k.values(), v.values(), shape, options.scale(), options.causal()));
        double queries = headSize(pass, q, shard.heads());
        double keys = headSize(pass, k, shard.keyHeads());
        double values = Pass.largest(pass.backend().rowMaxima(v.values(), pass.tokens(), v.width()));
        double scores = Math.abs(options.scale())
                * Pass.root(
                        queries * worst(k),
                        keys * worst(q),
                        pass.unit() * Math.sqrt(options.headDim()) * queries * keys);
        double error = Pass.root(worst(v), 2 * scores * values, pass.unit() * Math.sqrt(pass.length()) * values);
        double[] errors = new double[pass.tokens()];
        Arrays.fill(errors, error);
        return new Signal(y, q.width(), errors);
    }

    private double headSize(Pass pass, Signal x, int heads) {
        return Pass.largest(pass.backend().rowNorms(x.values(), pass.tokens() * heads, options.headDim()));
    }

    private static double worst(Signal x) {
        return Arrays.stream(x.error()).max().orElse(0);
    }

    @Override
    public AttentionMixer mapped(WeightMap map) {
        List<Shard> changed = shards.stream().map(shard -> shard.mapped(map)).toList();
        return new AttentionMixer(width, options, changed, map.of("out_proj.bias", outBias));
    }

    /** The same with other options. */
    public AttentionMixer withOptions(Options other) {
        return new AttentionMixer(width, other, shards, outBias);
    }

    /** The same with every shard changed. */
    public AttentionMixer withShards(UnaryOperator<Shard> change) {
        return new AttentionMixer(width, options, shards.stream().map(change).toList(), outBias);
    }

    /** The same with another output bias. */
    public AttentionMixer withOutBias(Optional<WeightSource> bias) {
        return new AttentionMixer(width, options, shards, bias);
    }
}
