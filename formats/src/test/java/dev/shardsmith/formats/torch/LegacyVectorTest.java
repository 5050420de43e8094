package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.Shape;
import java.io.IOException;
import java.util.HexFormat;
import org.junit.jupiter.api.Test;

/** A whole stream of PyTorch before 1.6, byte by byte. */
class LegacyVectorTest {
    /** {@code torch.save({"b": torch.tensor([1.0, -2.0])}, FILE, _use_new_zipfile_serialization=False)} */
    private static final String STREAM = """
            80 02 8a 0a 6c fc 9c 46 f9 20 6a a8 50 19 2e 80 02 4d e9 03 2e 80 02 7d 71 00 28 58 10 00 00 00
            70 72 6f 74 6f 63 6f 6c 5f 76 65 72 73 69 6f 6e 71 01 4d e9 03 58 0d 00 00 00 6c 69 74 74 6c 65
            5f 65 6e 64 69 61 6e 71 02 88 58 0a 00 00 00 74 79 70 65 5f 73 69 7a 65 73 71 03 7d 71 04 28 58
            05 00 00 00 73 68 6f 72 74 71 05 4b 02 58 03 00 00 00 69 6e 74 71 06 4b 04 58 04 00 00 00 6c 6f
            6e 67 71 07 4b 04 75 75 2e 80 02 7d 71 00 58 01 00 00 00 62 71 01 63 74 6f 72 63 68 2e 5f 75 74
            69 6c 73 0a 5f 72 65 62 75 69 6c 64 5f 74 65 6e 73 6f 72 5f 76 32 0a 71 02 28 28 58 07 00 00 00
            73 74 6f 72 61 67 65 71 03 63 74 6f 72 63 68 0a 46 6c 6f 61 74 53 74 6f 72 61 67 65 0a 71 04 58
            05 00 00 00 39 34 30 32 31 71 05 58 03 00 00 00 63 70 75 71 06 4b 02 4e 74 71 07 51 4b 00 4b 02
            85 71 08 4b 01 85 71 09 89 63 63 6f 6c 6c 65 63 74 69 6f 6e 73 0a 4f 72 64 65 72 65 64 44 69 63
            74 0a 71 0a 29 52 71 0b 74 71 0c 52 71 0d 73 2e 80 02 5d 71 00 58 05 00 00 00 39 34 30 32 31 71
            01 61 2e 02 00 00 00 00 00 00 00 00 00 80 3f 00 00 00 c0
            """;

    @Test
    void streamIsReadToItsLastByte() throws IOException {
        byte[] bytes = HexFormat.of().parseHex(STREAM.replaceAll("\\s+", ""));
        assertThat(bytes).hasSize(339);

        TorchFile file = TorchFile.open(ByteSource.of("old.pt", bytes));

        assertThat(file.container()).isEqualTo(TorchFile.Container.LEGACY);
        assertThat(file.warnings()).isEmpty();
        assertThat(file.tensors()).extracting(NamedTensor::name).containsExactly("b");
        TorchTensor tensor = file.tensors().get(0).tensor();
        assertThat(tensor.dtype()).contains(DType.F32);
        assertThat(tensor.shape()).isEqualTo(Shape.of(2));
        assertThat(tensor.strides()).containsExactly(1);
        assertThat(tensor.storage().orElseThrow().key()).isEqualTo("94021");
        assertThat(ElementReader.toBytes(tensor.data().orElseThrow()))
                .isEqualTo(new byte[] {0, 0, (byte) 0x80, 0x3f, 0, 0, 0, (byte) 0xc0});
    }
}
