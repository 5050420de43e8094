package dev.shardsmith.reshard.pattern;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The two models of the published training script, which gives ratios, and the reference table of ratios. */
class PublishedConfigurationsTest {
    @Test
    void theSmallModelHasTwentyMambaFourAttentionAndTwentyFourMlpLayers() throws Exception {
        HybridPattern pattern = RatioPattern.of(48, 0.08, 0.5);
        assertThat(pattern.text()).isEqualTo("M-M-M--M-*M-M-M-M--*M-M-M-M-*M--M-M-M-*M-M--M-M-");
        assertThat(pattern.layerCount()).isEqualTo(48);
        assertThat(pattern.counts())
                .containsEntry(LayerKind.MAMBA, 20)
                .containsEntry(LayerKind.ATTENTION, 4)
                .containsEntry(LayerKind.MLP, 24);
    }

    @Test
    void theLargeModelHasTwentyFourMambaFourAttentionAndTwentyEightMlpLayers() throws Exception {
        HybridPattern pattern = RatioPattern.of(56, 0.08, 0.5);
        assertThat(pattern.text()).isEqualTo("M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-");
        assertThat(pattern.layerCount()).isEqualTo(56);
        assertThat(pattern.counts())
                .containsEntry(LayerKind.MAMBA, 24)
                .containsEntry(LayerKind.ATTENTION, 4)
                .containsEntry(LayerKind.MLP, 28);
        StageLayout four = StageLayout.of(pattern, 4, OptionalInt.empty(), EdgeStages.NONE);
        assertThat(four.layerCounts()).containsExactly(14, 14, 14, 14);
        assertThat(four.error()).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({
        "1, .5, .5, M",
        "2, .25, .25, MM",
        "3, .5, .5, *-*",
        "3, .34, .33, M*-",
        "4, .25, .25, MM*-",
        "4, 1, 0, ****",
        "4, 0, 1, ----",
        "5, .5, 0, M*M*M",
        "5, .3, .7, -*-*-",
        "5, .5, .5, M*-*-",
        "6, .25, .25, M*-M*-",
        "7, .5, 0, M**M**M",
        "8, .5, .5, -*-**-*-",
        "10, .2, 0, MMM*MM*MMM",
        "10, 0, .1, MMMMMMMMM-",
        "10, 0, .3, MM-MMM-MM-",
        "10, 0, .5, M-M-M-M-M-",
        "10, .1, .1, MMMMM*MMM-",
        "10, .2, .2, MMM*-M*MM-",
        "10, .3, .3, M-*MM*-*M-",
        "10, .5, .5, -*-*-**-*-",
        "12, .125, .375, MM-*M-MM*-M-",
        "24, .125, .375, M-MM-*M-M-MM*-M-M-*MM-M-",
        "48, .1, 0, MMMMMMM*MMMMMMM*MMMMMMMM*MMMMMMM*MMMMMMM*MMMMMMM",
        "48, .5, 0, M*M*M*M*M*M*M*M*M*M*M*M**M*M*M*M*M*M*M*M*M*M*M*M",
        "52, .08, .5, M-M-M--M-M*-M-M-M--M*-M-M-M-M-M*--M-M-M-M*-M--M-M-M-",
    })
    void ratiosGiveTheReferencePattern(int layers, double attention, double mlp, String pattern) throws Exception {
        assertThat(RatioPattern.of(layers, attention, mlp).text()).isEqualTo(pattern);
    }
}
