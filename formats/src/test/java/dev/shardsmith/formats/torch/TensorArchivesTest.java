package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyDict;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;

/** Archives of one tensor each: what is known of one pickle must not be taken for more than that. */
class TensorArchivesTest {
    private final TensorArchives archives = new TensorArchives();

    @Test
    void everyArchiveGivesWhatItGivesAlone() throws IOException {
        for (int length : new int[] {4, 8000}) {
            for (int fill : new int[] {1, 2, 3}) {
                for (Shape shape : List.of(Shape.of(length, 2), Shape.of(2, length), Shape.of(length))) {
                    byte[] bytes = archive(shape, fill);
                    StoredTensor found = open(bytes);

                    StoredTensor alone = TorchFile.open(ByteSource.of("item", bytes))
                            .tensors()
                            .get(0)
                            .tensor()
                            .data()
                            .orElseThrow();
                    assertThat(found.shape()).isEqualTo(shape);
                    assertThat(found.strides()).isEqualTo(alone.strides());
                    assertThat(found.dtype()).isEqualTo(DType.F32);
                    assertThat(found.order()).isEqualTo(ByteOrder.LITTLE_ENDIAN);
                    assertThat(found.offset()).isEqualTo(alone.offset());
                    assertThat(found.source().name()).isEqualTo(alone.source().name());
                    assertThat(found.source().recordedCrc())
                            .isEqualTo(alone.source().recordedCrc())
                            .isPresent();
                    assertThat(found.source().readBytes(0, 8)).containsOnly(fill);
                    assertThat(found.source().size()).isEqualTo(4 * shape.elements());
                }
            }
        }
    }

    @Test
    void aKnownPickleDoesNotHideWhatIsWrongWithItsArchive() throws IOException {
        Shape shape = Shape.of(3000, 2);
        byte[] sound = archive(shape, 1);
        open(sound);
        open(sound);

        byte[] otherOrder = replaced(sound, "little", "big\n\n\n");
        assertThatThrownBy(() -> open(otherOrder))
                .hasMessageContaining("the byte order should be")
                .satisfies(TensorArchivesTest::isClean);
        for (int cut : new int[] {sound.length - 1, sound.length - 400, 5000, 100, 3, 0}) {
            assertThatThrownBy(() -> open(Arrays.copyOf(sound, cut))).satisfies(TensorArchivesTest::isClean);
        }
        byte[] otherPickle = sound.clone();
        int at = indexOf(otherPickle, "_rebuild_tensor_v2");
        otherPickle[at + 1] ^= 1;
        assertThatThrownBy(() -> open(otherPickle))
                .hasMessageContaining("CRC-32")
                .satisfies(TensorArchivesTest::isClean);
    }

    @Test
    void anythingElseThanOneTensorIsLeftToTheCaller() throws IOException {
        byte[] dict = image(TorchImage.of(new PyDict()).build("item"), 0);
        for (int i = 0; i < 2; i++) {
            TensorArchives.Found found = archives.open(ByteSource.of("item", dict));
            assertThat(found.elements()).isEmpty();
            assertThat(found.file()).isPresent();
        }
    }

    private StoredTensor open(byte[] bytes) throws IOException {
        return archives.open(ByteSource.of("item", bytes)).elements().orElseThrow();
    }

    private static void isClean(Throwable thrown) {
        assertThat(thrown).isInstanceOf(CheckpointException.class);
    }

    private static byte[] replaced(byte[] bytes, String from, String to) {
        byte[] changed = bytes.clone();
        byte[] other = to.getBytes(StandardCharsets.ISO_8859_1);
        System.arraycopy(other, 0, changed, indexOf(bytes, from), other.length);
        return changed;
    }

    private static int indexOf(byte[] bytes, String text) {
        int at = new String(bytes, StandardCharsets.ISO_8859_1).indexOf(text);
        assertThat(at).isPositive();
        return at;
    }

    private static byte[] archive(Shape shape, int fill) throws IOException {
        TorchPickle pickle = new TorchPickle();
        return image(TorchImage.of(pickle.tensor(DType.F32, shape, "0")).build("item"), fill);
    }

    private static byte[] image(FileImage image, int fill) {
        ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(image.size())).order(ByteOrder.LITTLE_ENDIAN);
        for (FileImage.Literal literal : image.literals()) {
            bytes.put((int) literal.offset(), literal.bytes());
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            FileImage.Slot slot = image.slots().get(patch.slot());
            byte[] data = new byte[(int) slot.length()];
            Arrays.fill(data, (byte) fill);
            bytes.put((int) slot.offset(), data);
            CRC32 crc = new CRC32();
            crc.update(data);
            bytes.putInt((int) patch.offset(), (int) crc.getValue());
        }
        return bytes.array();
    }
}
