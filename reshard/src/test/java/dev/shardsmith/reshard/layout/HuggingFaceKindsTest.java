package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HuggingFaceKindsTest {
    @Test
    void kindsFollowTheConfig() {
        assertThat(HuggingFaceKinds.of(Map.of("model_type", "llama", "num_hidden_layers", 3)))
                .isEqualTo("MMM");
        assertThat(HuggingFaceKinds.of(
                        Map.of("model_type", "bamba", "num_hidden_layers", 4, "attn_layer_indices", List.of(1, 9))))
                .isEqualTo("M*MM");
        assertThat(HuggingFaceKinds.of(Map.of(
                        "model_type",
                        "zamba2",
                        "num_hidden_layers",
                        3,
                        "layers_block_type",
                        List.of("mamba", "hybrid", "mamba"))))
                .isEqualTo("A A");
        assertThat(HuggingFaceKinds.of(Map.of(
                        "model_type",
                        "jamba",
                        "num_hidden_layers",
                        4,
                        "attn_layer_offset",
                        2,
                        "attn_layer_period",
                        4,
                        "expert_layer_offset",
                        1,
                        "expert_layer_period",
                        2)))
                .isEqualTo("ABCB");
        assertThat(HuggingFaceKinds.of(Map.of("model_type", "unheard-of", "num_hidden_layers", 4)))
                .isEmpty();
    }

    @Test
    void aParameterThatOneOfTwoLikeLayersLacksIsMissed() {
        Map<String, Object> config = Map.of("model_type", "llama", "num_hidden_layers", 2);
        Set<String> names = Set.of(
                "model.embed_tokens.weight",
                "model.layers.0.mlp.up_proj.weight",
                "model.layers.0.mlp.down_proj.weight",
                "model.layers.1.mlp.up_proj.weight",
                "model.norm.weight");
        assertThat(HuggingFaceGaps.find(config, names, HuggingFaceKinds.of(config)))
                .containsOnlyKeys("model.layers.1.mlp.down_proj.weight");
    }

    @Test
    void modelsWithNamesOfTheirOwnLackNothing() {
        Map<String, Object> config = Map.of("model_type", "gpt2", "n_layer", 1);
        Set<String> names = Set.of("wte.weight", "h.0.ln_1.weight", "ln_f.weight");
        assertThat(HuggingFaceGaps.find(config, names, HuggingFaceKinds.of(config)))
                .isEmpty();
    }
}
