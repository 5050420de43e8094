package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that commands write beside their reports are never replaced unasked. */
final class OutputFilesTest {
    private static final String SAMPLE =
            TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2").toString();

    @TempDir
    Path folder;

    private List<String> words(String command, Path output) {
        List<String> words = new ArrayList<>();
        for (String word : command.split(" ")) {
            words.add(
                    switch (word) {
                        case "CKPT" -> SAMPLE;
                        case "DST" -> folder.resolve("target").toString();
                        case "FILE" -> output.toString();
                        default -> word;
                    });
        }
        return words;
    }

    private static CommandRun run(List<String> words) {
        return CommandRun.of(words.toArray(new String[0]));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "manifest CKPT -o FILE",
                "inspect CKPT --html FILE",
                "diff CKPT CKPT --html FILE",
                "validate CKPT --html FILE",
                "verify CKPT CKPT --layers 1 --seq-len 4 --html FILE",
                "verify CKPT CKPT --layers 1 --seq-len 4 --timeline FILE",
                "plan CKPT DST --tp 1 -o FILE"
            })
    void existingFileIsReplacedOnlyIfAskedFor(String command) throws IOException {
        Path file = Files.writeString(folder.resolve("precious"), "precious");

        CommandRun refused = run(words(command, file));

        assertThat(refused.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(refused.err()).contains(file + " exists already").contains("try: --force");
        assertThat(refused.out()).isEmpty();
        assertThat(file).hasContent("precious");

        List<String> forced = words(command, file);
        forced.add("--force");
        assertThat(run(forced).exit()).isEqualTo(ExitCode.OK);
        assertThat(Files.size(file)).isGreaterThan("precious".length());
        assertThat(folder).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @ParameterizedTest
    @ValueSource(strings = {"manifest CKPT -o FILE", "inspect CKPT --html FILE", "plan CKPT DST --tp 1 -o FILE"})
    void newFileAndDeviceNeedNoForce(String command) {
        Path file = folder.resolve("deep/er/file");

        assertThat(run(words(command, file)).exit()).isEqualTo(ExitCode.OK);
        assertThat(file).isNotEmptyFile();
        assertThat(run(words(command, Path.of("/dev/null"))).exit()).isEqualTo(ExitCode.OK);
        assertThat(Path.of("/dev/null")).exists();
    }

    @ParameterizedTest
    @ValueSource(strings = {"manifest CKPT -o FILE", "inspect CKPT --html FILE", "plan CKPT DST --tp 1 -o FILE"})
    void folderIsNeverReplaced(String command) {
        List<String> words = words(command, folder);
        words.add("--force");

        CommandRun refused = run(words);

        assertThat(refused.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(refused.err()).contains("is a folder");
        assertThat(folder).isEmptyDirectory();
    }
}
