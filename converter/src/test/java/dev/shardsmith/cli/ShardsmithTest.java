package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ShardsmithTest {
    @Test
    void helpListsEveryCommandAndEndsWell() {
        CommandRun run = CommandRun.of("--help");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).isEmpty();
        for (Command command : Commands.all()) {
            assertThat(run.out()).contains("  " + command.name() + " ");
        }
    }

    @Test
    void noCommandIsWrongUsageAndShowsHelpOnStandardError() {
        CommandRun run = CommandRun.of();

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.out()).isEmpty();
        assertThat(run.err()).contains("Commands");
    }

    @Test
    void noLineOfHelpIsWiderThanTheTerminal() {
        for (String columns : new String[] {"60", "80", "200"}) {
            for (Command command : Commands.all()) {
                CommandRun run = CommandRun.with(Map.of("COLUMNS", columns), command.name(), "--help");
                assertThat(run.exit()).isEqualTo(ExitCode.OK);
                assertThat(run.lines())
                        .filteredOn(line -> !line.strip().startsWith("shardsmith ") && !line.contains("|"))
                        .allSatisfy(line -> assertThat(line.length()).isLessThanOrEqualTo(Integer.parseInt(columns)));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "--version, OK",
        "doctor --version, OK",
        "help doctor, OK",
        "--quiet doctor, OK",
        "doctor --progress none, OK",
        "doctor --progress sometimes, USAGE",
        "doctor --no-such-option, USAGE",
        "doctor --progress, USAGE",
        "doctor one-operand-too-many, USAGE",
        "help no-such-command, USAGE",
        "completion, USAGE",
        "completion tcsh, USAGE",
        "no-such-command, USAGE",
        "--no-such-option, USAGE",
    })
    void exitCodeTellsRightFromWrongUsage(String line, ExitCode expected) {
        CommandRun run = CommandRun.of(line.split(" "));

        assertThat(run.exit()).isEqualTo(expected);
        if (expected == ExitCode.OK) {
            assertThat(run.err()).isEmpty();
        } else {
            assertThat(run.err()).startsWith("shardsmith: ");
            assertThat(run.out()).isEmpty();
        }
    }

    @Test
    void aTypingErrorIsAnsweredWithTheNearestWord() {
        assertThat(CommandRun.of("docter").err()).contains("did you mean: doctor");
        assertThat(CommandRun.of("doctor", "--jsn").err()).contains("did you mean: --json");
        assertThat(CommandRun.of("doctor", "--jsn=1").err()).contains("did you mean: --json");
    }

    @Test
    void abbreviatedOptionsAreRefusedSoThatScriptsStayValid() {
        assertThat(CommandRun.of("doctor", "--js").exit()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void wrongUsageWithJsonPrintsOneErrorDocument() {
        CommandRun run = CommandRun.of("doctor", "--json", "surplus");

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.out()).contains("\"status\" : \"error\"").contains("one operand too many");
        assertThat(run.err()).startsWith("shardsmith: 'surplus' is one operand too many");
    }

    @Test
    void stackTracesComeOnlyWithDebug() {
        assertThat(CommandRun.of("no-such-command").err()).doesNotContain("\tat ");
        assertThat(CommandRun.of("no-such-command", "--debug").err()).contains("\tat ");
        assertThat(CommandRun.of("--debug", "no-such-command").err()).contains("\tat ");
    }

    @Test
    void coloursAppearOnlyOnATerminalThatWantsThem() {
        Map<String, String> terminal = Map.of("SHARDSMITH_TERMINAL", "out err", "TERM", "xterm");
        Map<String, String> noColour = Map.of("SHARDSMITH_TERMINAL", "out err", "TERM", "xterm", "NO_COLOR", "1");

        assertThat(CommandRun.with(terminal, "help").out()).contains("\u001b[1m");
        assertThat(CommandRun.with(terminal, "help", "--no-color").out()).doesNotContain("\u001b");
        assertThat(CommandRun.with(noColour, "help").out()).doesNotContain("\u001b");
        assertThat(CommandRun.of("help").out()).doesNotContain("\u001b");
    }
}
