package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The launcher script with a stand-in for Java that prints how it was called. */
final class LauncherTest {
    @TempDir
    Path folder;

    private Path launcher;
    private Path java;

    @BeforeEach
    void installTheLauncherWithAStandInForJava() throws IOException {
        Path home = Files.createDirectories(folder.resolve("a home with blanks"));
        launcher = Files.copy(TestData.root().resolve("shardsmith"), home.resolve("shardsmith"));
        Files.createDirectories(home.resolve("lib"));
        Files.createFile(home.resolve("lib/shardsmith.jar"));
        java = jdk("jdk", "17.0.2");
    }

    @Test
    void everyArgumentArrivesAsItWasGiven() throws Exception {
        Run run = launch(Map.of("JAVA_HOME", java.toString()), "convert", "a b", "", "*", "'\"$x");

        assertThat(run.code()).isZero();
        assertThat(run.lines()).endsWith("dev.shardsmith.cli.Main", "convert", "a b", "", "*", "'\"$x");
        assertThat(run.lines()).contains("-Xmx256m", "-cp", folder + "/a home with blanks/lib/shardsmith.jar");
    }

    @Test
    void theExitCodeIsThatOfTheProgram() throws Exception {
        assertThat(launch(Map.of("JAVA_HOME", java.toString(), "STAND_IN_EXIT", "3"), "diff")
                        .code())
                .isEqualTo(3);
    }

    @Test
    void aSymbolicLinkLeadsHome() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("link"), launcher);
        launcher = link;

        assertThat(launch(Map.of("JAVA_HOME", java.toString()), "x").lines())
                .contains(folder + "/a home with blanks/lib/shardsmith.jar");
    }

    @Test
    void optionsOfTheUserComeAfterOurs() throws Exception {
        List<String> lines = launch(
                        Map.of("JAVA_HOME", java.toString(), "SHARDSMITH_JAVA_OPTS", "-Xmx2g -Dx=y"), "convert")
                .lines();

        assertThat(lines.indexOf("-Xmx2g")).isGreaterThan(lines.indexOf("-Xmx256m"));
        assertThat(lines).contains("-Dx=y");
    }

    @Test
    void onlyShortCommandsGoWithoutTheOptimisingCompiler() throws Exception {
        String flag = "-XX:TieredStopAtLevel=1";
        Map<String, String> environment = Map.of("JAVA_HOME", java.toString());

        for (String word : List.of("--help", "help", "pattern", "doctor", "completion")) {
            assertThat(launch(environment, word).lines()).as(word).contains(flag);
        }
        for (String word : List.of("convert", "diff", "verify", "manifest")) {
            assertThat(launch(environment, word).lines()).as(word).doesNotContain(flag);
        }
    }

    @Test
    void aListingGoesWithoutTheOptimisingCompilerUnlessItReadsTensorsOrAHugeTable() throws Exception {
        String flag = "-XX:TieredStopAtLevel=1";
        Map<String, String> environment = Map.of("JAVA_HOME", java.toString());
        String large = tableOf("thousands", (8L << 20) + 1).toString();
        String huge = tableOf("million", (64L << 20) + 1).toString();

        assertThat(launch(environment, "inspect", "model.pt").lines()).contains(flag);
        assertThat(launch(environment, "inspect", "model.pt", "--tensors").lines())
                .contains(flag);
        assertThat(launch(environment, "inspect", "model.pt", "--stats").lines())
                .doesNotContain(flag);
        assertThat(launch(environment, "inspect", large).lines()).contains(flag);
        assertThat(launch(environment, "inspect", large, "--stats").lines()).doesNotContain(flag);
        assertThat(launch(environment, "inspect", huge).lines()).doesNotContain(flag);
    }

    @Test
    void onlyAHugeTableOfADistributedCheckpointGetsALargeHeap() throws Exception {
        Map<String, String> environment = Map.of("JAVA_HOME", java.toString());
        long limit = 8L << 20;
        String small = tableOf("small", limit).toString();
        String huge = tableOf("huge", limit + 1).toString();
        Path tracked = folder.resolve("a run");
        tableOf("a run/iter_0000100", limit + 1);

        assertThat(launch(environment, "inspect", small).lines()).contains("-Xmx320m", "-Xmn140m");
        assertThat(launch(environment, "inspect", huge).lines())
                .contains("-Xmx2g", "-Xmn450m")
                .doesNotContain("-Xmn1000m");
        String hugest = tableOf("hugest", 8 * limit + 1).toString();
        assertThat(launch(environment, "inspect", hugest).lines()).contains("-Xmx2g", "-Xmn1000m");
        assertThat(launch(environment, "diff", small, huge).lines()).contains("-Xmx2g");
        assertThat(launch(environment, "inspect", tracked.toString()).lines()).contains("-Xmx2g");
    }

    @Test
    void onlyAHugeHeaderOrIndexOfSafetensorsGetsALargeHeap() throws Exception {
        Map<String, String> environment = Map.of("JAVA_HOME", java.toString());
        int limit = 16 << 20;
        String usual = headerOf("usual.safetensors", limit);
        String huge = headerOf("huge.safetensors", limit + 1);
        String damaged = headerOf("damaged.safetensors", (1L << 40) + limit + 1);
        String otherwise = headerOf("huge.bin", limit + 1);
        String empty = Files.createFile(folder.resolve("empty.safetensors")).toString();

        assertThat(launch(environment, "diff", usual, damaged, otherwise, empty).lines())
                .contains("-Xmx256m");
        assertThat(launch(environment, "diff", usual, huge).lines()).contains("-Xmx2g");

        Path shards = Files.createDirectories(folder.resolve("shards"));
        try (RandomAccessFile index = new RandomAccessFile(
                shards.resolve("model.safetensors.index.json").toFile(), "rw")) {
            index.setLength(limit);
            assertThat(launch(environment, "manifest", shards.toString()).lines())
                    .contains("-Xmx256m");
            index.setLength(limit + 1);
        }
        assertThat(launch(environment, "manifest", shards.toString()).lines()).contains("-Xmx2g");
    }

    /** A file that says that its header has so many bytes. */
    private String headerOf(String name, long bytes) throws IOException {
        byte[] length = ByteBuffer.allocate(8)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(bytes)
                .array();
        return Files.write(folder.resolve(name), length).toString();
    }

    /** A checkpoint with a table of that many bytes, all of them holes. */
    private Path tableOf(String name, long bytes) throws IOException {
        Path checkpoint = Files.createDirectories(folder.resolve(name));
        try (RandomAccessFile table =
                new RandomAccessFile(checkpoint.resolve(".metadata").toFile(), "rw")) {
            table.setLength(bytes);
        }
        return checkpoint;
    }

    @Test
    void javaIsFoundOnThePath() throws Exception {
        assertThat(launch(Map.of("PATH", java + "/bin:/usr/bin:/bin"), "x").code())
                .isZero();
    }

    @Test
    void javaThatIsTooOldIsRefusedByItsVersion() throws Exception {
        for (String version : List.of("1.8.0_392", "11.0.22", "16")) {
            Path old = jdk("jdk-" + version, version);
            Run run = launch(Map.of("JAVA_HOME", old.toString()), "x");

            assertThat(run.code()).isEqualTo(4);
            assertThat(run.output()).contains("JAVA_HOME is Java").contains("17 or newer");
        }
    }

    @Test
    void newerJavaIsTaken() throws Exception {
        for (String version : List.of("17", "21-ea", "25.0.3", "100.1")) {
            Path newer = jdk("jdk-" + version, version);
            assertThat(launch(Map.of("JAVA_HOME", newer.toString()), "x").code())
                    .as(version)
                    .isZero();
        }
    }

    @Test
    void aJavaHomeWithoutJavaIsNamed() throws Exception {
        Run run = launch(Map.of("JAVA_HOME", folder + "/nowhere"), "x");

        assertThat(run.code()).isEqualTo(4);
        assertThat(run.output()).contains(folder + "/nowhere").contains("no bin/java");
    }

    @Test
    void outputThatIsNoTerminalIsToldSo() throws Exception {
        assertThat(launch(Map.of("JAVA_HOME", java.toString()), "x").output()).contains("terminal=[]");
    }

    private Path jdk(String name, String version) throws IOException {
        Path home = folder.resolve(name);
        Files.createDirectories(home.resolve("bin"));
        Files.writeString(home.resolve("release"), "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\n");
        Path program = home.resolve("bin/java");
        Files.writeString(program, """
                #!/bin/sh
                echo "terminal=[$SHARDSMITH_TERMINAL]"
                printf '%s\\n' "$@"
                exit "${STAND_IN_EXIT:-0}"
                """);
        assertThat(program.toFile().setExecutable(true)).isTrue();
        return home;
    }

    private record Run(int code, String output) {
        List<String> lines() {
            return List.of(output.split("\n", -1)).subList(0, output.split("\n", -1).length - 1);
        }
    }

    private Run launch(Map<String, String> environment, String... words) throws Exception {
        ProcessBuilder builder = new ProcessBuilder().redirectErrorStream(true);
        builder.command().add(launcher.toString());
        builder.command().addAll(List.of(words));
        builder.environment().clear();
        builder.environment().put("PATH", "/usr/bin:/bin");
        builder.environment().put("HOME", folder.toString());
        builder.environment().putAll(new TreeMap<>(environment));
        Process process = builder.start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Run(process.waitFor(), output);
    }
}
