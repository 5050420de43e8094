package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.ExpertRouting;
import dev.shardsmith.verify.forward.ExpertsMixer;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The layers of NemotronH: each is one mixer, of Mamba-2, attention, an MLP without a gate, or experts. */
final class NemotronBlocks {
    /** Scores whose sum is that of a group of experts. */
    private static final int BEST_OF_GROUP = 2;

    private final Settings config;
    private final HuggingFaceParts parts;
    private final NamedWeights layers;

    /**
     * Prepares them.
     *
     * @param layers the weights under {@code backbone.layers.}
     */
    NemotronBlocks(Settings config, HuggingFaceParts parts, NamedWeights layers) {
        this.config = config;
        this.parts = parts;
        this.layers = layers;
    }

    List<Block> build() throws CheckpointException {
        List<String> kinds = kinds();
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; i < kinds.size(); i++) {
            NamedWeights layer = layers.under(i + ".");
            NamedWeights w = layer.under("mixer.");
            String kind = kinds.get(i);
            Mixer mixer = switch (kind) {
                case "mamba" ->
                    parts.mamba2(
                            w,
                            config.integer("mamba_num_heads"),
                            config.integer("ssm_state_size"),
                            HuggingFaceParts.NormGroups.BY_GROUP);
                case "attention" -> parts.attention(w, parts.headScale(w), Optional.empty(), 1);
                case "mlp" -> parts.plain(w, parts.activation("mlp_hidden_act"));
                default -> experts(w);
            };
            blocks.add(new Block(i, kind, parts.norm(layer, "norm"), List.of(mixer)));
        }
        return blocks;
    }

    /** Newer configurations list words, older ones a pattern of symbols. */
    private List<String> kinds() throws CheckpointException {
        List<String> kinds = new ArrayList<>();
        String pattern = config.text("hybrid_override_pattern").orElse("").replace("|", "");
        List<Object> words = config.list("layers_block_type");
        int count = words.isEmpty() ? pattern.length() : words.size();
        for (int i = 0; i < count; i++) {
            String word = words.isEmpty() ? pattern.substring(i, i + 1) : String.valueOf(words.get(i));
            kinds.add(
                    switch (word) {
                        case "M", "mamba", "linear_attention" -> "mamba";
                        case "*", "attention", "full_attention" -> "attention";
                        case "-", "mlp" -> "mlp";
                        case "E", "moe" -> "moe";
                        default ->
                            throw CheckpointException.of(
                                    CheckpointException.Kind.UNSUPPORTED,
                                    config.origin(),
                                    "layer " + i + " of type " + word);
                    });
        }
        return kinds;
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
