package dev.shardsmith.formats.pickle;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.math.BigInteger;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** Streams that CPython wrote, byte for byte. */
class PickleVectorsTest {
    private static final String ORDERED_STATE_DICT = """
            80 02 63 63 6f 6c 6c 65 63 74 69 6f 6e 73 0a 4f 72 64 65 72 65 64 44 69 63 74 0a 71 00 29 52 71
            01 28 58 01 00 00 00 77 71 02 63 74 6f 72 63 68 2e 5f 75 74 69 6c 73 0a 5f 72 65 62 75 69 6c 64
            5f 74 65 6e 73 6f 72 5f 76 32 0a 71 03 28 28 58 07 00 00 00 73 74 6f 72 61 67 65 71 04 63 74 6f
            72 63 68 0a 46 6c 6f 61 74 53 74 6f 72 61 67 65 0a 71 05 58 01 00 00 00 30 71 06 58 03 00 00 00
            63 70 75 71 07 4b 06 74 71 08 51 4b 00 4b 02 4b 03 86 71 09 4b 03 4b 01 86 71 0a 89 68 00 29 52
            71 0b 74 71 0c 52 71 0d 58 01 00 00 00 76 71 0e 68 03 28 28 68 04 68 05 68 06 68 07 4b 06 74 71
            0f 51 4b 03 4b 03 85 71 10 4b 01 85 71 11 89 68 00 29 52 71 12 74 71 13 52 71 14 58 01 00 00 00
            71 71 15 63 74 6f 72 63 68 2e 5f 75 74 69 6c 73 0a 5f 72 65 62 75 69 6c 64 5f 74 65 6e 73 6f 72
            5f 76 33 0a 71 16 28 28 68 04 63 74 6f 72 63 68 2e 73 74 6f 72 61 67 65 0a 55 6e 74 79 70 65 64
            53 74 6f 72 61 67 65 0a 71 17 58 01 00 00 00 31 71 18 68 07 4b 04 74 71 19 51 4b 00 4b 04 85 71
            1a 68 11 89 68 00 29 52 71 1b 63 74 6f 72 63 68 0a 66 6c 6f 61 74 38 5f 65 34 6d 33 66 6e 0a 71
            1c 74 71 1d 52 71 1e 75 7d 71 1f 58 09 00 00 00 5f 6d 65 74 61 64 61 74 61 71 20 68 00 29 52 71
            21 58 00 00 00 00 71 22 7d 71 23 58 07 00 00 00 76 65 72 73 69 6f 6e 71 24 4b 01 73 73 73 62 2e
            """;

    @Test
    void stateDictIsReadAndWrittenBackByteForByte() throws IOException {
        byte[] stream = bytes(ORDERED_STATE_DICT);

        Unpickled read = PickleReader.read(ByteSource.of("data.pkl", stream));

        assertThat(read.end()).isEqualTo(416);
        assertThat(read.protocol()).isEqualTo(2);
        PyObject dict = (PyObject) read.value();
        assertThat(dict.isCallOf("collections", "OrderedDict")).isTrue();
        assertThat(dict.entries())
                .extracting(PyEntry::key)
                .containsExactly(new PyStr("w"), new PyStr("v"), new PyStr("q"));
        assertThat(PickleWriter.write(read.value())).isEqualTo(stream);
    }

    @Test
    void integersOfEveryWidthKeepTheirValueAndEncoding() throws IOException {
        assertRoundTrip("80 02 8a 05 00 00 00 80 00 2e", PyInt.of(1L << 31));
        assertRoundTrip("80 02 4a 00 00 00 80 2e", PyInt.of(-1L << 31));
        assertRoundTrip("80 02 8a 05 ff ff ff 7f ff 2e", PyInt.of((-1L << 31) - 1));
        assertRoundTrip(
                "80 02 8a 0a 6c fc 9c 46 f9 20 6a a8 50 19 2e", PyInt.of(new BigInteger("1950A86A20F9469CFC6C", 16)));
        assertThat(read("80 02 8a 00 2e")).isEqualTo(PyInt.of(0));
    }

    @Test
    void floatsAndLoneSurrogatesAreKept() throws IOException {
        assertRoundTrip("80 02 47 3f f0 00 00 00 00 00 00 2e", new PyFloat(1.0));
        assertRoundTrip("80 02 58 03 00 00 00 ed a0 80 71 00 2e", new PyStr("\ud800"));
    }

    @Test
    void listAndTupleMayContainThemselves() throws IOException {
        PyList list = (PyList) read("80 02 5d 71 00 68 00 61 2e");
        assertThat(list.items().get(0)).isSameAs(list);
        assertThat(PickleWriter.write(list)).isEqualTo(bytes("80 02 5d 71 00 68 00 61 2e"));

        String recursive = "80 02 5d 71 00 68 00 85 71 01 61 30 68 01 2e";
        PyTuple tuple = (PyTuple) read(recursive);
        assertThat(((PyList) tuple.items().get(0)).items().get(0)).isSameAs(tuple);
        assertThat(PickleWriter.write(tuple)).isEqualTo(bytes(recursive));
    }

    @Test
    void bytesAreWrittenAsProtocolTwoHasThem() throws IOException {
        PyBytes bytes = new PyBytes(PyBytes.Kind.BYTES, new byte[] {0, -1, 'a', 'b'});
        assertThat(PickleWriter.write(bytes))
                .isEqualTo(
                        bytes(
                                "80 02 63 5f 63 6f 64 65 63 73 0a 65 6e 63 6f 64 65 0a 71 00"
                                        + "58 05 00 00 00 00 c3 bf 61 62 71 01 58 06 00 00 00 6c 61 74 69 6e 31 71 02 86 71 03 52 71 04 2e"));
    }

    @Test
    void setsAndBytearraysOfLaterProtocolsAreRead() throws IOException {
        PySet set = (PySet) read("80 04 95 07 00 00 00 00 00 00 00 8f 94 28 4b 01 90 2e");
        assertThat(set.frozen()).isFalse();
        assertThat(set.items()).containsExactly(PyInt.of(1));

        PySet frozen = (PySet) read("80 04 95 06 00 00 00 00 00 00 00 28 4b 01 91 94 2e");
        assertThat(frozen.frozen()).isTrue();
        assertThat(frozen.items()).containsExactly(PyInt.of(1));

        PyBytes bytes = (PyBytes) read("80 05 95 0d 00 00 00 00 00 00 00 96 02 00 00 00 00 00 00 00 61 62 94 2e");
        assertThat(bytes.kind()).isEqualTo(PyBytes.Kind.BYTEARRAY);
        assertThat(bytes.bytes()).isEqualTo(new byte[] {'a', 'b'});
    }

    private static void assertRoundTrip(String hex, PyValue value) throws IOException {
        assertThat(read(hex)).isEqualTo(value);
        assertThat(PickleWriter.write(value)).isEqualTo(bytes(hex));
    }

    private static PyValue read(String hex) throws IOException {
        return PickleReader.read(ByteSource.of("test", bytes(hex))).value();
    }

    static byte[] bytes(String hex) {
        return HexFormat.of().parseHex(hex.replaceAll("\\s+", ""));
    }
}
