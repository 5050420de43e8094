package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.GatedDeltaMixer;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The gated delta nets of Megatron-LM.
 *
 * @param args the saved arguments
 * @param parts the other layers of the model, for what they have in common
 */
record GatedDeltaParts(Settings args, MegatronParts parts) {
    private static final String[] PROJECTED = {"query", "key", "value", "z", "beta", "alpha"};
    private static final String[] CONVOLVED = {"query", "key", "value"};

    /** Whether a layer is of the first kind, by what it holds and by the rows of its projection; later kinds have others. */
    boolean isGatedDelta(RankWeights layer) throws CheckpointException {
        NamedWeights rank = layer.first();
        if (!rank.has("A_log") || !rank.has("out_norm.weight") || !rank.has("out_proj.weight")) {
            return false;
        }
        if (!rank.has("in_proj.weight")) {
            return rank.has("in_proj.weight.alpha") && rank.has("conv1d.weight.query");
        }
        int values = rank.size("out_proj.weight", 1);
        return rank.has("conv1d.weight")
                && rank.size("in_proj.weight", 0) == channels(rank) + values + 2 * rank.size("A_log", 0)
                && (channels(rank) - values) % (2 * keyDim()) == 0
                && values % rank.size("A_log", 0) == 0;
    }

    private int keyDim() {
        return Math.max(1, args.integerOr(128, "linear_key_head_dim"));
    }

    GatedDeltaMixer mixer(RankWeights layer) throws CheckpointException {
        NamedWeights first = layer.first();
        int valueDim = first.size("out_proj.weight", 1) / first.size("A_log", 0);
        List<GatedDeltaMixer.Shard> shards = new ArrayList<>();
        for (NamedWeights rank : layer.ranks()) {
            shards.add(shard(rank));
        }
        GatedDeltaMixer.Options options = new GatedDeltaMixer.Options(keyDim(), valueDim, parts.norm(false));
        return new GatedDeltaMixer(parts.width(), options, List.copyOf(shards), layer.any("out_proj.bias"));
    }

    private GatedDeltaMixer.Shard shard(NamedWeights rank) throws CheckpointException {
        int values = rank.size("out_proj.weight", 1);
        return new GatedDeltaMixer.Shard(
                (channels(rank) - values) / (2 * keyDim()),
                rank.size("A_log", 0),
                MegatronParts.joined(rank, List.of("in_proj.weight"), PROJECTED),
                optional(rank, "in_proj.bias", PROJECTED),
                MegatronParts.joined(rank, List.of("conv1d.weight"), CONVOLVED),
                optional(rank, "conv1d.bias", CONVOLVED),
                rank.get("dt_bias"),
                rank.get("A_log"),
                rank.get("out_norm.weight"),
                rank.get("out_proj.weight"));
    }

    private static Optional<WeightSource> optional(NamedWeights rank, String name, String... components)
            throws CheckpointException {
        return MegatronParts.hasAny(rank, name, name + "." + components[0])
                ? Optional.of(MegatronParts.joined(rank, List.of(name), components))
                : Optional.empty();
    }

    /** Channels of the convolution. */
    private static int channels(NamedWeights rank) throws CheckpointException {
        if (rank.has("conv1d.weight")) {
            return rank.size("conv1d.weight", 0);
        }
        int channels = 0;
        for (String component : CONVOLVED) {
            channels += rank.size("conv1d.weight." + component, 0);
        }
        return channels;
    }
}
