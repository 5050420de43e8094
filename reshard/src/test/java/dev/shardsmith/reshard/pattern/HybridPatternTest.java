package dev.shardsmith.reshard.pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import dev.shardsmith.testdata.Cases;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HybridPatternTest {
    private static PatternProblem problem(String text) {
        return ((PatternReading.Refused) HybridPattern.read(text)).problem();
    }

    @ParameterizedTest
    @CsvSource({
        "MXM, SYMBOL, 2",
        "m, SYMBOL, 1",
        "'M M', SYMBOL, 2",
        "'M*\n', SYMBOL, 3",
        "M*M*/MX, SYMBOL, 7",
        "M*M*/M|M, SYMBOL, 7",
        "M*/MM|MM, SYMBOL, 6",
        "M*D, MIXED_ATTENTION, 3",
        "D*, MIXED_ATTENTION, 2",
        "M*+, MIXED_ATTENTION, 3",
        "M*|D, MIXED_ATTENTION, 4",
        "M*M*/MM/, MTP_PARTS_DIFFER, 9",
        "M*M*//MM, MTP_PARTS_DIFFER, 7",
        "M*M*/MM/M*, MTP_PARTS_DIFFER, 10",
        "MM/M/M/M|, MTP_PARTS_DIFFER, 9",
        "M*M*/MM/M, MTP_PARTS_DIFFER, 10",
    })
    void aBrokenRuleIsNamedWithItsColumn(String text, Rule rule, int column) {
        assertThat(problem(text).rule()).isEqualTo(rule);
        assertThat(problem(text).column()).isEqualTo(column);
    }

    @Test
    void theCaretStandsUnderTheColumnEvenBehindWideCharacters() {
        assertThat(problem("M-xM").caret("M-xM")).isEqualTo("M-xM\n  ^");
        assertThat(problem("M\tM").caret("M\tM")).isEqualTo("M\\tM\n ^");
        String wide = new String(Character.toChars(0x1F600)) + "M";
        assertThat(problem(wide).column()).isEqualTo(1);
        assertThat(problem("M*M*/MM/").caret("M*M*/MM/")).isEqualTo("M*M*/MM/\n        ^");
        assertThat(new PatternProblem(Rule.STAGES, "", 0, "").caret("M")).isEmpty();
    }

    @Test
    void theFixFollowsFromTheCharacter() {
        assertThat(problem("Mm").fix()).contains("write M");
        assertThat(problem("M3").fix()).contains("repeat");
        assertThat(problem("M M").fix()).contains("blanks");
        assertThat(problem("MAM").fix()).contains("*");
        assertThat(problem("\"MM\"").fix()).contains("quotes");
    }

    @Test
    void anErrorSaysPatternColumnAndAdvice() {
        assertThatThrownBy(() -> HybridPattern.parse("M*xM"))
                .isInstanceOf(CheckpointException.class)
                .hasMessage(
                        "'x' is no layer symbol of the main part; known are * D G M + - E |\n"
                                + "  at: hybrid layer pattern 'M*xM', column 3\n"
                                + "  try: M is Mamba, * attention, - MLP, E experts, G gated delta net, + MLA, D sparse attention");
    }

    @Test
    void thePredictionPartCountsOnceForEachDepth() throws Exception {
        HybridPattern pattern = HybridPattern.parse("MEM*|EM-E/ME/ME");
        assertThat(pattern.layerCount()).isEqualTo(8);
        assertThat(pattern.mtp()).contains("ME");
        assertThat(pattern.mtpDepths()).isEqualTo(2);
        assertThat(pattern.segments()).containsExactly("MEM*", "EM-E");
        assertThat(pattern.withoutPipes().text()).isEqualTo("MEM*EM-E/ME/ME");
        assertThat(pattern.counts())
                .containsEntry(LayerKind.MAMBA, 5)
                .containsEntry(LayerKind.EXPERTS, 5)
                .containsEntry(LayerKind.ATTENTION, 1)
                .containsEntry(LayerKind.MLP, 1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"M/", "M//", "/M", "M+M/*M"})
    void oddButAcceptedPatternsAreRemarkedOn(String text) throws Exception {
        assertThat(HybridPattern.parse(text).remarks()).hasSize(1);
        assertThat(HybridPattern.parse("M*M-").remarks()).isEmpty();
        assertThat(HybridPattern.parse("M*M-/M*").remarks()).isEmpty();
    }

    @Test
    void pipesMoveWithoutTouchingLayersOrPredictionPart() throws Exception {
        HybridPattern pattern = HybridPattern.parse("MM|M*-/M*/M*");
        assertThat(pattern.withPipes(List.of(1, 0, 4)).text()).isEqualTo("M||MM*-".replace("MM*-", "MM*-") + "/M*/M*");
        assertThatThrownBy(() -> pattern.withPipes(List.of(1, 3)))
                .hasMessageContaining("hold 4 layers, but the pattern has 5");
        assertThatThrownBy(() -> pattern.withPipes(List.of(-1, 6))).hasMessageContaining("-1");
    }

    @Test
    void aDividedPatternReadsBackAsTheSameModel() {
        Cases.forAll(500, random -> {
            StringBuilder text = new StringBuilder();
            int layers = random.nextInt(40);
            for (int i = 0; i < layers; i++) {
                text.append("MG*-E".charAt(random.nextInt(5)));
            }
            text.append("/M*".repeat(random.nextInt(3)));
            HybridPattern pattern = HybridPattern.parse(layers == 0 ? "" : text.toString());
            List<Integer> counts = new ArrayList<>();
            int left = pattern.layerCount();
            while (random.nextInt(4) > 0) {
                int count = random.nextInt(left + 1);
                counts.add(count);
                left -= count;
            }
            counts.add(left);
            HybridPattern divided = pattern.withPipes(counts);
            assertThat(HybridPattern.parse(divided.text())).isEqualTo(divided);
            assertThat(divided.layers()).isEqualTo(pattern.layers());
            assertThat(divided.segments()).hasSameSizeAs(counts);
            assertThat(divided.withoutPipes().text()).isEqualTo(pattern.text());
            assertThat(divided.mtpDepths()).isEqualTo(pattern.mtpDepths());
        });
    }

    @Test
    void anyTextIsReadOrRefusedAndNothingElse() {
        Cases.forAll(2000, random -> {
            StringBuilder text = new StringBuilder();
            int length = random.nextInt(12);
            for (int i = 0; i < length; i++) {
                text.append("MG*D+-E|/xm \n\u00e9\ud83d\ude00".charAt(random.nextInt(16)));
            }
            String pattern = text.toString();
            PatternReading reading = HybridPattern.read(pattern);
            if (reading instanceof PatternReading.Refused refused) {
                assertThat(refused.problem().column()).isBetween(1, length + 1);
                assertThat(refused.problem().caret(pattern)).endsWith("^");
            }
        });
    }
}
