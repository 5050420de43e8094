package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Runs every example of every command as a user would, in the order of the help: later ones use what earlier ones made. */
final class ExamplesTest {
    @TempDir
    static Path scratch;

    static Stream<String> lines() {
        return Commands.all().stream()
                .flatMap(command -> command.examples().stream())
                .map(Example::line);
    }

    @BeforeAll
    static void putTheProgramOnThePath() throws IOException {
        Path program = scratch.resolve("bin/shardsmith");
        Files.createDirectories(program.getParent());
        Files.createDirectories(scratch.resolve(".config/fish/completions"));
        Files.writeString(
                program, """
                #!/bin/sh
                exec '%s/bin/java' -Xmx256m -XX:+UseSerialGC -cp '%s' dev.shardsmith.cli.Main "$@"
                """.formatted(System.getProperty("java.home"), System.getProperty("java.class.path")));
        assertThat(program.toFile().setExecutable(true)).isTrue();
    }

    @ParameterizedTest
    @MethodSource("lines")
    void theExampleRuns(String line) throws IOException, InterruptedException {
        ProcessBuilder builder = new ProcessBuilder("bash", "-c", line.replace("/tmp/", scratch + "/"))
                .directory(TestData.root().toFile())
                .redirectErrorStream(true);
        builder.environment().put("PATH", scratch.resolve("bin") + ":" + System.getenv("PATH"));
        builder.environment().put("HOME", scratch.toString());
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).as(output).isZero();
    }
}
