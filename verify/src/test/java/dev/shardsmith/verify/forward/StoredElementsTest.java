package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class StoredElementsTest {
    /** Element i of the source has the value i. */
    private static StoredTensor numbers(int rows, int columns) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(rows * columns * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < rows * columns; i++) {
            bytes.putFloat(i);
        }
        return StoredTensor.contiguous(
                "w", DType.F32, Shape.of(rows, columns), ByteSource.of("test", bytes.array()), 0);
    }

    private static StoredElements of(StoredTensor tensor) {
        return StoredElements.of("w", tensor).orElseThrow();
    }

    @Test
    void rowsComeInTheOrderThatWasAskedFor() throws Exception {
        StoredElements rows = of(numbers(5, 2)).rows(2, new int[] {3, 4, 0, 0});
        assertThat(rows.load()).containsExactly(6, 7, 8, 9, 0, 1, 0, 1);
        assertThat(rows.elements()).isEqualTo(8);
    }

    @Test
    void partsCrossTheBordersOfRuns() throws Exception {
        StoredElements joined = StoredElements.concat(
                List.of(of(numbers(2, 2)), of(numbers(0, 7)), of(numbers(1, 3)), of(numbers(3, 1))));
        assertThat(joined.load()).containsExactly(0, 1, 2, 3, 0, 1, 2, 0, 1, 2);
        assertThat(joined.part(3, 5).load()).containsExactly(3, 0, 1, 2, 0);
        assertThat(joined.part(10, 0).load()).isEmpty();
        assertThatThrownBy(() -> joined.part(8, 3)).isInstanceOf(IndexOutOfBoundsException.class);
    }

    @Test
    void aTransposedViewIsReadInItsOwnOrder() throws Exception {
        assertThat(of(numbers(2, 3).transpose(0, 1)).load()).containsExactly(0, 3, 1, 4, 2, 5);
        assertThat(of(numbers(4, 3).narrow(1, 1, 2)).load()).containsExactly(1, 2, 4, 5, 7, 8, 10, 11);
    }

    @Test
    void aViewOfTooManyScatteredElementsIsNoListOfRuns() throws Exception {
        StoredTensor scattered = numbers(2, 70_000).transpose(0, 1);
        assertThat(StoredElements.of("w", scattered)).isEmpty();
        float[] values = new StoredWeight("w", scattered).load();
        assertThat(values).startsWith(0, 70_000, 1, 70_001).hasSize(140_000);
    }

    @Test
    void onlyTheBytesOfThePartAreRead() throws Exception {
        List<Long> read = new ArrayList<>();
        StoredElements rows = of(numbers(100, 10)).rows(10, new int[] {7, 8, 50});
        rows.observed((from, to, bytes) -> read.add(bytes)).load();
        assertThat(read).containsExactly(80L, 40L);
    }

    @Test
    void rawBytesAreThoseOfTheFile() throws Exception {
        StoredElements elements = of(numbers(4, 3).narrow(1, 1, 2));
        assertThat(elements.plain()).contains(DType.F32);
        ByteBuffer bytes = ByteBuffer.allocate(5 * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        elements.bytes(1, bytes);
        assertThat(bytes.remaining()).isZero();
        float[] values = new float[5];
        bytes.flip().asFloatBuffer().get(values);
        assertThat(values).containsExactly(2, 4, 5, 7, 8);
    }

    @Test
    void bytesThatMeanSomethingElseAreNotPlain() throws Exception {
        StoredTensor tensor = numbers(2, 2);
        assertThat(of(tensor.withFlags(false, true)).plain()).isEmpty();
        assertThat(of(tensor.withFlags(false, true)).load()).containsExactly(-0f, -1, -2, -3);
        StoredTensor half = StoredTensor.contiguous(
                "h", DType.F16, Shape.of(2), ByteSource.of("test", new byte[] {0, 0x3c, 0, (byte) 0xc0}), 0);
        assertThat(StoredElements.concat(List.of(of(tensor), of(half))).plain()).isEmpty();
        assertThat(StoredElements.concat(List.of(of(tensor), of(half))).load()).containsExactly(0, 1, 2, 3, 1, -2);
    }

    @Test
    void aLargeProjectionInPartsIsThatOfTheWhole() throws Exception {
        StoredWeight weight = new StoredWeight("w", numbers(700, 3));
        float[] input = {1, 2, 3, -1, 0.5f, 2};
        CpuBackend small = new CpuBackend();
        ForwardBackend inParts = SmallBackend.of(100 * 3);
        assertThat(project(inParts, weight, input)).isEqualTo(project(small, weight, input));
    }

    private static float[] project(ForwardBackend backend, WeightSource weight, float[] input) throws Exception {
        try (Pass pass = new Pass(backend, 1, 2)) {
            float[] bias = new float[700];
            bias[699] = 5;
            Signal y = pass.linear(pass.input(input, 3), weight, Optional.of(WeightSource.of(bias)));
            assertThat(y.error()[0]).isPositive();
            return pass.read(y);
        }
    }
}
