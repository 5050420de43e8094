package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class DoctorCommandTest {
    @Test
    void namesJavaMemoryDiskAndGpu() {
        CommandRun run = CommandRun.of("doctor");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.out())
                .contains("java         " + System.getProperty("java.version"))
                .contains("heap         at most ")
                .contains("memory       ")
                .contains("disk here    ")
                .contains("gpu driver   ")
                .contains("device cpu   ");
    }

    @Test
    void jsonHoldsTheSameFacts() {
        CommandRun text = CommandRun.of("doctor");
        CommandRun json = CommandRun.of("doctor", "--json");

        assertThat(json.json().get("facts")).hasSize(text.lines().size());
        assertThat(json.json().get("facts").get("shardsmith").asText()).isEqualTo(Version.current());
    }
}
