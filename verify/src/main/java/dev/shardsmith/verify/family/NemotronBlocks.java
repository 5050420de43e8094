package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.family.NemotronLayers;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertRouting;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.PredictionJoin;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The layers of NemotronH: each is one mixer, of Mamba-2, attention, an MLP without a gate, or experts. */
final class NemotronBlocks {
    /** Scores whose sum is that of a group of experts. */
    private static final int BEST_OF_GROUP = 2;

    private final Settings config;
    private final HuggingFaceParts parts;
    private final NamedWeights weights;
    private final NemotronLayers layers;

    /**
     * Prepares them.
     *
     * @param weights all tensors under their names on disk
     * @throws CheckpointException if the config does not say of what kinds the layers are
     */
    NemotronBlocks(Settings config, HuggingFaceParts parts, NamedWeights weights) throws CheckpointException {
        this.config = config;
        this.parts = parts;
        this.weights = weights;
        this.layers = NemotronLayers.of(config.values(), weights.names());
    }

    /**
     * The main layers.
     *
     * @param prefix what comes before their numbers
     */
    List<Block> main(String prefix) throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < layers.main().length(); i++) {
            blocks.add(block(weights.under(prefix + i + "."), layers.main().charAt(i), i, ""));
        }
        return blocks;
    }

    /**
     * The layers that predict further tokens, numbered after the main layers. Transformers does not run them; they compute what Megatron
     * computes with the same weights.
     */
    List<Block> predictors() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        int main = layers.main().length();
        int length = layers.prediction().length();
        for (int first = 0; length > 0 && weights.has(layer(first) + "eh_proj.weight"); first += length) {
            NamedWeights begin = weights.under(layer(first));
            PredictionJoin join =
                    new PredictionJoin(parts.width(), parts.norm(begin, "enorm"), List.of(begin.get("eh_proj.weight")));
            blocks.add(new Block(main + blocks.size(), "mtp join", parts.norm(begin, "hnorm"), List.of(join)));
            for (int i = 0; i < length; i++) {
                char kind = layers.prediction().charAt(i);
                blocks.add(block(weights.under(layer(first + i)), kind, main + blocks.size(), "mtp "));
            }
            NamedWeights end = weights.under(layer(first + length - 1));
            if (end.has("final_layernorm.weight")) {
                blocks.add(new Block(main + blocks.size(), "mtp norm", parts.norm(end, "final_layernorm"), List.of()));
            }
        }
        return blocks;
    }

    private static String layer(int number) {
        return "mtp.layers." + number + ".";
    }

    private Block block(NamedWeights layer, char kind, int index, String of) throws CheckpointException {
        NamedWeights w = layer.under("mixer.");
        PreNorm norm = parts.norm(layer, "norm");
        return switch (kind) {
            case 'M' ->
                new Block(
                        index,
                        of + "mamba",
                        norm,
                        List.of(parts.mamba2(
                                w,
                                config.integer("mamba_num_heads"),
                                config.integer("ssm_state_size"),
                                HuggingFaceParts.NormGroups.BY_GROUP,
                                HuggingFaceParts.StepBounds.NONE)));
            case '*' ->
                new Block(
                        index,
                        of + "attention",
                        norm,
                        List.of(parts.attention(w, parts.headScale(w), Optional.empty(), 1)));
            case '-' -> new Block(index, of + "mlp", norm, List.of(parts.plain(w, parts.activation("mlp_hidden_act"))));
            case 'E' -> new Block(index, of + "moe", norm, List.of(experts(w)));
            default ->
                throw CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED, config.origin(), "layer " + index + " of type " + kind);
        };
    }

    private ExpertsMixer experts(NamedWeights w) throws CheckpointException {
        Activation activation = parts.activation("mlp_hidden_act");
        List<MlpMixer> experts = new ArrayList<>();
        for (int e = 0; e < config.integer("n_routed_experts"); e++) {
            experts.add(parts.plain(w.under("experts." + e + "."), activation));
        }
        ExpertRouting routing = new ExpertRouting(
                ExpertRouting.Scores.SIGMOID,
                config.integer("num_experts_per_tok"),
                config.flagOr(true, "norm_topk_prob"),
                config.floatOr(1, "routed_scaling_factor"),
                new ExpertRouting.Groups(
                        config.integerOr(1, "n_group"), config.integerOr(1, "topk_group"), BEST_OF_GROUP));
        Optional<MlpMixer> shared = w.has("shared_experts.up_proj.weight")
                ? Optional.of(parts.plain(w.under("shared_experts."), activation))
                : Optional.empty();
        return new ExpertsMixer(
                parts.width(),
                routing,
                w.get("gate.weight"),
                Optional.empty(),
                w.find("gate.e_score_correction_bias"),
                List.copyOf(experts),
                shared,
                Optional.empty(),
                w.find("fc1_latent_proj.weight"),
                w.find("fc2_latent_proj.weight"));
    }
}
