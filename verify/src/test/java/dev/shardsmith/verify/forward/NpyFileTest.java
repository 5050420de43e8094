package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class NpyFileTest {
    @TempDir
    Path folder;

    @Test
    void whatIsWrittenIsReadBack() throws Exception {
        Path file = folder.resolve("a.npy");
        NpyFile.write(file, new int[] {2, 3}, new float[] {1, -2, 0.5f, Float.NaN, Float.MIN_VALUE, 1e30f});
        NpyFile read = NpyFile.read(file);
        assertThat(read.shape()).containsExactly(2, 3);
        assertThat(read.floats()).containsExactly(1, -2, 0.5f, Float.NaN, Float.MIN_VALUE, 1e30f);
        assertThat(Files.size(file) % 64).isEqualTo(24);
    }

    @Test
    void doublesAreWrittenInFull() throws Exception {
        Path file = folder.resolve("a.npy");
        double[] values = new double[20_000];
        Arrays.setAll(values, i -> Math.sqrt(i) * (i % 2 == 0 ? 1 : -1));
        NpyFile.write(file, new int[] {100, 200}, values);
        assertThat(NpyFile.read(file).shape()).containsExactly(100, 200);
        assertThat(NpyFile.read(file).values()).containsExactly(values);
    }

    @Test
    void nothingIsOverwritten() throws Exception {
        Path file = folder.resolve("a.npy");
        NpyFile.write(file, new int[] {1}, new float[] {7});
        assertThatThrownBy(() -> NpyFile.write(file, new int[] {1}, new float[] {8}))
                .isInstanceOf(FileAlreadyExistsException.class);
        assertThat(NpyFile.read(file).floats()).containsExactly(7);
    }

    @Test
    void cutAndForeignFilesAreRefused() throws Exception {
        Path file = folder.resolve("a.npy");
        NpyFile.write(file, new int[] {4}, new float[] {1, 2, 3, 4});
        byte[] bytes = Files.readAllBytes(file);
        for (int length = 0; length < bytes.length; length++) {
            Path cut = folder.resolve("cut.npy");
            Files.write(cut, Arrays.copyOf(bytes, length));
            assertThatThrownBy(() -> NpyFile.read(cut)).isInstanceOf(CheckpointException.class);
        }
        Path foreign = folder.resolve("foreign.npy");
        Files.write(foreign, "PK\u0003\u0004 not an array".getBytes(StandardCharsets.ISO_8859_1));
        assertThatThrownBy(() -> NpyFile.read(foreign)).hasMessageContaining("not a .npy file");
    }

    @Test
    void hugeShapesAreRefusedBeforeAnythingIsAllocated() throws Exception {
        Path file = folder.resolve("a.npy");
        NpyFile.write(file, new int[] {4}, new float[] {1, 2, 3, 4});
        String text = new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        Path huge = folder.resolve("huge.npy");
        Files.write(huge, text.replace("(4,), }   ", "(99999,99999,99999,),}").getBytes(StandardCharsets.ISO_8859_1));
        assertThatThrownBy(() -> NpyFile.read(huge)).isInstanceOf(CheckpointException.class);
    }
}
