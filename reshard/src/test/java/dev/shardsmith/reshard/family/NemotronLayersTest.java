package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

final class NemotronLayersTest {
    private static final Set<String> PREDICTS = Set.of("mtp.layers.0.eh_proj.weight", "mtp.layers.1.norm.weight");

    @Test
    void theKindsOfLayersHaveToBeSaid() {
        Map<String, Object> config = new HashMap<>();
        for (Object nothing : new Object[] {null, 3L, true}) {
            config.put("hybrid_override_pattern", nothing);
            assertThatThrownBy(() -> NemotronLayers.of(config, Set.of()))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("neither hybrid_override_pattern nor layers_block_type");
        }
    }

    @Test
    void aPatternOrAListSaysThem() throws CheckpointException {
        assertThat(NemotronLayers.of(Map.of("hybrid_override_pattern", "M-|*E"), Set.of())
                        .pattern())
                .isEqualTo("M-*E");
        assertThat(NemotronLayers.of(Map.of("layers_block_type", List.of("mamba", "moe", "full_attention")), Set.of())
                        .pattern())
                .isEqualTo("ME*");
    }

    @Test
    void blocksWithoutAPatternAreTheUsualOnes() throws CheckpointException {
        assertThat(NemotronLayers.of(Map.of("hybrid_override_pattern", "M"), PREDICTS)
                        .pattern())
                .isEqualTo("M/*E");
        Map<String, Object> empty = Map.of("hybrid_override_pattern", "M", "mtp_hybrid_override_pattern", "");
        assertThat(NemotronLayers.of(empty, PREDICTS).pattern()).isEqualTo("M/*E");
    }
}
