package dev.shardsmith.formats;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
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

        WholeFile.replacing(file).write(out -> out.write("one".getBytes(UTF_8)));

        assertThat(file).hasContent("one");
        assertThat(file.getParent()).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @Test
    void oldFileStaysIfTheNewOneFails() throws IOException {
        Path file = Files.writeString(folder.resolve("report"), "old");

        assertThatThrownBy(() -> WholeFile.replacing(file).write(out -> {
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

        WholeFile.replacing(link).write(out -> out.write(1));

        assertThat(Files.isSymbolicLink(link)).isTrue();
    }

    @Test
    void fullDiskIsReportedWithTheNameOfTheFile() {
        Path full = Path.of("/dev/full");
        Assumptions.assumeTrue(Files.exists(full));

        assertThatThrownBy(() -> WholeFile.replacing(full).write(out -> out.write(1)))
                .isInstanceOfSatisfying(CheckpointException.class, failure -> {
                    assertThat(failure.kind()).isEqualTo(CheckpointException.Kind.ENVIRONMENT);
                    assertThat(failure.where()).isEqualTo("/dev/full");
                });
    }

    @Test
    void fileThatHasToStayStaysEvenIfItComesWhileTheNewOneIsWritten() throws IOException {
        Path file = folder.resolve("report");
        WholeFile report = WholeFile.of(file, WholeFile.Existing.KEEP);
        assertThat(report.isTaken()).isFalse();

        assertThatThrownBy(() -> report.write(out -> Files.writeString(file, "somebody else's")))
                .isInstanceOf(FileAlreadyExistsException.class);

        assertThat(report.isTaken()).isTrue();
        assertThat(file).hasContent("somebody else's");
        assertThat(folder).isDirectoryNotContaining(path -> !path.equals(file));
    }

    @Test
    void folderIsNeverReplaced() throws IOException {
        Path taken = Files.createDirectory(folder.resolve("report"));

        assertThatThrownBy(() -> WholeFile.replacing(taken).write(out -> out.write(1)))
                .isInstanceOf(FileAlreadyExistsException.class);

        assertThat(taken).isEmptyDirectory();
    }
}
