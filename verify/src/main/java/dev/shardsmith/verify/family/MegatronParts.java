package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.ExpertRouting;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The mixers of Megatron-LM.
 *
 * @param args the saved arguments
 * @param width channels of the residual stream
 * @param expertRanks tensor-parallel size of the experts
 */
record MegatronParts(Settings args, int width, int expertRanks) {
    private static final float GATED_NORM_EPSILON = 1e-5f;

    float epsilon() {
        return args.floatOr(1e-5, "norm_epsilon", "layernorm_epsilon");
    }

    /** How layers and the heads of attention are normalised; the arguments may not say so. */
    Norm norm(boolean biased) {
        String kind = args.text("normalization").orElse(biased ? "LayerNorm" : "RMSNorm");
        return new Norm(
                kind.equals("LayerNorm") ? Norm.Kind.LAYER : Norm.Kind.RMS,
                epsilon(),
                args.flagOr(false, "apply_layernorm_1p", "layernorm_zero_centered_gamma") ? 1 : 0);
    }

    /** Whether a mixer is Mamba-2, by what it holds and by the rows of its projection. */
    boolean isMamba2(RankWeights mixer) throws CheckpointException {
        NamedWeights rank = mixer.first();
        if (!rank.has("A_log") || !rank.has("D") || !rank.has("out_proj.weight") || rank.has("x_proj.weight")) {
            return false;
        }
        if (!rank.has("in_proj.weight")) {
            return rank.has("in_proj.weight.z");
        }
        int inner = rank.size("out_proj.weight", 1);
        return rank.size("in_proj.weight", 0) == inner + channels(rank) + rank.size("A_log", 0);
    }

    Mamba2Mixer mamba2(RankWeights mixer) throws CheckpointException {
        int inner = mixer.total("out_proj.weight", 1);
        int heads = mixer.total("A_log", 0);
        int state = args.integerOr(128, "mamba_state_dim");
        List<Mamba2Mixer.Shard> shards = new ArrayList<>();
        int groups = 0;
        for (NamedWeights rank : mixer.ranks()) {
            Mamba2Mixer.Shard shard = mamba2(rank, state);
            groups += shard.groups();
            shards.add(shard);
        }
        Mamba2Mixer.Options options = new Mamba2Mixer.Options(
                inner / heads, state, TimeStep.SOFTPLUS, inner / groups, GATED_NORM_EPSILON, false);
        return new Mamba2Mixer(width, options, List.copyOf(shards), mixer.any("out_proj.bias"));
    }

    private static Mamba2Mixer.Shard mamba2(NamedWeights rank, int state) throws CheckpointException {
        int inner = rank.size("out_proj.weight", 1);
        WeightSource conv = joined(rank, List.of("conv1d_weight", "conv1d.weight"), "x", "B", "C");
        Optional<WeightSource> convBias = hasAny(rank, "conv1d_bias", "conv1d.bias", "conv1d.bias.x")
                ? Optional.of(joined(rank, List.of("conv1d_bias", "conv1d.bias"), "x", "B", "C"))
                : Optional.empty();
        int columns = channels(rank) - inner;
        if (columns <= 0 || columns % (2 * state) != 0) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    rank.prefix() + "conv1d",
                    (columns + inner) + " channels do not fit " + inner + " of x and groups of " + state
                            + " of B and C");
        }
        return new Mamba2Mixer.Shard(
                rank.size("A_log", 0),
                columns / (2 * state),
                0,
                joined(rank, List.of("in_proj.weight"), "z", "x", "B", "C", "dt"),
                hasAny(rank, "in_proj.bias", "in_proj.bias.z")
                        ? Optional.of(joined(rank, List.of("in_proj.bias"), "z", "x", "B", "C", "dt"))
                        : Optional.empty(),
                conv,
                convBias,
                rank.get("dt_bias"),
                rank.get("A_log"),
                rank.get("D"),
                rank.find("norm.weight"),
                rank.get("out_proj.weight"));
    }

    private static int channels(NamedWeights rank) throws CheckpointException {
        for (String name : List.of("conv1d_weight", "conv1d.weight")) {
            if (rank.has(name)) {
                return rank.size(name, 0);
            }
        }
        return rank.size("conv1d.weight.x", 0) + rank.size("conv1d.weight.B", 0) + rank.size("conv1d.weight.C", 0);
    }

    static boolean hasAny(NamedWeights rank, String... names) {
        for (String name : names) {
            if (rank.has(name)) {
                return true;
            }
        }
        return false;
    }

    /** A tensor that is whole under one of these names, or in components under the last of them. */
    static WeightSource joined(NamedWeights rank, List<String> names, String... components) throws CheckpointException {
        for (String name : names) {
            if (rank.has(name)) {
                return rank.get(name);
            }
        }
        List<WeightSource> parts = new ArrayList<>();
        for (String component : components) {
            parts.add(rank.get(names.get(names.size() - 1) + "." + component));
        }
        return WeightSource.concat(parts);
    }

    AttentionMixer attention(RankWeights w) throws CheckpointException {
        int heads = args.integer("num_attention_heads");
        int groups = args.flagOr(true, "group_query_attention") ? args.integerOr(heads, "num_query_groups") : heads;
        int columns = w.total("linear_proj.weight", 1);
        int headDim = columns / heads;
        boolean gated = args.flagOr(false, "attention_output_gate");
        QueryGroups order = new QueryGroups(heads, groups, headDim, w.count(), gated);
        int rows = w.total("linear_qkv.weight", 0);
        if (heads * headDim != columns || rows != order.allRows()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    w.first().prefix() + "linear_qkv.weight",
                    "it has %d rows, and linear_proj.weight %d columns; %d heads in %d query groups of %d channels%s make %d and %d"
                            .formatted(
                                    rows,
                                    columns,
                                    heads,
                                    groups,
                                    headDim,
                                    gated ? " with output gates" : "",
                                    order.allRows(),
                                    heads * headDim));
        }
        List<AttentionMixer.Shard> shards = new ArrayList<>();
        for (int rank = 0; rank < w.count(); rank++) {
            shards.add(shard(w, rank, order));
        }
        double scale = args.realOr(1 / Math.sqrt(headDim), "softmax_scale");
        AttentionMixer.Options options = new AttentionMixer.Options(headDim, scale, true, rotary(headDim), gated);
        return new AttentionMixer(width, options, List.copyOf(shards), w.any("linear_proj.bias"));
    }

    private AttentionMixer.Shard shard(RankWeights w, int rank, QueryGroups groups) throws CheckpointException {
        NamedWeights own = w.ranks().get(rank);
        WeightSource all =
                groups.insideRank() ? own.get("linear_qkv.weight") : WeightSource.concat(w.all("linear_qkv.weight"));
        Optional<WeightSource> bias = Optional.empty();
        if (own.has("linear_qkv.bias")) {
            WeightSource stored =
                    groups.insideRank() ? own.get("linear_qkv.bias") : WeightSource.concat(w.all("linear_qkv.bias"));
            bias = Optional.of(stored.gather(1, groups.rows(rank)));
        }
        return new AttentionMixer.Shard(
                groups.headsOfRank(),
                groups.groupsOfRank(),
                0,
                all.gather(width, groups.rows(rank)),
                bias,
                Optional.empty(),
                Optional.empty(),
                headNorm(own, "q_layernorm"),
                headNorm(own, "k_layernorm"),
                own.get("linear_proj.weight"));
    }

    private Optional<PreNorm> headNorm(NamedWeights own, String name) {
        Optional<WeightSource> bias = own.find(name + ".bias");
        return own.find(name + ".weight").map(weight -> new PreNorm(norm(bias.isPresent()), weight, bias));
    }

    private Optional<Rotary> rotary(int headDim) {
        boolean rotates = args.text("position_embedding_type").orElse("").equals("rope")
                || args.flagOr(false, "use_rotary_position_embeddings");
        if (!rotates) {
            return Optional.empty();
        }
        int rotated = (int) (headDim * args.realOr(1, "rotary_percent"));
        return Optional.of(
                new Rotary(rotated, args.realOr(10000, "rotary_base"), args.flagOr(false, "rotary_interleaved")));
    }

    /** The MLP of a layer, of an expert or of the shared expert, on the first {@code count} ranks. */
    MlpMixer mlp(RankWeights w, int count) throws CheckpointException {
        return mlp(w, count, "linear_fc1.weight", "linear_fc1.bias", "linear_fc2.weight", "linear_fc2.bias", width);
    }

    private MlpMixer mlp(RankWeights w, int count, String fc1, String fc1Bias, String fc2, String fc2Bias, int channels)
            throws CheckpointException {
        List<MlpMixer.Shard> shards = new ArrayList<>();
        for (NamedWeights rank : w.ranks().subList(0, count)) {
            shards.add(new MlpMixer.Shard(rank.get(fc1), rank.find(fc1Bias), rank.get(fc2)));
        }
        boolean gated = w.first().size(fc1, 0) == 2 * w.first().size(fc2, 1);
        MlpMixer.Form form = gated ? MlpMixer.Form.GATE_FIRST : MlpMixer.Form.PLAIN;
        return new MlpMixer(channels, form, activation(gated), List.copyOf(shards), w.any(fc2Bias));
    }

    private Activation activation(boolean gated) {
        if (gated) {
            return args.flagOr(true, "swiglu") ? Activation.SILU : Activation.GELU;
        }
        if (args.flagOr(false, "squared_relu")) {
            return Activation.SQUARED_RELU;
        }
        // Fused with its bias, the function is the one of the hyperbolic tangent.
        boolean fused = args.flagOr(false, "bias_gelu_fusion") && args.flagOr(false, "add_bias_linear");
        return fused ? Activation.GELU_TANH : Activation.GELU;
    }

    ExpertsMixer experts(RankWeights w) throws CheckpointException {
        int count = w.first().size("router.weight", 0);
        int channels = w.has("fc1_latent_proj.weight") ? w.first().size("fc1_latent_proj.weight", 0) : width;
        List<MlpMixer> experts = new ArrayList<>();
        for (int e = 0; e < count; e++) {
            experts.add(expert(w, e, channels));
        }
        Optional<MlpMixer> shared = w.has("shared_experts.linear_fc1.weight")
                ? Optional.of(mlp(w.under("shared_experts."), w.count()))
                : Optional.empty();
        return new ExpertsMixer(
                width,
                routing(),
                w.first().get("router.weight"),
                w.any("router.bias"),
                w.any("router.expert_bias"),
                List.copyOf(experts),
                shared,
                w.any("shared_experts.gate_weight"),
                w.any("fc1_latent_proj.weight"),
                w.any("fc2_latent_proj.weight"));
    }

    private MlpMixer expert(RankWeights w, int e, int channels) throws CheckpointException {
        String local = "experts.local_experts." + e + ".";
        if (w.has(local + "linear_fc1.weight")) {
            return mlp(
                    w.under(local),
                    expertRanks,
                    "linear_fc1.weight",
                    "linear_fc1.bias",
                    "linear_fc2.weight",
                    "linear_fc2.bias",
                    channels);
        }
        return mlp(
                w.under("experts."),
                expertRanks,
                "linear_fc1.weight" + e,
                "linear_fc1.bias" + e,
                "linear_fc2.weight" + e,
                "linear_fc2.bias" + e,
                channels);
    }

    private ExpertRouting routing() {
        int top = args.integerOr(2, "moe_router_topk");
        float scale = args.floatOr(1, "moe_router_topk_scaling_factor");
        int groups = args.integerOr(1, "moe_router_num_groups");
        int topGroups = args.integerOr(groups, "moe_router_group_topk");
        int members = Math.max(1, top / Math.max(1, topGroups));
        String function = args.text("moe_router_score_function").orElse("softmax");
        boolean before = args.flagOr(false, "moe_router_pre_softmax");
        ExpertRouting.Scores scores = switch (function) {
            case "sigmoid" -> ExpertRouting.Scores.SIGMOID;
            case "softmax" -> before ? ExpertRouting.Scores.SOFTMAX_ALL : ExpertRouting.Scores.SOFTMAX_CHOSEN;
            // Another one is among the options that are not followed: such layers are not run.
            default -> ExpertRouting.Scores.SIGMOID;
        };
        boolean normalized = scores == ExpertRouting.Scores.SIGMOID && top > 1;
        return new ExpertRouting(scores, top, normalized, scale, new ExpertRouting.Groups(groups, topGroups, members));
    }
}
