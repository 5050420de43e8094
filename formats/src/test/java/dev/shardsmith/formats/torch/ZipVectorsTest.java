package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The container byte by byte, as PyTorch's writer lays it out. */
class ZipVectorsTest {
    private static final HexFormat HEX = HexFormat.of();

    /** {@code OrderedDict(w=tensor([1.0, -2.0]))} as PyTorch 2.7 and later save it: 1,577 bytes. */
    @Test
    void smallFileLiesExactlyAsPyTorchLaysIt() throws IOException {
        byte[] file = small(2, 8);
        ByteBuffer bytes = ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN);

        assertThat(file).hasSize(1577);
        assertBytes(file, 0, "504b03040000080800000000 0000" + "00".repeat(12) + "10001200");
        assertThat(text(file, 30, 16)).isEqualTo("archive/data.pkl");
        assertBytes(file, 0x2e, "46420e00" + "5a".repeat(14) + "8002");
        assertBytes(file, 0xe5, "504b0708 a29b8327 a5000000 a5000000 504b0304");
        assertThat(text(file, 0xf5 + 30, 23)).isEqualTo("archive/.format_version");
        assertBytes(file, 0x140, "31 504b0708 b7efdc83");
        assertBytes(file, 0x1c0, "3634");
        assertThat(text(file, 0x240, 6)).isEqualTo("little");
        assertBytes(file, 0x256, "504b0304 0000 0808 0000 00000000" + "00".repeat(12) + "0e003e00");
        assertThat(text(file, 0x274, 14)).isEqualTo("archive/data/0");
        assertBytes(file, 0x282, "46423a00" + "5a".repeat(58));
        assertBytes(file, 0x2c0, "0000803f 000000c0 504b0708 562687c3 08000000 08000000");
        assertBytes(file, 0x340, "330a");
        assertThat(text(file, 0x3c0, 40)).isEqualTo("0123456789".repeat(4));
        assertBytes(file, 0x3f8, "504b0102 0000 0000 0808 0000 00000000 a29b8327 a5000000 a5000000 1000 0000");
        assertBytes(
                file,
                0x5c7,
                "504b0606 2c00000000000000 1e03 2d00 00000000 00000000 0700000000000000 0700000000000000"
                        + "cf01000000000000 f803000000000000");
        assertBytes(file, 0x5ff, "504b0607 00000000 c705000000000000 01000000");
        assertBytes(file, 0x613, "504b0506 0000 0000 0700 0700 cf010000 f8030000 0000");
        assertThat(bytes.remaining()).isEqualTo(0x613 + 22);
    }

    /** Growing a tensor changes its sizes, its strides and the storage's size, and no other token. */
    @Test
    void anotherShapeChangesOnlyTheTokensThatSaySo() throws IOException {
        assertThat(pickle(small(2, 8), 165)).contains(HEX.parseHex("4b02747108514b004b028571094b0185710a"));
        byte[] grown = pickle(small(new long[] {2, 2}, 16), 169);
        assertThat(grown).contains(HEX.parseHex("4b04747108514b004b024b028671094b024b0186710a"));
        assertThat(Arrays.copyOf(grown, 0x84)).isEqualTo(Arrays.copyOfRange(small(2, 8), 0x40, 0x40 + 0x84));
    }

    /** A record at a place and of a size that need zip64 fields, and what stands between its name and its data. */
    @ParameterizedTest
    @CsvSource({
        "0x240,       0x100000000, 01001000 0000000001000000 0000000000000000, 60, 0x2c0",
        "0x100000300, 0x10,        01000800 0003000001000000,                   4, 0x100000340",
        "0x100000300, 0x100000010, 01001800 1000000001000000 0000000000000000 0003000001000000, 52, 0x100000380",
        "0x0,         0xFFFFFFFF,  01001000 ffffffff00000000 0000000000000000, 60, 0x80",
        "0x0,         0xFFFFFFFE,  '',                                         16, 0x40",
    })
    void zip64FieldsAreWrittenExactlyWhereANumberNeedsThem(long at, long size, String wide, int padding, long data)
            throws IOException {
        ZipLayout zip = new ZipLayout(64);
        if (at > 0) {
            // What must stand before the record so that it begins there: header, its own wide fields, and descriptor.
            boolean big = at > 0xffff_ffffL;
            zip.slot("archive/data/0", "before", at - (big ? 0x80 + 24 : 0x40 + 16));
        }
        zip.slot("archive/data/1", "it", size);
        FileImage image = zip.finish("test.pt");

        FileImage.Slot slot = image.slots().get(image.slots().size() - 1);
        assertThat(slot.offset()).isEqualTo(data);
        ImageSource file = new ImageSource(image);
        byte[] between = file.readBytes(at + 30 + 14, (int) (data - at - 44));
        assertThat(HEX.formatHex(between))
                .isEqualTo(
                        wide.replace(" ", "") + "4642" + HEX.toHexDigits((byte) padding) + "00" + "5a".repeat(padding));
        boolean wideDescriptor = at > 0xffff_ffffL || size >= 0xffff_ffffL;
        long end = data + size;
        assertThat(HEX.formatHex(file.readBytes(end, 4))).isEqualTo("504b0708");
        assertThat(HEX.formatHex(file.readBytes(end + (wideDescriptor ? 24 : 16), 4)))
                .isEqualTo("504b0102");
        // And it is read back as it was written.
        ZipRecord record = ZipArchive.open(file, TorchLimits.defaults())
                .find("archive/data/1")
                .orElseThrow();
        assertThat(record.headerOffset()).isEqualTo(at);
        assertThat(record.dataOffset()).isEqualTo(data);
        assertThat(record.size()).isEqualTo(size);
    }

    private static byte[] small(long size, int bytes) throws IOException {
        return small(new long[] {size}, bytes);
    }

    private static byte[] small(long[] shape, int bytes) throws IOException {
        PyValue tensor = new TorchPickle().tensor(DType.F32, Shape.of(shape), "0");
        FileImage image = TorchImage.of(TorchPickle.orderedDict(List.of(new PyEntry(new PyStr("w"), tensor))))
                .withRecord(".data/serialization_id", "0123456789".repeat(4).getBytes(StandardCharsets.US_ASCII))
                .build("test.pt");
        byte[] storage = ByteBuffer.allocate(bytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(1)
                .putFloat(-2)
                .array();
        return ImageBytes.of(image, key -> storage);
    }

    private static byte[] pickle(byte[] file, int size) throws IOException {
        ZipArchive zip = ZipArchive.open(ByteSource.of("test.pt", file), TorchLimits.defaults());
        ZipRecord record = zip.find("archive/data.pkl").orElseThrow();
        byte[] pickle = zip.data(record).readBytes(0, (int) record.size());
        CRC32 crc = new CRC32();
        crc.update(pickle);
        assertThat(record.crc()).isEqualTo(crc.getValue());
        assertThat(pickle).hasSize(size);
        return pickle;
    }

    private static String text(byte[] file, int at, int length) {
        return new String(file, at, length, StandardCharsets.US_ASCII);
    }

    private static void assertBytes(byte[] file, int at, String hex) {
        byte[] expected = HEX.parseHex(hex.replace(" ", ""));
        assertThat(HEX.formatHex(Arrays.copyOfRange(file, at, at + expected.length)))
                .as("byte 0x%x", at)
                .isEqualTo(HEX.formatHex(expected));
    }
}
