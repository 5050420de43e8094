package dev.shardsmith.formats.dcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.Unpickled;
import java.io.IOException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** The metadata of a small distributed checkpoint, byte by byte. */
class MetadataVectorTest {
    /** A float32 tensor {@code model.w} of (4, 2) in two chunks in two files, and the bytes of {@code step}; protocol 4. */
    private static final String METADATA = """
            80 04 95 e0 03 00 00 00 00 00 00 8c 25 74 6f 72 63 68 2e 64 69 73 74 72 69 62 75 74 65 64 2e 63
            68 65 63 6b 70 6f 69 6e 74 2e 6d 65 74 61 64 61 74 61 94 8c 08 4d 65 74 61 64 61 74 61 94 93 94
            29 81 94 7d 94 28 8c 13 73 74 61 74 65 5f 64 69 63 74 5f 6d 65 74 61 64 61 74 61 94 7d 94 28 8c
            07 6d 6f 64 65 6c 2e 77 94 68 00 8c 15 54 65 6e 73 6f 72 53 74 6f 72 61 67 65 4d 65 74 61 64 61
            74 61 94 93 94 29 81 94 7d 94 28 8c 0a 70 72 6f 70 65 72 74 69 65 73 94 68 00 8c 10 54 65 6e 73
            6f 72 50 72 6f 70 65 72 74 69 65 73 94 93 94 29 81 94 28 8c 05 74 6f 72 63 68 94 8c 07 66 6c 6f
            61 74 33 32 94 93 94 8c 13 74 6f 72 63 68 2e 73 65 72 69 61 6c 69 7a 61 74 69 6f 6e 94 8c 0b 5f
            67 65 74 5f 6c 61 79 6f 75 74 94 93 94 8c 0d 74 6f 72 63 68 2e 73 74 72 69 64 65 64 94 85 94 52
            94 89 68 00 8c 14 5f 4d 45 4d 5f 46 4f 52 4d 41 54 5f 45 4e 43 4f 44 49 4e 47 94 93 94 4b 00 85
            94 52 94 89 74 94 62 8c 04 73 69 7a 65 94 68 10 8c 04 53 69 7a 65 94 93 94 4b 04 4b 02 86 94 85
            94 52 94 8c 06 63 68 75 6e 6b 73 94 5d 94 28 68 00 8c 14 43 68 75 6e 6b 53 74 6f 72 61 67 65 4d
            65 74 61 64 61 74 61 94 93 94 29 81 94 7d 94 28 8c 07 6f 66 66 73 65 74 73 94 68 20 4b 00 4b 00
            86 94 85 94 52 94 8c 05 73 69 7a 65 73 94 68 20 4b 02 4b 02 86 94 85 94 52 94 75 62 68 27 29 81
            94 7d 94 28 68 2a 68 20 4b 02 4b 00 86 94 85 94 52 94 68 2e 68 20 4b 02 4b 02 86 94 85 94 52 94
            75 62 65 75 62 8c 04 73 74 65 70 94 68 00 8c 14 42 79 74 65 73 53 74 6f 72 61 67 65 4d 65 74 61
            64 61 74 61 94 93 94 29 81 94 75 8c 0c 70 6c 61 6e 6e 65 72 5f 64 61 74 61 94 7d 94 28 68 07 8c
            05 6d 6f 64 65 6c 94 8c 01 77 94 86 94 68 3a 68 3a 85 94 75 8c 0c 73 74 6f 72 61 67 65 5f 64 61
            74 61 94 7d 94 28 68 00 8c 0d 4d 65 74 61 64 61 74 61 49 6e 64 65 78 94 93 94 29 81 94 7d 94 28
            8c 03 66 71 6e 94 68 3a 8c 05 69 6e 64 65 78 94 4e 75 62 8c 27 74 6f 72 63 68 2e 64 69 73 74 72
            69 62 75 74 65 64 2e 63 68 65 63 6b 70 6f 69 6e 74 2e 66 69 6c 65 73 79 73 74 65 6d 94 8c 0c 5f
            53 74 6f 72 61 67 65 49 6e 66 6f 94 93 94 29 81 94 7d 94 28 8c 0d 72 65 6c 61 74 69 76 65 5f 70
            61 74 68 94 8c 0c 5f 5f 30 5f 30 2e 64 69 73 74 63 70 94 8c 06 6f 66 66 73 65 74 94 4b 00 8c 06
            6c 65 6e 67 74 68 94 4d 00 04 75 62 68 47 29 81 94 7d 94 28 68 4a 68 07 68 4b 4b 00 68 53 68 20
            4b 00 4b 00 86 94 85 94 52 94 75 62 68 4e 29 81 94 7d 94 28 68 51 68 52 68 53 4d 00 04 68 54 4d
            a4 06 75 62 68 47 29 81 94 7d 94 28 68 4a 68 07 68 4b 4b 01 68 53 68 20 4b 02 4b 00 86 94 85 94
            52 94 75 62 68 4e 29 81 94 7d 94 28 68 51 8c 0c 5f 5f 31 5f 30 2e 64 69 73 74 63 70 94 68 53 4b
            00 68 54 4d a4 06 75 62 75 8c 0c 73 74 6f 72 61 67 65 5f 6d 65 74 61 94 68 00 8c 0b 53 74 6f 72
            61 67 65 4d 65 74 61 94 93 94 29 81 94 7d 94 28 8c 0d 63 68 65 63 6b 70 6f 69 6e 74 5f 69 64 94
            8c 07 70 61 74 68 6c 69 62 94 8c 09 50 6f 73 69 78 50 61 74 68 94 93 94 8c 01 2f 94 8c 04 63 6b
            70 74 94 8c 02 73 31 94 87 94 52 94 8c 07 73 61 76 65 5f 69 64 94 8c 04 39 66 30 63 94 8c 07 6c
            6f 61 64 5f 69 64 94 4e 8c 07 6d 6f 64 75 6c 65 73 94 5d 94 75 62 8c 07 76 65 72 73 69 6f 6e 94
            8c 05 31 2e 30 2e 30 94 75 62 2e
            """;

    private static ByteSource source() {
        return ByteSource.of(".metadata", HexFormat.of().parseHex(METADATA.replaceAll("\\s+", "")));
    }

    @Test
    void everythingInItIsRead() throws IOException {
        DcpMetadata metadata = DcpMetadataReader.read(source());
        assertThat(metadata.size()).isEqualTo(2);
        assertThat(metadata.name(0)).isEqualTo("model.w");
        assertThat(metadata.rowCount(0)).isEqualTo(2);
        int first = metadata.firstRow(0);
        assertThat(metadata.offsets(0, first)).containsExactly(0, 0);
        assertThat(metadata.offsets(0, first + 1)).containsExactly(2, 0);
        assertThat(metadata.name(1)).isEqualTo("step");
    }

    @Test
    void pickleIsOfProtocol4AndEndsWithItsLastByte() throws IOException {
        Unpickled read = PickleReader.read(source());
        assertThat(read.end()).isEqualTo(1003);
        assertThat(read.protocol()).isEqualTo(4);
        assertThat(((PyObject) read.value()).isCallOf("torch.distributed.checkpoint.metadata", "Metadata"))
                .isTrue();
    }
}
