package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

final class PatternCommandTest {
    @Test
    void countsLayersAndStages() {
        CommandRun run = CommandRun.of("pattern", "M-M-|M-M*-/MM/MM");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.lines())
                .containsExactly(
                        "pattern  M-M-|M-M*-/MM/MM",
                        "layers   9: 1 attention, 8 Mamba, 4 MLP",
                        "mtp      MM, 2 deep",
                        "",
                        "pp  vp  first  count  layers",
                        " 0   0      0      4  M-M-",
                        " 1   0      4      5  M-M*-");
    }

    @Test
    void jsonHoldsWhatTheTextSays() {
        JsonNode json = CommandRun.of("pattern", "M-M-|M-M*-/MM/MM", "--json").json();

        assertThat(json.get("tool").asText()).isEqualTo("shardsmith");
        assertThat(json.get("command").asText()).isEqualTo("pattern");
        assertThat(json.get("status").asText()).isEqualTo("ok");
        assertThat(json.get("valid").asBoolean()).isTrue();
        assertThat(json.get("main").asText()).isEqualTo("M-M-|M-M*-");
        assertThat(json.get("mtp").asText()).isEqualTo("MM");
        assertThat(json.get("mtpDepths").asInt()).isEqualTo(2);
        assertThat(json.get("layers").asInt()).isEqualTo(9);
        assertThat(json.get("counts").toString())
                .isEqualTo("{\"*\":1,\"D\":0,\"G\":0,\"M\":8,\"+\":0,\"-\":4,\"E\":0}");
        assertThat(json.get("stages").get(1).toString())
                .isEqualTo("{\"pp\":1,\"vp\":0,\"offset\":4,\"layers\":\"M-M*-\"}");
        assertThat(json.has("error")).isFalse();
    }

    @Test
    void anErrorIsShownUnderItsColumn() {
        CommandRun run = CommandRun.of("pattern", "M-X*");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.lines().get(0)).startsWith("invalid at column 3: ");
        assertThat(run.lines()).containsSequence("  M-X*", "    ^");
    }

    @Test
    void anErrorInJsonHasMessageAndColumn() {
        CommandRun run = CommandRun.of("pattern", "M-X*", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(run.json().get("valid").asBoolean()).isFalse();
        assertThat(run.json().get("status").asText()).isEqualTo("no");
        assertThat(run.json().get("error").get("column").asInt()).isEqualTo(3);
        assertThat(run.json().get("error").get("message").asText()).isNotEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"-", "-M", "-M*-", "-|M", "--M", "-/M"})
    void aPatternMayBeginWithADash(String pattern) {
        CommandRun run = CommandRun.of("pattern", pattern, "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.json().get("layers").asInt())
                .isEqualTo(pattern.replaceAll("/.*", "").replace("|", "").length());
    }

    @Test
    void theEmptyPatternIsValidAndHasNoLayers() {
        CommandRun run = CommandRun.of("pattern", "", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.json().get("layers").asInt()).isZero();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {
                "--pp|2 MM-|M*- OK",
                "--pp|4 MM-M*- NO",
                "--pp|2|--pp-layers|2,4 MM-M*- OK",
                "--pp|2|--pp-layers|2,5 MM-M*- NO",
                "--pp|0 M USAGE",
                "--pp|two M USAGE",
                "--pp-layers|1,,2 M USAGE",
                "--from-ratios|8,0.1,0.5 M USAGE",
            })
    void stagesAreDividedAsAsked(String options, String pattern, ExitCode expected) {
        String[] words = ("pattern|" + options + "|" + pattern.replace("|", "\u0000")).split("\\|");
        words[words.length - 1] = pattern;

        assertThat(CommandRun.of(words).exit()).isEqualTo(expected);
    }

    @Test
    void ratiosAreTranslated() {
        CommandRun run = CommandRun.of("pattern", "--from-ratios", "8,0.125,0.5");

        assertThat(run.lines().get(0)).isEqualTo("pattern  M-M-*-M-");
        assertThat(CommandRun.of("pattern", "--from-ratios", "8,0.125").exit()).isEqualTo(ExitCode.USAGE);
        assertThat(CommandRun.of("pattern", "--from-ratios", "8,2,2").exit()).isEqualTo(ExitCode.NO);
    }
}
