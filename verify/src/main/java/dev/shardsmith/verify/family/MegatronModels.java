package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Megatron-LM's hybrid and GPT models, run rank by rank as that framework runs them.
 *
 * <p>Layers are numbered over the whole model. Multi-token-prediction blocks are not run.
 */
public final class MegatronModels {
    private static final Pattern LAYER = Pattern.compile("decoder\\.layers\\.(\\d{1,6})\\..+");

    private final Settings args;
    private final RankWeights ranks;
    private final MegatronParts parts;

    private MegatronModels(Settings args, RankWeights ranks, int expertRanks) throws CheckpointException {
        this.args = args;
        this.ranks = ranks;
        int width = ranks.first().size("embedding.word_embeddings.weight", 1);
        this.parts = new MegatronParts(args, width, Math.min(expertRanks, ranks.count()));
    }

    /**
     * The model of a checkpoint.
     *
     * @param args the saved arguments of the training run
     * @param ranks for each tensor-parallel rank what it holds over all pipeline stages
     * @param expertRanks tensor-parallel size of the experts; a checkpoint that is stored undivided has one rank of them
     * @throws CheckpointException if a layer is of a kind that is not known or a tensor is missing
     */
    public static LayeredModel of(Settings args, List<NamedWeights> ranks, int expertRanks) throws CheckpointException {
        return new MegatronModels(args, new RankWeights(ranks), expertRanks).build();
    }

    private LayeredModel build() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        int layers = layers();
        for (int i = 0; i < layers; i++) {
            addLayer(i, blocks);
        }
        List<WeightSource> embedding = ranks.all("embedding.word_embeddings.weight");
        List<WeightSource> head = ranks.has("output_layer.weight") ? ranks.all("output_layer.weight") : embedding;
        return new LayeredModel(
                parts.width(),
                embedding,
                1,
                List.copyOf(blocks),
                preNorm(ranks, "decoder.final_norm.", "decoder.final_layernorm."),
                head,
                1);
    }

    private int layers() {
        int layers = 0;
        for (String name : ranks.first().names()) {
            Matcher matcher = LAYER.matcher(name);
            if (matcher.matches()) {
                layers = Math.max(layers, Integer.parseInt(matcher.group(1)) + 1);
            }
        }
        return layers;
    }

    private void addLayer(int index, List<Block> blocks) throws CheckpointException {
        RankWeights layer = ranks.under("decoder.layers." + index + ".");
        int before = blocks.size();
        if (layer.has("mixer.A_log") && layer.has("mixer.D") && !layer.has("mixer.x_proj.weight")) {
            PreNorm norm = need(preNorm(layer, "mixer.in_proj.layer_norm_", "norm."), layer);
            blocks.add(new Block(index, "mamba", norm, List.of(parts.mamba2(layer.under("mixer.")))));
        }
        if (layer.has("self_attention.linear_qkv.weight")) {
            PreNorm norm = need(preNorm(layer, "self_attention.linear_qkv.layer_norm_", "input_layernorm."), layer);
            Mixer mixer = parts.attention(layer.under("self_attention."));
            blocks.add(new Block(index, "attention", norm, List.of(mixer)));
        }
        if (layer.has("mlp.router.weight")) {
            PreNorm norm = need(preNorm(layer, "pre_mlp_layernorm."), layer);
            blocks.add(new Block(index, "moe", norm, List.of(parts.experts(layer.under("mlp.")))));
        } else if (layer.has("mlp.linear_fc1.weight")) {
            PreNorm norm = need(preNorm(layer, "mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm."), layer);
            Mixer mixer = parts.mlp(layer.under("mlp."), layer.count());
            blocks.add(new Block(index, "mlp", norm, List.of(mixer)));
        }
        if (blocks.size() == before) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    layer.first().prefix(),
                    "layer " + index + " is none of Mamba-2, attention, MLP and mixture of experts");
        }
    }

    /** The norm under the first of these prefixes that has a weight. */
    private Optional<PreNorm> preNorm(RankWeights weights, String... prefixes) {
        for (String prefix : prefixes) {
            Optional<WeightSource> weight = weights.any(prefix + "weight");
            if (weight.isPresent()) {
                Optional<WeightSource> bias = weights.any(prefix + "bias");
                String kind = args.text("normalization").orElse(bias.isPresent() ? "LayerNorm" : "RMSNorm");
                Norm norm = new Norm(
                        kind.equals("LayerNorm") ? Norm.Kind.LAYER : Norm.Kind.RMS,
                        parts.epsilon(),
                        args.flagOr(false, "apply_layernorm_1p") ? 1 : 0);
                return Optional.of(new PreNorm(norm, weight.get(), bias));
            }
        }
        return Optional.empty();
    }

    private static PreNorm need(Optional<PreNorm> norm, RankWeights layer) throws CheckpointException {
        return norm.orElseThrow(() -> CheckpointException.of(
                CheckpointException.Kind.INCOMPLETE, layer.first().prefix(), "the layer has no norm in front"));
    }
}
