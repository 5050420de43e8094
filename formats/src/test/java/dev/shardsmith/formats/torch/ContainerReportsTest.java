package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.testdata.TestData;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Archives as other programs write them, and archives that are not what they seem. */
class ContainerReportsTest {
    private static final byte[] FOUR_FLOATS = littleEndian(1f, -2f, 0.5f, 4f);

    @Test
    void archiveOfPythonsZipfileIsRead() throws IOException {
        assertThat(elements(valid().bytes())).isEqualTo(FOUR_FLOATS);
    }

    @Test
    void archiveWithZip64FieldsAndCommentIsRead() throws IOException {
        assertThat(elements(valid().withZip64().withComment("made by hand").bytes()))
                .isEqualTo(FOUR_FLOATS);
    }

    @Test
    void archiveAtAnOffsetOfALargerFileIsRead() throws IOException {
        byte[] archive = valid().bytes();
        byte[] larger = new byte[archive.length + 13];
        System.arraycopy(archive, 0, larger, 6, archive.length);

        ByteSource item = ByteSource.of("larger", larger).slice("item", 6, archive.length);

        assertThat(ElementReader.toBytes(
                        TorchFile.open(item).tensors().get(0).tensor().data().orElseThrow()))
                .isEqualTo(FOUR_FLOATS);
    }

    @Test
    void bytesBeforeTheArchiveAreRefusedByName() throws IOException {
        byte[] archive = valid().bytes();
        byte[] shifted = new byte[archive.length + 64];
        System.arraycopy(archive, 0, shifted, 0, 64);
        System.arraycopy(archive, 0, shifted, 64, archive.length);

        assertThatThrownBy(() -> open(shifted))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("64 bytes stand before the archive");
    }

    @Test
    void anotherNameInTheLocalHeaderIsRefused() throws IOException {
        TestZip zip = valid().change("m/data/0", entry -> entry.withLocalName("m/data/1"));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("another name in its local header");
    }

    @Test
    void anotherMethodInTheLocalHeaderIsRefused() throws IOException {
        TestZip zip = valid().change("m/data/0", entry -> entry.withLocalMethod(8));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("another method in its local header");
    }

    @Test
    void encryptedFlagIsRefused() throws IOException {
        TestZip zip = valid().change("m/data.pkl", entry -> entry.withFlags(0x0801));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("marked as encrypted");
    }

    @ParameterizedTest
    @ValueSource(strings = {"m/data/0", "m/DATA/0"})
    void recordsThatShadowEachOtherAreRefused(String name) throws IOException {
        TestZip zip = valid().with(TestZip.Entry.of(name, new byte[16]));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("two records called");
    }

    @Test
    void recordOutsideTheFolderIsRefused() throws IOException {
        TestZip zip = valid().with(TestZip.Entry.of("__MACOSX/x", new byte[1]));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("outside the archive's folder m");
    }

    @ParameterizedTest
    @ValueSource(strings = {"m/../x", "/m/x", "m\\x", "m//x"})
    void namesThatLeadElsewhereAreRefused(String name) throws IOException {
        TestZip zip = valid().with(TestZip.Entry.of(name, new byte[1]));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("no name PyTorch gives");
    }

    @Test
    void compressedPickleIsReadButCompressedStorageIsRefused() throws IOException {
        byte[] pickle = TestTensors.dictOfFourFloats();
        TestZip readable = valid().change("m/data.pkl", entry -> entry.packed(deflate(pickle)));
        assertThat(elements(readable.bytes())).isEqualTo(FOUR_FLOATS);

        TestZip refused = valid().change("m/data/0", entry -> entry.packed(deflate(FOUR_FLOATS)));
        assertThatThrownBy(() -> open(refused.bytes())).hasMessageContaining("the record is compressed");
    }

    @Test
    void compressedRecordThatWouldGrowAThousandfoldIsRefused() throws IOException {
        byte[] zeros = new byte[10_000_000];
        byte[] packed = deflate(zeros);
        TestZip zip = valid().change(
                        "m/data.pkl",
                        entry -> TestZip.Entry.of("m/data.pkl", zeros).packed(Arrays.copyOf(packed, 9_000)));
        assertThatThrownBy(() -> open(zip.bytes())).hasMessageContaining("would grow");
    }

    @ParameterizedTest
    @ValueSource(ints = {15, 17, 0})
    void storageOfAnotherSizeThanThePickleSaysIsRefused(int size) throws IOException {
        TestZip zip = TestZip.torch(TestTensors.dictOfFourFloats(), TestZip.Entry.of("m/data/0", new byte[size]));
        assertThatThrownBy(() -> open(zip.bytes()))
                .hasMessageContaining("expects 16 bytes, but the record has " + size);
    }

    @Test
    void missingStorageIsNamed() throws IOException {
        TestZip zip = TestZip.torch(TestTensors.dictOfFourFloats());
        assertThatThrownBy(() -> open(zip.bytes()))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.INCOMPLETE))
                .hasMessageContaining("no record m/data/0");
    }

    @Test
    void flippedBitOfAStorageIsFoundByItsCrcOnly() throws IOException {
        TorchFile file = TorchFile.open(ByteSource.of(
                "flipped", Files.readAllBytes(TestData.path("pytorch-damaged", "flip_in_storage", "model.pt"))));
        assertThat(file.tensors()).isNotEmpty();
        assertThatThrownBy(file::verifyCrc).hasMessageContaining("CRC-32").hasMessageContaining("data/0");
    }

    @Test
    void crcThatWasNotRecordedIsNoDamage() throws IOException {
        TorchFile file = TorchFile.open(
                ByteSource.of("off", Files.readAllBytes(TestData.path("pytorch-zip", "crc32_off", "model.pt"))));
        assertThat(file.verifyCrc()).contains("model/data.pkl", "model/data/0");
    }

    @ParameterizedTest
    @CsvSource({"F32,4", "BF16,2", "I64,8", "C64,8", "U16,2"})
    void byteOrderRecordDecidesHowElementsAreRead(DType dtype, int itemSize) throws IOException {
        byte[] little = new byte[2 * itemSize];
        for (int i = 0; i < little.length; i++) {
            little[i] = (byte) (i + 1);
        }
        byte[] big = little.clone();
        int unit = dtype.swapUnit();
        for (int start = 0; start < big.length; start += unit) {
            for (int i = 0; i < unit; i++) {
                big[start + i] = little[start + unit - 1 - i];
            }
        }
        PyDict root = TestTensors.dict("w", new TorchPickle().tensor(dtype, Shape.of(2), "0"));
        byte[] pickle = TestTensors.pickle(root);

        assertThat(elements(withOrder(pickle, big, "big"))).isEqualTo(little);
        assertThat(elements(withOrder(pickle, little, "little"))).isEqualTo(little);
        assertThat(elements(TestZip.torch(pickle, TestZip.Entry.of("m/data/0", little))
                        .bytes()))
                .isEqualTo(little);
        assertThatThrownBy(() -> open(withOrder(pickle, little, "middle"))).hasMessageContaining("byte order");
    }

    @Test
    void bloatedShardsAreReadThroughTheirStridesAndWrittenCompact() throws IOException {
        // Rows of a 4x6 matrix, and the columns 2 to 3 of it as a tensor-parallel rank would keep them.
        byte[] storage = new byte[24];
        for (int i = 0; i < storage.length; i++) {
            storage[i] = (byte) i;
        }
        PyDict root = TestTensors.dict(
                "columns", new TorchPickle().tensor(DType.U8, Shape.of(4, 2), new long[] {6, 1}, 2, "0", 24));
        TorchFile file = open(TestZip.torch(TestTensors.pickle(root), TestZip.Entry.of("m/data/0", storage))
                .bytes());
        TorchTensor columns = file.tensors().get(0).tensor();

        assertThat(columns.storage().orElseThrow().bytes()).isEqualTo(24);
        assertThat(ElementReader.toBytes(columns.data().orElseThrow()))
                .isEqualTo(new byte[] {2, 3, 8, 9, 14, 15, 20, 21});

        PyDict compact = TestTensors.dict("columns", new TorchPickle().tensor(DType.U8, Shape.of(4, 2), "c"));
        byte[] written = ImageBytes.of(
                TorchImage.of(compact).build("c.pt"),
                key -> ElementReader.toBytes(columns.data().orElseThrow()));
        assertThat(open(written).storages().get(0).bytes()).isEqualTo(8);
        assertThat(elements(written)).isEqualTo(new byte[] {2, 3, 8, 9, 14, 15, 20, 21});
    }

    private static TestZip valid() throws CheckpointException {
        return TestZip.torch(TestTensors.dictOfFourFloats(), TestZip.Entry.of("m/data/0", FOUR_FLOATS));
    }

    private static byte[] withOrder(byte[] pickle, byte[] storage, String order) {
        return TestZip.torch(
                        pickle,
                        TestZip.Entry.of("m/byteorder", order.getBytes(StandardCharsets.US_ASCII)),
                        TestZip.Entry.of("m/data/0", storage))
                .bytes();
    }

    private static TorchFile open(byte[] bytes) throws IOException {
        return TorchFile.open(ByteSource.of("test.pt", bytes));
    }

    private static byte[] elements(byte[] bytes) throws IOException {
        return ElementReader.toBytes(
                open(bytes).tensors().get(0).tensor().data().orElseThrow());
    }

    private static byte[] littleEndian(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        return bytes.array();
    }

    private static byte[] deflate(byte[] bytes) {
        Deflater deflater = new Deflater(9, true);
        deflater.setInput(bytes);
        deflater.finish();
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] block = new byte[1024];
        while (!deflater.finished()) {
            out.write(block, 0, deflater.deflate(block));
        }
        deflater.end();
        return out.toByteArray();
    }
}
