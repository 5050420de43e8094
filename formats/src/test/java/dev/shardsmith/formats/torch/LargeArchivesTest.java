package dev.shardsmith.formats.torch;

import static dev.shardsmith.formats.torch.LargeArchives.LAST;
import static dev.shardsmith.formats.torch.LargeArchives.floats;
import static dev.shardsmith.formats.torch.LargeArchives.source;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Sizes, places and counts beyond 31, 32 and 16 bits, in archives that are zeros but for a few bytes. */
class LargeArchivesTest {
    private static final long TWO_GIB_AND_8 = (1L << 31) + 8;

    private final TorchPickle pickle = new TorchPickle();

    @Test
    void tensorBeyondTwoGibibytesIsReadToItsLastByte() throws IOException {
        PyValue root = pickle.tensor(DType.U8, Shape.of(TWO_GIB_AND_8), "0");
        TorchFile file = TorchFile.open(source(root).with("0", 8, LAST));
        TorchTensor tensor = file.tensors().get(0).tensor();
        assertThat(tensor.shape()).isEqualTo(Shape.of(TWO_GIB_AND_8));
        assertThat(tensor.storage().orElseThrow().elements()).isEqualTo(TWO_GIB_AND_8);
        assertThat(end(tensor, 8)).isEqualTo(LAST);
    }

    @Test
    void viewFarInsideAStorageOfMoreThanTwoToThe31ElementsIsReadFromItsPlace() throws IOException {
        long elements = (1L << 31) + 1000;
        PyValue root = pickle.tensor(DType.F32, Shape.of(2, 1), new long[] {500, 1}, elements - 501, "0", elements);
        TorchFile file =
                TorchFile.open(source(root).with("0", 4 * 501, floats(1.5f)).with("0", 4, floats(-7)));
        TorchTensor tensor = file.tensors().get(0).tensor();
        assertThat(tensor.storageOffset()).isEqualTo(elements - 501);
        assertThat(end(tensor, 8)).isEqualTo(bytes(floats(1.5f), floats(-7)));
        // One element further is outside.
        PyValue beyond = pickle.tensor(DType.F32, Shape.of(2, 1), new long[] {501, 1}, elements - 501, "0", elements);
        assertThatThrownBy(() -> TorchFile.open(source(beyond)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("ends at byte " + 4 * (elements + 1));
    }

    @Test
    void entriesAndDirectoryBeyondFourGibibytesAreFound() throws IOException {
        ImageSource source = LargeArchives.threeTensors();
        assertThat(source.size()).isGreaterThan(2 * LargeArchives.FIVE_GIB);
        TorchFile file = TorchFile.open(source);
        assertThat(file.tensors()).extracting(NamedTensor::name).containsExactly("[0]", "[1]", "[2]");
        assertThat(end(file.tensors().get(1).tensor(), 8)).isEqualTo(LAST);
        assertThat(end(file.tensors().get(2).tensor(), 4)).isEqualTo(floats(3));
        FileImage.Slot small = source.image().slots().get(2);
        assertThat(small.offset()).isGreaterThan(2 * LargeArchives.FIVE_GIB);
    }

    @Test
    void moreRecordsThanSixteenBitsCountAreListed() throws IOException {
        ImageSource source = LargeArchives.manyTensors();
        assertThat(source.readBuffer(source.size() - 22, 22).getShort(8)).isEqualTo((short) 0xffff);
        TorchFile file = TorchFile.open(source);
        assertThat(file.tensors()).hasSize(LargeArchives.MANY);
        for (int i : new int[] {65_535, 65_536, LargeArchives.MANY - 1}) {
            assertThat(file.tensors().get(i).name()).isEqualTo("t" + i);
            assertThat(end(file.tensors().get(i).tensor(), 4)).isEqualTo(floats(i));
        }
    }

    @Test
    void aLimitOfRecordsHoldsAndCanBeRaised() throws IOException {
        ImageSource source = LargeArchives.threeTensors();
        TorchLimits limits = TorchLimits.defaults();
        assertThatThrownBy(() -> TorchFile.open(source, limits.withRecords(7)))
                .hasMessageContaining("the archive has 8 entries; the limit is 7");
        assertThat(TorchFile.open(source, limits.withRecords(8)).tensors()).hasSize(3);
        assertThatThrownBy(() -> TorchFile.open(source, limits.withDirectoryBytes(100)))
                .hasMessageContaining("the limit is 100");
    }

    @Test
    void aLimitMayBeSetForTheWholeProgram() throws IOException {
        ImageSource source = LargeArchives.threeTensors();
        System.setProperty("shardsmith.limit.records", "7");
        try {
            assertThatThrownBy(() -> TorchFile.open(source))
                    .hasMessageContaining("the limit is 7")
                    .hasMessageContaining("raise the limit");
        } finally {
            System.clearProperty("shardsmith.limit.records");
        }
        assertThat(TorchFile.open(source).tensors()).hasSize(3);
    }

    /** The same through a file with holes, its CRCs checked over all ten gibibytes. */
    @Test
    @Tag("large")
    void fileBeyondFourGibibytesIsWrittenAndCheckedWhole(@TempDir Path folder) throws IOException {
        ImageSource source = LargeArchives.threeTensors();
        FileImage image = source.image();
        long[] crcs = new long[image.slots().size()];
        for (int i = 0; i < crcs.length; i++) {
            FileImage.Slot slot = image.slots().get(i);
            crcs[i] = crc(source, slot);
        }
        Path path = folder.resolve("large.pt");
        source.withCrcs(crcs).writeTo(path);
        try (FilePool pool = new FilePool()) {
            TorchFile file = TorchFile.open(pool, path);
            assertThat(file.verifyCrc()).isEmpty();
            assertThat(end(file.tensors().get(1).tensor(), 8)).isEqualTo(LAST);
        }
        source.with("1", 1L << 32, new byte[] {1}).writeTo(path);
        try (FilePool pool = new FilePool()) {
            TorchFile file = TorchFile.open(pool, path);
            assertThatThrownBy(file::verifyCrc).hasMessageContaining("archive/data/1");
        }
    }

    private static long crc(ImageSource source, FileImage.Slot slot) throws IOException {
        CRC32 crc = new CRC32();
        ByteBuffer block = ByteBuffer.allocate(1 << 20);
        for (long at = 0; at < slot.length(); at += block.limit()) {
            block.clear().limit((int) Math.min(block.capacity(), slot.length() - at));
            source.read(slot.offset() + at, block);
            crc.update(block.flip());
        }
        return crc.getValue();
    }

    /** The last bytes of a tensor's elements. */
    private static byte[] end(TorchTensor tensor, int length) throws IOException {
        StoredTensor view = tensor.data().orElseThrow();
        for (int dim = 0; dim < view.shape().rank() - 1 && view.shape().elements() > 1 << 20; dim++) {
            view = view.narrow(dim, view.shape().size(dim) - 1, 1);
        }
        int last = view.shape().rank() - 1;
        long wanted = Math.min(view.shape().size(last), length);
        view = view.narrow(last, view.shape().size(last) - wanted, wanted);
        byte[] bytes = ElementReader.toBytes(view);
        return Arrays.copyOfRange(bytes, bytes.length - length, bytes.length);
    }

    private static byte[] bytes(byte[] first, byte[] second) {
        return ByteBuffer.allocate(first.length + second.length)
                .put(first)
                .put(second)
                .array();
    }
}
