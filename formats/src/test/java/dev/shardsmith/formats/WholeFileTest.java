package dev.shardsmith.formats;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class WholeFileTest {
    @TempDir
    Path folder;

    @Test
    void fileAndItsFolderAreMade() throws IOException {
        Path file = folder.resolve("deep/er/report");

        WholeFile.write(file, out -> out.write("one".getBytes(UTF_8)));

        assertThat(file).hasContent("one");
        assertThat(file.getParent()).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @Test
    void oldFileStaysIfTheNewOneFails() throws IOException {
        Path file = Files.writeString(folder.resolve("report"), "old");

        assertThatThrownBy(() -> WholeFile.write(file, out -> {
                    out.write(1);
                    throw new IOException("broken");
                }))
                .hasMessage("broken");

        assertThat(file).hasContent("old");
        assertThat(folder).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @Test
    void deviceIsWrittenToAndNotReplaced() throws IOException {
        Path device = Path.of("/dev/null");
        Assumptions.assumeTrue(Files.exists(device) && !Files.isRegularFile(device));
        Path link = Files.createSymbolicLink(folder.resolve("null"), device);

        WholeFile.write(link, out -> out.write(1));

        assertThat(Files.isSymbolicLink(link)).isTrue();
    }
}
