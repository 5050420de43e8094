package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.PredictionJoin;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Megatron-LM's hybrid and GPT models, run rank by rank as that framework runs them.
 *
 * <p>Layers are numbered over the whole model. What no forward pass is known for (other mixers than Mamba-2 and gated delta nets, latent attention, a
 * learned softmax offset) is left out; nobody asks for its tensors then.
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
        return UnfollowedOptions.megatron(args)
                .mark(new MegatronModels(args, new RankWeights(ranks), expertRanks).build());
    }

    private LayeredModel build() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        int layers = layers();
        for (int i = 0; i < layers; i++) {
            addLayer(ranks.under("decoder.layers." + i + "."), i, "", blocks);
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
                        1)
                .with(ranks.any("embedding.position_embeddings.weight"), predictors(layers));
    }

    /** The layers of all depths of multi-token prediction, numbered after the main layers. */
    private List<Block> predictors(int layers) throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        for (int depth = 0; ranks.has("mtp.layers." + depth + ".eh_proj.weight"); depth++) {
            RankWeights own = ranks.under("mtp.layers." + depth + ".");
            PreNorm norm = need(preNorm(own, "hnorm."), own);
            PreNorm embedded = need(preNorm(own, "enorm."), own);
            blocks.add(new Block(
                    layers + blocks.size(),
                    "mtp join",
                    norm,
                    List.of(new PredictionJoin(parts.width(), embedded, own.all("eh_proj.weight")))));
            addLayer(own.under("transformer_layer."), layers + blocks.size(), "mtp ", blocks);
            addLayer(own.under("mtp_model_layer."), layers + blocks.size(), "mtp ", blocks);
            for (int i = 0; own.hasUnder("mtp_model_layer.layers." + i + "."); i++) {
                addLayer(own.under("mtp_model_layer.layers." + i + "."), layers + blocks.size(), "mtp ", blocks);
            }
            Optional<PreNorm> last = preNorm(own, "final_layernorm.");
            last.ifPresent(found -> blocks.add(new Block(layers + blocks.size(), "mtp norm", found, List.of())));
        }
        return List.copyOf(blocks);
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

    private void addLayer(RankWeights layer, int index, String of, List<Block> blocks) throws CheckpointException {
        if (parts.isMamba2(layer.under("mixer."))) {
            PreNorm norm = need(preNorm(layer, "mixer.in_proj.layer_norm_", "norm."), layer);
            blocks.add(new Block(index, of + "mamba", norm, List.of(parts.mamba2(layer.under("mixer.")))));
        }
        if (new GatedDeltaParts(args, parts).isGatedDelta(layer.under("self_attention."))) {
            PreNorm norm = need(preNorm(layer, "self_attention.in_proj.layer_norm_", "input_layernorm."), layer);
            Mixer mixer = new GatedDeltaParts(args, parts).mixer(layer.under("self_attention."));
            blocks.add(new Block(index, of + "gdn", norm, List.of(mixer)));
        }
        if (layer.has("self_attention.linear_qkv.weight")
                && !layer.has("self_attention.core_attention.softmax_offset")) {
            PreNorm norm = need(preNorm(layer, "self_attention.linear_qkv.layer_norm_", "input_layernorm."), layer);
            Mixer mixer = parts.attention(layer.under("self_attention."));
            blocks.add(new Block(index, of + "attention", norm, List.of(mixer)));
        }
        if (layer.has("mlp.router.weight")) {
            PreNorm norm = need(preNorm(layer, "pre_mlp_layernorm."), layer);
            blocks.add(new Block(index, of + "moe", norm, List.of(parts.experts(layer.under("mlp.")))));
        } else if (layer.has("mlp.linear_fc1.weight")) {
            PreNorm norm = need(preNorm(layer, "mlp.linear_fc1.layer_norm_", "pre_mlp_layernorm."), layer);
            Mixer mixer = parts.mlp(layer.under("mlp."), layer.count());
            blocks.add(new Block(index, of + "mlp", norm, List.of(mixer)));
        }
    }

    /** The norm under the first of these prefixes that has a weight. */
    private Optional<PreNorm> preNorm(RankWeights weights, String... prefixes) {
        for (String prefix : prefixes) {
            Optional<WeightSource> weight = weights.any(prefix + "weight");
            if (weight.isPresent()) {
                Optional<WeightSource> bias = weights.any(prefix + "bias");
                return Optional.of(new PreNorm(parts.norm(bias.isPresent()), weight.get(), bias));
            }
        }
        return Optional.empty();
    }

    private static PreNorm need(Optional<PreNorm> norm, RankWeights layer) throws CheckpointException {
        return norm.orElseThrow(() -> CheckpointException.of(
                CheckpointException.Kind.INCOMPLETE, layer.first().prefix(), "the layer has no norm in front"));
    }
}
