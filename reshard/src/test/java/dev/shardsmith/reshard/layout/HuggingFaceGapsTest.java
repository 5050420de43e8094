package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

class HuggingFaceGapsTest {
    private static final Map<String, Object> CONFIG = Map.of(
            "model_type",
            "mamba2",
            "num_hidden_layers",
            3,
            "tie_word_embeddings",
            false,
            "architectures",
            List.of("Mamba2ForCausalLM"));

    private static final Set<String> WHOLE = new LinkedHashSet<>(List.of(
            "backbone.embeddings.weight",
            "backbone.layers.0.norm.weight",
            "backbone.layers.0.mixer.D",
            "backbone.layers.1.norm.weight",
            "backbone.layers.1.mixer.D",
            "backbone.layers.2.norm.weight",
            "backbone.layers.2.mixer.D",
            "backbone.norm_f.weight",
            "lm_head.weight"));

    @Test
    void aWholeModelHasNone() {
        assertThat(HuggingFaceGaps.find(CONFIG, WHOLE, "MMM")).isEmpty();
    }

    @Test
    void eachEndOfTheModelIsMissed() {
        assertThat(find("backbone.embeddings.weight")).containsOnlyKeys("*embed*");
        assertThat(find("backbone.norm_f.weight")).containsOnlyKeys("*norm*");
        assertThat(find("lm_head.weight"))
                .containsEntry("lm_head.weight", "config.json says that it is not tied to the embedding");
    }

    @Test
    void aTiedHeadIsNotMissed() {
        Map<String, Object> tied = Map.of(
                "model_type", "mamba2", "tie_word_embeddings", true, "architectures", List.of("MambaForCausalLM"));
        Set<String> names = new LinkedHashSet<>(WHOLE);
        names.remove("lm_head.weight");

        assertThat(HuggingFaceGaps.find(tied, names, "MMM")).isEmpty();
    }

    @Test
    void aWholeLayerIsMissed() {
        assertThat(find("backbone.layers.1.norm.weight", "backbone.layers.1.mixer.D"))
                .containsEntry("backbone.layers.1.*", "config.json says that there are 3 layers");
    }

    @Test
    void aParameterThatTheOtherLayersOfItsKindHaveIsMissed() {
        assertThat(find("backbone.layers.2.mixer.D"))
                .containsEntry("backbone.layers.2.mixer.D", "other layers of its kind have it");
        Set<String> names = new LinkedHashSet<>(WHOLE);
        names.remove("backbone.layers.2.mixer.D");
        assertThat(HuggingFaceGaps.find(CONFIG, names, "MM-")).isEmpty();
    }

    @Test
    void moreLayersThanTheConfigHasAreTold() {
        Map<String, Object> fewer = new LinkedHashMap<>(CONFIG);
        fewer.put("num_hidden_layers", 2);
        assertThat(HuggingFaceGaps.surplus(fewer, WHOLE)).hasValue("the files have 3 layers, config.json says 2");
        assertThat(HuggingFaceGaps.surplus(CONFIG, WHOLE)).isEmpty();
        fewer.put("model_type", "deepseek_v3");
        assertThat(HuggingFaceGaps.surplus(fewer, WHOLE)).isEmpty();
    }

    @Test
    void aHugeNumberOfLayersInTheConfigDoesNoHarm() {
        Map<String, Object> huge = Map.of("model_type", "mamba2", "num_hidden_layers", Long.MAX_VALUE);

        assertThat(HuggingFaceGaps.find(huge, WHOLE, "")).hasSize(1000);
    }

    private static Map<String, String> find(String... gone) {
        Set<String> names = new LinkedHashSet<>(WHOLE);
        names.removeAll(Set.of(gone));
        return HuggingFaceGaps.find(CONFIG, names, "MMM");
    }
}
