package dev.shardsmith.verify.digest;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.testdata.Cases;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.security.MessageDigest;
import java.util.List;
import org.junit.jupiter.api.Test;

class BlockReaderTest {
    private static final DType[] TYPES = {
        DType.F32, DType.BF16, DType.U8, DType.F64, DType.C64, DType.C128, DType.I64, DType.F16
    };

    private static byte[] readAll(LogicalTensor tensor) throws IOException {
        TensorReading reading = TensorReading.of(tensor);
        BlockReader reader = new BlockReader();
        ByteBuffer block = reading.buffer(reader, 0);
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        for (long i = 0; i < reading.grid().blocks(); i++) {
            assertThat(reading.grid().firstElement(i) * reading.dtype().byteSize())
                    .isEqualTo(all.size());
            reading.read(reader, i, block);
            byte[] bytes = new byte[block.remaining()];
            block.get(bytes);
            all.write(bytes);
        }
        return all.toByteArray();
    }

    @Test
    void anyDivisionAndAnyStridesGiveTheSameElements() {
        Cases.forAll(150, random -> {
            DType dtype = TYPES[random.nextInt(TYPES.length)];
            Shape shape = RandomTensors.shape(random, random.nextInt(10) == 0 ? 400_000 : 5_000);
            byte[] elements = new byte[Math.toIntExact(dtype.bytes(shape.elements()))];
            random.nextBytes(elements);
            LogicalTensor tensor = RandomTensors.scatter("t", dtype, shape, elements, random);
            assertThat(readAll(tensor)).isEqualTo(elements);
            TensorDigest digest = TensorDigest.withStatistics(TensorReading.of(tensor), new BlockReader());
            assertThat(digest.sha256())
                    .isEqualTo(MessageDigest.getInstance("SHA-256").digest(elements));
            assertThat(digest.statistics().orElseThrow().values())
                    .isEqualTo(shape.elements() * (dtype.kind() == DType.Kind.COMPLEX ? 2 : 1));
        });
    }

    @Test
    void lazyConjugationAndNegationAreApplied() throws IOException {
        byte[] bytes = new byte[16];
        ByteBuffer.wrap(bytes)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putFloat(1)
                .putFloat(2)
                .putFloat(-3)
                .putFloat(4);
        StoredTensor data = StoredTensor.contiguous("c", DType.C64, Shape.of(2), ByteSource.of("c", bytes), 0);
        ByteBuffer conjugate = ByteBuffer.wrap(readAll(LogicalTensor.whole("c", data.withFlags(true, false))))
                .order(ByteOrder.LITTLE_ENDIAN);
        assertThat(conjugate.getFloat(4)).isEqualTo(-2);
        assertThat(conjugate.getFloat(8)).isEqualTo(-3);
        ByteBuffer negative = ByteBuffer.wrap(readAll(LogicalTensor.whole("c", data.withFlags(false, true))))
                .order(ByteOrder.LITTLE_ENDIAN);
        assertThat(negative.getFloat(0)).isEqualTo(-1);
        assertThat(negative.getFloat(8)).isEqualTo(3);
        StoredTensor ints =
                StoredTensor.contiguous("i", DType.I16, Shape.of(2), ByteSource.of("i", new byte[] {1, 0, 0, 1}), 0);
        assertThat(readAll(LogicalTensor.whole("i", ints.withFlags(false, true))))
                .containsExactly(0xff, 0xff, 0, 0xff);
    }

    @Test
    void tensorsWithoutElementsHaveNoBlocks() throws IOException {
        StoredTensor none =
                StoredTensor.contiguous("e", DType.F32, Shape.of(3, 0, 2), ByteSource.of("e", new byte[0]), 0);
        assertThat(readAll(LogicalTensor.whole("e", none))).isEmpty();
    }

    @Test
    void aScalarIsOneBlock() throws IOException {
        StoredTensor scalar =
                StoredTensor.contiguous("s", DType.I16, Shape.SCALAR, ByteSource.of("s", new byte[] {7, 1}), 0);
        assertThat(readAll(LogicalTensor.whole("s", scalar))).containsExactly(7, 1);
    }

    @Test
    void missingElementsAreReportedWithTheName() throws IOException {
        StoredTensor half =
                StoredTensor.contiguous("h", DType.U8, Shape.of(2), ByteSource.of("h", new byte[] {1, 2}), 0);
        LogicalTensor tensor =
                LogicalTensor.of("w.h", DType.U8, Shape.of(4), "", List.of(Piece.whole(half)), List.of());
        assertThatThrownBy(() -> readAll(tensor))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("2 elements of [0:4] are missing")
                .hasMessageContaining("w.h");
    }

    @Test
    void typesBelowAByteAreReadAsTheirBytes() throws IOException {
        StoredTensor packed =
                StoredTensor.contiguous("q", DType.QUINT4X2, Shape.of(5), ByteSource.of("q", new byte[] {1, 2, 3}), 0);
        assertThat(readAll(LogicalTensor.whole("q", packed))).containsExactly(1, 2, 3);
    }

    @Test
    void blocksOfAGridFollowEachOther() {
        Cases.forAll(100, random -> {
            Shape shape = RandomTensors.shape(random, 3_000_000);
            BlockGrid grid = BlockGrid.of(shape, DType.F32);
            long next = 0;
            for (long block = 0; block < grid.blocks(); block++) {
                Box box = grid.box(block);
                assertThat(grid.firstElement(block)).isEqualTo(next);
                assertThat(box.elements() * 4).isPositive().isLessThanOrEqualTo(grid.blockBytes(DType.F32));
                next += box.elements();
            }
            assertThat(next).isEqualTo(shape.elements());
        });
    }
}
