package dev.shardsmith.verify.check;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.family.MegatronModels;
import dev.shardsmith.verify.family.NamedWeights;
import dev.shardsmith.verify.family.Settings;
import dev.shardsmith.verify.forward.LayeredModel;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;

/**
 * A random hybrid model and its tensor-parallel shards, divided by rules written out here once more so that no rule of the
 * product takes part.
 */
final class HybridModel {
    final Sizes sizes;
    final Map<String, Grid> whole = new LinkedHashMap<>();
    final Map<String, Object> args = new LinkedHashMap<>();

    /** The sizes of a model; {@code heads} are those of Mamba layers. */
    record Sizes(
            String pattern,
            int hidden,
            int heads,
            int headDim,
            int groups,
            int state,
            int queryHeads,
            int queryGroups,
            int headChannels,
            int ffn,
            int experts,
            int vocabulary,
            boolean gated,
            boolean bias,
            boolean rotary,
            boolean layerNorm,
            boolean outputGates,
            boolean prediction) {
        int inner() {
            return heads * headDim;
        }

        int columns() {
            return groups * state;
        }

        int[] projection() {
            return new int[] {inner(), inner(), columns(), columns(), heads};
        }

        int[] channels() {
            return new int[] {inner(), columns(), columns()};
        }

        int projected() {
            return 2 * inner() + 2 * columns() + heads;
        }

        int[] gate() {
            return gated ? new int[] {ffn, ffn} : new int[] {ffn};
        }

        int qkvRows() {
            return ((outputGates ? 2 : 1) * queryHeads + 2 * queryGroups) * headChannels;
        }
    }

    HybridModel(RandomGenerator random, Sizes sizes) {
        this.sizes = sizes;
        whole.put("embedding.word_embeddings.weight", Grid.normal(random, sizes.vocabulary, sizes.hidden, 1, 0));
        for (int i = 0; i < sizes.pattern.length(); i++) {
            addLayer(random, "decoder.layers." + i + ".", sizes.pattern.charAt(i));
        }
        addNorm(random, "decoder.final_norm.");
        if (sizes.prediction) {
            String depth = "mtp.layers.0.";
            addNorm(random, depth + "enorm.");
            addNorm(random, depth + "hnorm.");
            whole.put(depth + "eh_proj.weight", Grid.matrix(random, sizes.hidden, 2 * sizes.hidden));
            addLayer(random, depth + "mtp_model_layer.layers.0.", '*');
            addLayer(random, depth + "mtp_model_layer.layers.1.", 'E');
            addNorm(random, depth + "final_layernorm.");
        }
        whole.put("output_layer.weight", Grid.matrix(random, sizes.vocabulary, sizes.hidden));
        args.put("num_attention_heads", sizes.queryHeads);
        args.put("num_query_groups", sizes.queryGroups);
        args.put("group_query_attention", true);
        args.put("mamba_state_dim", sizes.state);
        args.put("layernorm_epsilon", 1e-5);
        args.put("normalization", sizes.layerNorm ? "LayerNorm" : "RMSNorm");
        args.put("swiglu", sizes.gated);
        args.put("squared_relu", !sizes.gated);
        args.put("position_embedding_type", sizes.rotary ? "rope" : "none");
        args.put("attention_output_gate", sizes.outputGates);
        args.put("moe_router_topk", 2);
        args.put("moe_router_score_function", "sigmoid");
    }

    static Sizes randomSizes(RandomGenerator random) {
        int groups = 2 << random.nextInt(2);
        int heads = groups * random.nextInt(1, 4);
        int queryGroups = 1 << random.nextInt(3);
        int queryHeads = Math.max(4, queryGroups) * (random.nextBoolean() ? 1 : 2);
        StringBuilder pattern = new StringBuilder();
        int layers = random.nextInt(1, 5);
        for (int i = 0; i < layers; i++) {
            pattern.append("MMM*-E".charAt(random.nextInt(6)));
        }
        return new Sizes(
                pattern.toString(),
                8 * random.nextInt(2, 9),
                heads,
                4 * random.nextInt(1, 5),
                groups,
                4 * random.nextInt(1, 9),
                queryHeads,
                queryGroups,
                4 * random.nextInt(1, 5),
                8 * random.nextInt(1, 9),
                4,
                16 * random.nextInt(1, 5),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean(),
                random.nextBoolean());
    }

    private void addNorm(RandomGenerator random, String prefix) {
        whole.put(prefix + "weight", Grid.normal(random, sizes.hidden, 1, 0.1, 1));
        if (sizes.layerNorm) {
            whole.put(prefix + "bias", Grid.normal(random, sizes.hidden, 1, 0.1, 0));
        }
    }

    private void addLayer(RandomGenerator random, String layer, char kind) {
        switch (kind) {
            case 'M' -> addMamba(random, layer);
            case '*' -> addAttention(random, layer);
            case '-' -> {
                addNorm(random, layer + "mlp.linear_fc1.layer_norm_");
                addMlp(random, layer + "mlp.");
            }
            default -> addExperts(random, layer);
        }
    }

    private void addMamba(RandomGenerator random, String layer) {
        String mixer = layer + "mixer.";
        int channels = sizes.inner() + 2 * sizes.columns();
        whole.put(mixer + "conv1d_weight", Grid.normal(random, channels, 4, 0.4, 0));
        whole.put(mixer + "conv1d_bias", Grid.normal(random, channels, 1, 0.3, 0));
        whole.put(mixer + "dt_bias", Grid.normal(random, sizes.heads, 1, 0.7, -2));
        whole.put(mixer + "A_log", Grid.normal(random, sizes.heads, 1, 0.7, 1.5));
        whole.put(mixer + "D", Grid.normal(random, sizes.heads, 1, 0.2, 1));
        addNorm(random, mixer + "in_proj.layer_norm_");
        whole.put(mixer + "in_proj.weight", Grid.matrix(random, sizes.projected(), sizes.hidden));
        whole.put(mixer + "norm.weight", Grid.normal(random, sizes.inner(), 1, 0.1, 1));
        whole.put(mixer + "out_proj.weight", Grid.matrix(random, sizes.hidden, sizes.inner()));
        if (sizes.bias) {
            whole.put(mixer + "in_proj.bias", Grid.normal(random, sizes.projected(), 1, 0.2, 0));
            whole.put(mixer + "out_proj.bias", Grid.normal(random, sizes.hidden, 1, 0.2, 0));
        }
    }

    private void addAttention(RandomGenerator random, String layer) {
        String attention = layer + "self_attention.";
        addNorm(random, attention + "linear_qkv.layer_norm_");
        whole.put(attention + "linear_qkv.weight", Grid.matrix(random, sizes.qkvRows(), sizes.hidden));
        whole.put(
                attention + "linear_proj.weight",
                Grid.matrix(random, sizes.hidden, sizes.queryHeads * sizes.headChannels));
        if (sizes.bias) {
            whole.put(attention + "linear_qkv.bias", Grid.normal(random, sizes.qkvRows(), 1, 0.2, 0));
            whole.put(attention + "linear_proj.bias", Grid.normal(random, sizes.hidden, 1, 0.2, 0));
        }
    }

    private void addMlp(RandomGenerator random, String prefix) {
        int rows = sizes.ffn * sizes.gate().length;
        whole.put(prefix + "linear_fc1.weight", Grid.matrix(random, rows, sizes.hidden));
        whole.put(prefix + "linear_fc2.weight", Grid.matrix(random, sizes.hidden, sizes.ffn));
        if (sizes.bias) {
            whole.put(prefix + "linear_fc1.bias", Grid.normal(random, rows, 1, 0.2, 0));
            whole.put(prefix + "linear_fc2.bias", Grid.normal(random, sizes.hidden, 1, 0.2, 0));
        }
    }

    private void addExperts(RandomGenerator random, String layer) {
        addNorm(random, layer + "pre_mlp_layernorm.");
        whole.put(layer + "mlp.router.weight", Grid.matrix(random, sizes.experts, sizes.hidden));
        whole.put(layer + "mlp.router.expert_bias", Grid.normal(random, sizes.experts, 1, 0.3, 0));
        for (int e = 0; e < sizes.experts; e++) {
            addMlp(random, layer + "mlp.experts.local_experts." + e + ".");
        }
        addMlp(random, layer + "mlp.shared_experts.");
        if (sizes.outputGates) {
            whole.put(layer + "mlp.shared_experts.gate_weight", Grid.matrix(random, 1, sizes.hidden));
        }
    }

    /** The shards of each rank, by name. */
    List<Map<String, Grid>> shards(int ranks) {
        List<Map<String, Grid>> shards = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            Map<String, Grid> own = new LinkedHashMap<>();
            for (Map.Entry<String, Grid> tensor : whole.entrySet()) {
                own.put(tensor.getKey(), shard(tensor.getKey(), tensor.getValue(), rank, ranks));
            }
            shards.add(own);
        }
        return shards;
    }

    private Grid shard(String name, Grid tensor, int rank, int ranks) {
        String last = name.replaceFirst("(decoder|mtp\\.layers\\.0\\.mtp_model_layer)\\.layers\\.\\d+\\.", "")
                .replaceFirst("mlp\\.experts\\.local_experts\\.\\d+\\.", "mlp.")
                .replace("mlp.shared_experts.", "mlp.");
        return switch (last) {
            case "mixer.in_proj.weight", "mixer.in_proj.bias" -> tensor.share(rank, ranks, sizes.projection());
            case "mixer.conv1d_weight", "mixer.conv1d_bias" -> tensor.share(rank, ranks, sizes.channels());
            case "mlp.linear_fc1.weight", "mlp.linear_fc1.bias" -> tensor.share(rank, ranks, sizes.gate());
            case "mixer.out_proj.weight", "self_attention.linear_proj.weight", "mlp.linear_fc2.weight" ->
                tensor.columns(rank * (tensor.columns() / ranks), tensor.columns() / ranks);
            case "mixer.dt_bias",
                    "mixer.A_log",
                    "mixer.D",
                    "mixer.norm.weight",
                    "self_attention.linear_qkv.weight",
                    "self_attention.linear_qkv.bias",
                    "mtp.layers.0.eh_proj.weight",
                    "embedding.word_embeddings.weight",
                    "output_layer.weight" -> tensor.share(rank, ranks, tensor.rows());
            default -> tensor;
        };
    }

    LayeredModel model(int ranks) throws CheckpointException {
        return model(shards(ranks));
    }

    /** A model of shards that were cast to one type after the other, and are stored in the last. */
    LayeredModel model(List<Map<String, Grid>> shards, DType... casts) throws CheckpointException {
        DType type = casts.length == 0 ? DType.F32 : casts[casts.length - 1];
        List<NamedWeights> ranks = new ArrayList<>();
        for (Map<String, Grid> shard : shards) {
            Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
            shard.forEach((name, grid) -> entries.put(name, grid.cast(casts).entry(grid.columns() == 1, type)));
            ranks.add(new NamedWeights(entries));
        }
        return MegatronModels.of(new Settings("test", args), ranks, shards.size());
    }
}
