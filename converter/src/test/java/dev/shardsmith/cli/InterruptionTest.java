package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.cli.terminal.ProgressStyle;
import dev.shardsmith.cli.terminal.Terminal;
import dev.shardsmith.reshard.execute.ExecutionReport;
import dev.shardsmith.testdata.TestData;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a user is told about conversions that were stopped and go on. */
class InterruptionTest {
    private final ByteArrayOutputStream reports = new ByteArrayOutputStream();
    private final ByteArrayOutputStream messages = new ByteArrayOutputStream();
    private final Out out = new Out(stream(reports), stream(messages), Terminal.NONE, false, ProgressStyle.NONE);

    @TempDir
    Path folder;

    @Test
    void whoStopsAConversionIsToldWhatIsKeptAndHowItGoesOn() throws Exception {
        Path kept = Files.createDirectory(folder.resolve(".out.shardsmith-partial"));
        try (Interruption watch = Interruption.of(folder.resolve("out"), out)) {
            watch.tell();
        }
        assertThat(messages.toString(StandardCharsets.UTF_8))
                .contains("what is done is kept in " + kept, "the same command with --resume goes on");
    }

    @Test
    void whereNothingWasBegunNothingIsSaid() {
        try (Interruption watch = Interruption.of(folder.resolve("out"), out)) {
            watch.tell();
        }
        assertThat(messages.size()).isZero();
    }

    @Test
    void aResumedRunSaysHowMuchWasDone() {
        Writing.print(
                out,
                folder,
                new ExecutionReport(
                        ExecutionReport.Outcome.PUBLISHED,
                        3 << 20,
                        3 << 20,
                        9 << 20,
                        Map.of(),
                        Map.of(),
                        List.of(),
                        1));
        assertThat(reports.toString(StandardCharsets.UTF_8)).contains("resumed    9.00 MiB of 12.0 MiB were done\n");
    }

    @Test
    void whatAnUnfinishedRunLeftIsNotReplacedWithoutAWord() throws Exception {
        Path sample = TestData.root().resolve("samples/hybrid-tp2-pp2");
        Files.createDirectories(folder.resolve(".out.shardsmith-partial/output"));
        CommandRun run = CommandRun.of(
                "convert", sample.toString(), folder.resolve("out").toString(), "--tp", "1");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).contains("an unfinished run had left ", "it was started again");
    }

    @Test
    void resumingWhatIsFinishedSaysSoAndWritesNothing() throws Exception {
        for (String to : List.of("megatron", "torch_dist", "safetensors")) {
            String out = folder.resolve(to).toString();
            assertThat(convert(out, "--to", to).exit()).isEqualTo(ExitCode.OK);
            FileTime before = Files.getLastModifiedTime(folder.resolve(to));

            CommandRun again = convert(out, "--to", to, "--resume");

            assertThat(again.exit()).as(to + again.err()).isEqualTo(ExitCode.OK);
            assertThat(again.out()).contains("complete   an earlier run had finished " + out);
            assertThat(Files.getLastModifiedTime(folder.resolve(to))).isEqualTo(before);
            assertThat(folder.resolve("." + to + ".shardsmith-partial")).doesNotExist();
            assertThat(convert(out, "--to", to).exit()).as("without --resume").isEqualTo(ExitCode.USAGE);
        }
    }

    @Test
    void resumingOverSomethingElseIsRefused() throws Exception {
        Path out = folder.resolve("out");
        assertThat(convert(out.toString(), "--to", "safetensors").exit()).isEqualTo(ExitCode.OK);
        byte[] bytes = Files.readAllBytes(out);
        bytes[bytes.length / 2]++;
        Files.write(out, bytes);

        CommandRun run = convert(out.toString(), "--to", "safetensors", "--resume");

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("is not what this conversion makes", "at byte " + bytes.length / 2, "--force");
        assertThat(out).hasBinaryContent(bytes);
        Path other = folder.resolve("other");
        assertThat(convert(other.toString(), "--tp", "1").exit()).isEqualTo(ExitCode.OK);
        assertThat(convert(other.toString(), "--tp", "1", "--pp", "1", "--resume")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
    }

    private static CommandRun convert(String... words) {
        List<String> line = new ArrayList<>(List.of(
                "convert", TestData.root().resolve("samples/hybrid-tp2-pp2").toString()));
        line.addAll(List.of(words));
        return CommandRun.of(line.toArray(String[]::new));
    }

    private static PrintStream stream(ByteArrayOutputStream bytes) {
        return new PrintStream(bytes, true, StandardCharsets.UTF_8);
    }
}
