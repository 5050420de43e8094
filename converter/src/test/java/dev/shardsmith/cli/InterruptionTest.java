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

    private static PrintStream stream(ByteArrayOutputStream bytes) {
        return new PrintStream(bytes, true, StandardCharsets.UTF_8);
    }
}
