package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Mamba1Mixer;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.Mamba3Mixer;
import dev.shardsmith.verify.forward.Mamba3Scan;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.SummedMixer;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The modules of {@code mamba_ssm}.
 *
 * @param config the model's {@code config.json}
 * @param width channels of the residual stream
 */
record MambaSsmParts(Settings config, int width) {
    static final float EPSILON = 1e-5f;

    private Settings mamba() {
        return config.inside("ssm_cfg");
    }

    /** What a mixer is, by its tensors. */
    String kind(RankWeights mixer) {
        if (mixer.has("x_proj.weight")) {
            return "mamba1";
        }
        if (mixer.has("B_bias")) {
            return "mamba3";
        }
        return mixer.has("A_log") ? "mamba" : "attention";
    }

    Mixer mixer(RankWeights mixer) throws CheckpointException {
        return switch (kind(mixer)) {
            case "mamba1" -> mamba1(mixer);
            case "mamba3" -> mamba3(mixer);
            case "mamba" -> mamba2(mixer);
            default -> attention(mixer);
        };
    }

    Mamba2Mixer mamba2(RankWeights mixer) throws CheckpointException {
        int headDim = mamba().integerOr(64, "headdim");
        int state = mamba().integerOr(128, "d_state");
        List<Mamba2Mixer.Shard> shards = new ArrayList<>();
        int channels = 0;
        int groups = 0;
        for (NamedWeights w : mixer.ranks()) {
            int heads = w.size("dt_bias", 0);
            if (heads == 0) {
                continue;
            }
            int inner = heads * headDim;
            int own = (w.size("conv1d.weight", 0) - inner) / (2 * state);
            channels += inner;
            groups += own;
            shards.add(new Mamba2Mixer.Shard(
                    heads,
                    own,
                    w.size("out_proj.weight", 1) - inner,
                    w.get("in_proj.weight"),
                    w.find("in_proj.bias"),
                    w.get("conv1d.weight"),
                    w.find("conv1d.bias"),
                    w.get("dt_bias"),
                    w.get("A_log"),
                    w.get("D"),
                    w.find("norm.weight"),
                    w.get("out_proj.weight")));
        }
        TimeStep step = mamba().timeStep("dt_limit");
        Mamba2Mixer.Options options = new Mamba2Mixer.Options(
                headDim, state, step, channels / groups, EPSILON, mamba().flagOr(false, "norm_before_gate"));
        return new Mamba2Mixer(width, options, List.copyOf(shards), mixer.any("out_proj.bias"));
    }

    private Mamba1Mixer mamba1(RankWeights mixer) throws CheckpointException {
        List<Mamba1Mixer.Shard> shards = new ArrayList<>();
        for (NamedWeights w : mixer.ranks()) {
            shards.add(new Mamba1Mixer.Shard(
                    w.get("in_proj.weight"),
                    w.find("in_proj.bias"),
                    w.get("conv1d.weight"),
                    w.find("conv1d.bias"),
                    w.get("x_proj.weight"),
                    w.get("dt_proj.weight"),
                    w.get("dt_proj.bias"),
                    w.get("A_log"),
                    w.get("D"),
                    Optional.empty(),
                    Optional.empty(),
                    Optional.empty(),
                    w.get("out_proj.weight")));
        }
        NamedWeights first = mixer.first();
        Mamba1Mixer.Options options =
                new Mamba1Mixer.Options(first.size("A_log", 1), first.size("dt_proj.weight", 1), Optional.empty());
        return new Mamba1Mixer(width, options, List.copyOf(shards), mixer.any("out_proj.bias"));
    }

    Mixer mamba3(RankWeights mixer) throws CheckpointException {
        if (mixer.count() == 1) {
            return mamba3(mixer.first());
        }
        List<Mixer> ranks = new ArrayList<>();
        for (NamedWeights rank : mixer.ranks()) {
            if (rank.size("B_bias", 0) > 0) {
                ranks.add(mamba3(rank));
            }
        }
        return new SummedMixer(ranks);
    }

    private Mamba3Mixer mamba3(NamedWeights w) throws CheckpointException {
        int heads = w.size("B_bias", 0);
        int ranks = w.size("B_bias", 1);
        int state = w.size("B_bias", 2);
        int inner = w.size("out_proj.weight", 1);
        int rotated = (int) (state * mamba().realOr(0.5, "rope_fraction"));
        int angles = rotated / 2;
        // A rank has some of the groups, or the one that all heads share.
        int groups = (w.size("in_proj.weight", 0) - 2 * inner - 3 * heads - angles) / (2 * state * ranks);
        boolean several = w.has("mimo_x");
        Optional<Mamba3Mixer.Mimo> mimo = several
                ? Optional.of(new Mamba3Mixer.Mimo(w.get("mimo_x"), w.get("mimo_z"), w.get("mimo_o")))
                : Optional.empty();
        return new Mamba3Mixer(
                width,
                new Mamba3Mixer.Options(mamba().realOr(1e-4, "A_floor"), true),
                new Mamba3Scan(heads, inner / heads, groups, state, ranks, angles, several),
                w.get("in_proj.weight"),
                w.get("dt_bias"),
                w.get("B_bias"),
                w.get("C_bias"),
                w.get("B_norm.weight"),
                w.get("C_norm.weight"),
                mimo,
                w.get("D"),
                w.find("norm.weight"),
                w.get("out_proj.weight"));
    }

    AttentionMixer attention(RankWeights mixer) throws CheckpointException {
        Settings attention = config.inside("attn_cfg");
        int heads = attention.integer("num_heads");
        int keyHeads = attention.integerOr(heads, "num_heads_kv");
        int headDim = attention.integerOr(width / heads, "head_dim");
        int perKey = heads / keyHeads;
        List<AttentionMixer.Shard> shards = new ArrayList<>();
        for (int rank = 0; rank < mixer.count(); rank++) {
            NamedWeights w = mixer.ranks().get(rank);
            int ruled = keyHeads / mixer.count() + (rank < keyHeads % mixer.count() ? 1 : 0);
            int mlp = attention.integerOr(0, "mlp_dim") == 0 ? 0 : mlpWidth(w, perKey, ruled * perKey * headDim);
            int own = (w.size("in_proj.weight", 0) - 2 * mlp) / (headDim * (perKey + 2));
            if (own > 0) {
                shards.add(new AttentionMixer.Shard(
                        own * perKey,
                        own,
                        mlp,
                        w.get("in_proj.weight"),
                        w.find("in_proj.bias"),
                        w.find("conv1d.weight"),
                        w.find("conv1d.bias"),
                        Optional.empty(),
                        Optional.empty(),
                        w.get("out_proj.weight")));
            }
        }
        int rotated = attention.integerOr(0, "rotary_emb_dim");
        Optional<Rotary> rotary = rotated == 0
                ? Optional.empty()
                : Optional.of(new Rotary(
                        rotated,
                        attention.realOr(10000, "rotary_emb_base"),
                        attention.flagOr(false, "rotary_emb_interleaved")));
        AttentionMixer.Options options = new AttentionMixer.Options(
                headDim,
                attention.realOr(1 / Math.sqrt(headDim), "softmax_scale"),
                attention.flagOr(false, "causal"),
                rotary,
                false);
        return new AttentionMixer(width, options, List.copyOf(shards), mixer.any("out_proj.bias"));
    }

    /**
     * Channels of the built-in MLP of a rank: the input has q + k + v + 2 mlp rows, the output q + mlp columns.
     *
     * @param queries query channels that the rank has by the rule, for the one case in which its shapes do not tell
     */
    private static int mlpWidth(NamedWeights w, int perKey, int queries) throws CheckpointException {
        int rows = w.size("in_proj.weight", 0);
        int columns = w.size("out_proj.weight", 1);
        if (w.has("conv1d.weight")) {
            return (rows - w.size("conv1d.weight", 0)) / 2;
        }
        return columns - (perKey == 2 ? queries : perKey * (rows - 2 * columns) / (2 - perKey));
    }

    MlpMixer mlp(RankWeights w) throws CheckpointException {
        List<MlpMixer.Shard> shards = new ArrayList<>();
        for (NamedWeights rank : w.ranks()) {
            if (rank.size("fc2.weight", 1) > 0) {
                shards.add(new MlpMixer.Shard(rank.get("fc1.weight"), rank.find("fc1.bias"), rank.get("fc2.weight")));
            }
        }
        Optional<WeightSource> bias = w.any("fc2.bias");
        return new MlpMixer(width, MlpMixer.Form.VALUE_FIRST, Activation.SILU, List.copyOf(shards), bias);
    }
}
