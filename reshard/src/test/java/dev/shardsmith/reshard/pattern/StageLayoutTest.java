package dev.shardsmith.reshard.pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.reshard.pattern.StageChoice.PatternField;
import dev.shardsmith.testdata.Cases;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class StageLayoutTest {
    private static final OptionalInt NONE = OptionalInt.empty();

    private static StageLayout layout(String pattern, int pp) throws Exception {
        return StageLayout.of(HybridPattern.parse(pattern), pp, NONE, EdgeStages.NONE);
    }

    private static StageLayout layout(String pattern, int pp, Integer first, Integer last) throws Exception {
        return StageLayout.of(HybridPattern.parse(pattern), pp, NONE, new EdgeStages(given(first), given(last)));
    }

    private static OptionalInt given(Integer value) {
        return value == null ? NONE : OptionalInt.of(value);
    }

    private static String show(StageLayout layout) {
        return layout.stages().stream()
                .map(stage -> stage.layers() + "@" + stage.offset())
                .collect(Collectors.joining(" "));
    }

    @Test
    void stagesAreTheReferenceOnes() throws Exception {
        assertThat(show(layout("M*M*M*M*", 1))).isEqualTo("M*M*M*M*@0");
        assertThat(show(layout("M*M*M*M*", 2))).isEqualTo("M*M*@0 M*M*@4");
        assertThat(show(layout("M*M*M*M*", 4, 1, 1))).isEqualTo("M@0 *M*@1 M*M@4 *@7");
        assertThat(show(layout("M*M*M*M*", 2, 3, null))).isEqualTo("M*M@0 *M*M*@3");
        assertThat(show(layout("M-M-|M-M*-", 2))).isEqualTo("M-M-@0 M-M*-@4");
        assertThat(show(layout("M-M-|M-M*-|M-M-|M-M*-", 4))).isEqualTo("M-M-@0 M-M*-@4 M-M-@9 M-M*-@13");
        assertThat(show(layout("", 2))).isEqualTo("@0 @0");
    }

    @Test
    void virtualStagesGoRoundTheRanks() throws Exception {
        StageLayout layout = layout("M-M-|M-M*-|M-M-|M-M*-", 2);
        assertThat(layout.vpSize()).isEqualTo(2);
        assertThat(layout.stages())
                .containsExactly(
                        new Stage(0, 0, 0, "M-M-"),
                        new Stage(1, 0, 4, "M-M*-"),
                        new Stage(0, 1, 9, "M-M-"),
                        new Stage(1, 1, 13, "M-M*-"));
        assertThat(layout.stage(1, 1).offset()).isEqualTo(13);
        assertThat(layout.stageOf(10)).contains(layout.stage(0, 1));
        assertThat(show(layout("M||MM|", 2))).isEqualTo("M@0 @1 MM@1 @3");
    }

    @ParameterizedTest
    @CsvSource({
        "M*M*M*M*, 3, , , do not divide by 3",
        "M*M*M*, 3, 1, , 5 layers between",
        "M-M-|M-M*-, 2, 4, , says with |",
        "M-M-|M-M*-, 4, , , 2 segments",
        "MMMM, 0, , , size of 0",
    })
    void whatTheFrameworkRefusesIsRefused(String pattern, int pp, Integer first, Integer last, String message) {
        assertThatThrownBy(() -> layout(pattern, pp, first, last)).hasMessageContaining(message);
    }

    @Test
    void virtualStagesNeedPipesAndTheRightNumber() throws Exception {
        HybridPattern plain = HybridPattern.parse("M*M*M*M*");
        assertThatThrownBy(() -> StageLayout.of(plain, 2, OptionalInt.of(2), EdgeStages.NONE))
                .hasMessageContaining("divided by |");
        HybridPattern piped = HybridPattern.parse("M|M|M|M");
        assertThatThrownBy(() -> StageLayout.of(piped, 2, OptionalInt.of(1), EdgeStages.NONE))
                .hasMessageContaining("make 2 virtual stages, not 1");
        assertThat(StageLayout.of(piped, 2, OptionalInt.of(2), EdgeStages.NONE).vpSize())
                .isEqualTo(2);
    }

    @Test
    void layersThatTheFrameworkLosesSilentlyAreReported() throws Exception {
        StageLayout lost = layout("M*M*M*M*", 2, 3, 4);
        assertThat(show(lost)).isEqualTo("M*M@0 M*M*@4");
        assertThat(lost.error().orElseThrow().message()).contains("no stage builds layer 3,");
        StageLayout doubled = layout("M*M*M*M*", 2, 3, 6);
        assertThat(doubled.error().orElseThrow().message()).contains("more than one stage builds layer 2,");
        StageLayout tooLong = layout("M-M*", 2, 5, null);
        assertThat(show(tooLong)).isEqualTo("M-M*@0 @5");
        assertThat(layout("M*M*M*M*", 2, 4, 4).error()).isEmpty();
    }

    @Test
    void pipesWithoutAPipelineAreAnErrorAndEmptyStagesAWarning() throws Exception {
        assertThat(layout("M-M-|M-M*-", 1).error().orElseThrow().message()).contains("remove the pipes");
        StageLayout empty = layout("M||MM|", 4);
        assertThat(empty.error()).isEmpty();
        assertThat(empty.remarks()).extracting(StageRemark::message).containsExactly("no layers on pp 1, pp 3");
    }

    @Test
    void thirtyLayersOnFourStagesKeepAllThirty() throws Exception {
        HybridPattern pattern = HybridPattern.parse("M".repeat(30));
        assertThatThrownBy(() -> layout(pattern.text(), 4)).hasMessageContaining("30 layers do not divide by 4");
        StageChoice choice = StageChoice.choose(pattern, PatternField.LAYER_PATTERN, StageTarget.of(4, 1));
        assertThat(choice.layout().layerCounts()).containsExactly(8, 8, 7, 7);
        assertThat(choice.notes()).anyMatch(note -> note.contains("do not divide"));
    }

    @Test
    void fiveLayersOnTwoStagesAreThreeAndTwo() throws Exception {
        HybridPattern pattern = HybridPattern.parse("M-M*-");
        StageChoice choice = StageChoice.choose(pattern, PatternField.OVERRIDE_PATTERN, StageTarget.of(2, 1));
        assertThat(choice.layout().layerCounts()).containsExactly(3, 2);
        assertThat(choice.layout().pattern().text()).isEqualTo("M-M|*-");
        assertThat(choice.notes()).anyMatch(note -> note.contains("since 0.17"));
    }

    @Test
    void eightLayersOnTwoRanksWithTwoChunksAreInterleaved() throws Exception {
        HybridPattern pattern = HybridPattern.parse("M-M-M-M-");
        StageChoice choice = StageChoice.choose(pattern, PatternField.LAYER_PATTERN, StageTarget.of(2, 2));
        assertThat(choice.layout().pattern().text()).isEqualTo("M-|M-|M-|M-");
        assertThat(choice.layout().stage(0, 0).offset()).isZero();
        assertThat(choice.layout().stage(0, 1).offset()).isEqualTo(4);
        assertThat(choice.layout().stage(1, 0).offset()).isEqualTo(2);
        StageChoice back =
                StageChoice.choose(choice.layout().pattern(), PatternField.LAYER_PATTERN, StageTarget.of(1, 1));
        assertThat(back.layout().pattern().text()).isEqualTo("M-M-M-M-");
    }

    @Test
    void fiveLayersPerRankInTwoChunksKeepAllTen() throws Exception {
        HybridPattern pattern = HybridPattern.parse("M-M*-M-M*-");
        StageChoice choice = StageChoice.choose(pattern, PatternField.LAYER_PATTERN, StageTarget.of(2, 2));
        assertThat(choice.layout().layerCounts()).containsExactly(3, 3, 2, 2);
        assertThat(choice.layout().pattern().text()).isEqualTo("M-M|*-M|-M|*-");
        assertThat(choice.notes()).anyMatch(note -> note.contains("10 layers do not divide by 4 stages"));
        assertThatThrownBy(() -> StageChoice.choose(
                        HybridPattern.parse("MMM"), PatternField.LAYER_PATTERN, StageTarget.of(2, 2)))
                .hasMessageContaining("3 layers cannot fill 4 stages");
    }

    @Test
    void pipesOfTheSourceAreKeptWhenTheyFit() throws Exception {
        HybridPattern source = HybridPattern.parse("M|M-M*-/M*");
        assertThat(StageChoice.choose(source, PatternField.LAYER_PATTERN, StageTarget.of(2, 1))
                        .layout()
                        .pattern())
                .isEqualTo(source);
        assertThat(StageChoice.choose(source, PatternField.LAYER_PATTERN, StageTarget.of(3, 1))
                        .layout()
                        .pattern()
                        .text())
                .isEqualTo("MM|-M|*-/M*");
    }

    @Test
    void anEvenPipelineKeepsAPatternWithoutPipes() throws Exception {
        HybridPattern plain = HybridPattern.parse("M-M*");
        for (PatternField field : PatternField.values()) {
            StageLayout layout =
                    StageChoice.choose(plain, field, StageTarget.of(2, 1)).layout();
            assertThat(layout.pattern().text()).isEqualTo("M-M*");
            assertThat(layout.layerCounts()).containsExactly(2, 2);
        }
        HybridPattern piped = HybridPattern.parse("M-M|*");
        assertThat(StageChoice.choose(piped, PatternField.LAYER_PATTERN, StageTarget.of(4, 1))
                        .layout()
                        .pattern()
                        .text())
                .isEqualTo("M|-|M|*");
    }

    @Test
    void aGivenPatternMustBeOfTheSameModel() throws Exception {
        HybridPattern source = HybridPattern.parse("M-M*/M");
        StageTarget good = new StageTarget(2, NONE, Optional.of(HybridPattern.parse("M|-M*/M")), List.of());
        assertThat(StageChoice.choose(source, PatternField.LAYER_PATTERN, good)
                        .layout()
                        .layerCounts())
                .containsExactly(1, 3);
        for (String other : List.of("M|-M/M", "M|-**/M", "M|-M*", "M|-M*/M/M")) {
            StageTarget bad = new StageTarget(2, NONE, Optional.of(HybridPattern.parse(other)), List.of());
            assertThatThrownBy(() -> StageChoice.choose(source, PatternField.LAYER_PATTERN, bad))
                    .isInstanceOf(java.io.IOException.class);
        }
    }

    @Test
    void givenLayerCountsMustFitPipelineAndModel() throws Exception {
        HybridPattern pattern = HybridPattern.parse("M-M*-");
        assertThat(StageLayout.ofLayerCounts(pattern, 2, List.of(4, 1))
                        .pattern()
                        .text())
                .isEqualTo("M-M*|-");
        assertThat(StageLayout.ofLayerCounts(pattern, 2, List.of(1, 1, 2, 1)).vpSize())
                .isEqualTo(2);
        assertThatThrownBy(() -> StageLayout.ofLayerCounts(pattern, 2, List.of(3, 3)))
                .hasMessageContaining("6 layers, but the pattern has 5");
        assertThatThrownBy(() -> StageLayout.ofLayerCounts(pattern, 2, List.of(2, 2, 1)))
                .hasMessageContaining("3 counts are given for 2 pipeline stages");
    }

    @Test
    void everyChoiceBuildsEveryLayerOnce() {
        Cases.forAll(500, random -> {
            int layers = 1 + random.nextInt(60);
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < layers; i++) {
                text.append("MG*-E".charAt(random.nextInt(5)));
            }
            HybridPattern pattern = HybridPattern.parse(text.toString());
            int pp = 1 + random.nextInt(Math.min(layers, 6));
            int vp = pp == 1 ? 1 : 1 + random.nextInt(layers / pp);
            StageLayout layout = StageChoice.choose(
                            pattern,
                            random.nextBoolean() ? PatternField.LAYER_PATTERN : PatternField.OVERRIDE_PATTERN,
                            StageTarget.of(pp, vp))
                    .layout();
            assertThat(layout.ppSize()).isEqualTo(pp);
            assertThat(layout.vpSize()).isEqualTo(vp);
            assertThat(layout.stages().stream().map(Stage::layers).collect(Collectors.joining()))
                    .isEqualTo(pattern.text());
            int offset = 0;
            for (Stage stage : layout.stages()) {
                assertThat(stage.offset()).isEqualTo(offset);
                offset += stage.layerCount();
            }
        });
    }

    @Test
    void anExplanationHasStagesOrTheProblem() {
        PatternExplanation fine = PatternExplanation.of("M-|M*/M", NONE, NONE, List.of());
        assertThat(fine.valid()).isTrue();
        assertThat(fine.stages().orElseThrow().stages()).hasSize(2);
        assertThat(PatternExplanation.of("M-x", NONE, NONE, List.of())
                        .problem()
                        .orElseThrow()
                        .column())
                .isEqualTo(3);
        PatternExplanation uneven = PatternExplanation.of("M-M", OptionalInt.of(2), NONE, List.of());
        assertThat(uneven.valid()).isFalse();
        assertThat(uneven.pattern()).isPresent();
        assertThat(PatternExplanation.of("M-M", OptionalInt.of(2), NONE, List.of(2, 1))
                        .valid())
                .isTrue();
        assertThat(PatternExplanation.of("M|M|M|M", NONE, OptionalInt.of(2), List.of())
                        .stages()
                        .orElseThrow()
                        .ppSize())
                .isEqualTo(2);
        assertThat(PatternExplanation.ofRatios(4, 0.6, 0.5, NONE, NONE, List.of())
                        .valid())
                .isFalse();
        assertThat(PatternExplanation.ofRatios(4, 0.25, 0.25, NONE, NONE, List.of())
                        .text())
                .isEqualTo("MM*-");
    }
}
