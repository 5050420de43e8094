package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class MoveSemanticsTest {
    @TempDir(factory = MemoryTempDir.class)
    Path folder;

    private final FilePool pool = new FilePool();
    private PlanFixture fixture;
    private int file;

    @BeforeEach
    void makeFixture() {
        fixture = new PlanFixture(folder.resolve("source"));
        file = fixture.targetFile();
    }

    @Test
    void floatsAreCastAndOverflowsCounted() throws IOException {
        byte[] expected = shorts(0x3F80, 0xC000, 0x7F80, 0x7FC0, 0x7F80);
        move(DType.F32, floats(1, -2, Float.MAX_VALUE, Float.NaN, Float.POSITIVE_INFINITY), DType.BF16, expected);
        ExecutionReport report = execute(ExecutionOptions.defaults());
        assertThat(report.overflows()).containsExactly(Map.entry("t", 1L));
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void oneSourceFeedsTargetsOfSeveralTypes() throws IOException {
        Shape shape = Shape.of(2);
        ByteSource source = fixture.sourceFile(pool, floats(1.5f, -0.25f));
        TargetSlot same = fixture.slot(file, floats(1.5f, -0.25f));
        TargetSlot half = fixture.slot(file, shorts(0x3E00, 0xB400));
        fixture.add(new TensorMove(
                "t",
                shape,
                List.of(whole(DType.F32, shape, source)),
                List.of(),
                List.of(whole(DType.F32, shape, same), whole(DType.F16, shape, half)),
                List.of(whole(DType.F32, shape, source))));
        execute(ExecutionOptions.defaults());
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void sourcesOfSeveralTypesAreCastEach() throws IOException {
        Shape shape = Shape.of(3);
        ByteSource wide = fixture.sourceFile(pool, floats(1.5f));
        ByteSource narrow = fixture.sourceFile(pool, shorts(0x3F80, 0x4000));
        TargetSlot target = fixture.slot(file, floats(1.5f, 1, 2));
        fixture.add(new TensorMove(
                "t",
                shape,
                List.of(
                        whole(DType.F32, Shape.of(1), wide),
                        new Piece(new long[] {1}, StoredTensor.contiguous("t", DType.BF16, Shape.of(2), narrow, 0))),
                List.of(),
                List.of(whole(DType.F32, shape, target)),
                List.of()));
        execute(ExecutionOptions.defaults());
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void paddingIsZeroOrTheLastRowOrTheMean() throws IOException {
        byte[] rows = floats(1, 10, 2, 20, 6, 30);
        padded("zero", rows, Fill.Mode.ZERO, floats(1, 10, 2, 20, 6, 30, 0, 0, 0, 0));
        padded("last", rows, Fill.Mode.REPEAT_LAST, floats(1, 10, 2, 20, 6, 30, 6, 30, 6, 30));
        padded("mean", rows, Fill.Mode.MEAN, floats(1, 10, 2, 20, 6, 30, 3, 20, 3, 20));
        execute(ExecutionOptions.defaults());
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void paddingOfNothingIsRefused() throws IOException {
        Shape shape = Shape.of(2, 2);
        TargetSlot target = fixture.slot(file, new byte[16]);
        fixture.add(new TensorMove(
                "t",
                shape,
                List.of(),
                List.of(PlanFixture.fillRows(shape, 0, Fill.Mode.MEAN)),
                List.of(whole(DType.F32, shape, target)),
                List.of()));
        assertThatThrownBy(() -> execute(ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("no row before the padding");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @Test
    void lazyNegationAndConjugationAreSettled() throws IOException {
        Shape shape = Shape.of(2);
        ByteSource complex = fixture.sourceFile(pool, floats(1, 2, 3, -4));
        ByteSource real = fixture.sourceFile(pool, floats(5, -6));
        flagged("conjugate", DType.C64, shape, complex, true, false, floats(1, -2, 3, 4));
        flagged("negative", DType.F32, shape, real, false, true, floats(-5, 6));
        flagged("both", DType.C64, shape, complex, true, true, floats(-1, 2, -3, -4));
        execute(ExecutionOptions.defaults());
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void replicasThatDifferAreNamedWithTheirFilesAndTheDifference() throws IOException {
        Shape shape = Shape.of(3);
        ByteSource first = fixture.sourceFile(pool, floats(1, 2, 3));
        ByteSource second = fixture.sourceFile(pool, floats(1, 2.5f, 3));
        TargetSlot target = fixture.slot(file, floats(1, 2, 3));
        fixture.add(new TensorMove(
                "norm.weight",
                shape,
                List.of(whole(DType.F32, shape, first)),
                List.of(),
                List.of(whole(DType.F32, shape, target)),
                List.of(whole(DType.F32, shape, second))));
        assertThatThrownBy(() -> execute(ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("norm.weight")
                .hasMessageContaining("source0.bin")
                .hasMessageContaining("source1.bin")
                .hasMessageContaining("1 of 3 elements")
                .hasMessageContaining("0.500");
        assertThat(folder).isDirectoryNotContaining("glob:**out*");

        ExecutionReport report = execute(ExecutionOptions.defaults().with(ExecutionOptions.ReplicaMismatch.COUNT));
        assertThat(report.mismatches()).containsExactly(Map.entry("norm.weight", 1L));
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void typesBelowAByteAreCopiedWhole() throws IOException {
        Shape shape = Shape.of(5, 3);
        byte[] packed = {1, 2, 3, 4, 5, 6, 7, 8};
        ByteSource source = fixture.sourceFile(pool, packed);
        fixture.add(PlanFixture.copy("t", DType.QUINT4X2, shape, source, 0, fixture.slot(file, packed)));
        execute(ExecutionOptions.defaults());
        PlanExecutorTest.assertFiles(fixture, folder.resolve("out"));
    }

    @Test
    void typesBelowAByteAreNotDivided() throws IOException {
        Shape shape = Shape.of(4);
        ByteSource source = fixture.sourceFile(pool, new byte[] {1, 2});
        TargetSlot target = fixture.slot(file, new byte[2]);
        fixture.add(new TensorMove(
                "t",
                shape,
                List.of(whole(DType.QUINT4X2, shape, source)),
                List.of(),
                List.of(
                        whole(DType.QUINT4X2, Shape.of(2), target),
                        new Piece(
                                new long[] {2}, StoredTensor.contiguous("t", DType.QUINT4X2, Shape.of(2), target, 1))),
                List.of()));
        assertThatThrownBy(() -> execute(ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("can only be copied whole");
    }

    @Test
    void aTargetWithoutSourceIsAnError() throws IOException {
        ByteSource source = fixture.sourceFile(pool, floats(1));
        TargetSlot target = fixture.slot(file, floats(1, 0));
        fixture.add(new TensorMove(
                "t",
                Shape.of(2),
                List.of(whole(DType.F32, Shape.of(1), source)),
                List.of(),
                List.of(whole(DType.F32, Shape.of(2), target)),
                List.of()));
        assertThatThrownBy(() -> execute(ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("1 have no source");
    }

    @Test
    void aSlotThatIsNotFilledIsAnError() throws IOException {
        ByteSource source = fixture.sourceFile(pool, floats(1));
        fixture.add(PlanFixture.copy("t", DType.F32, Shape.of(1), source, 0, fixture.slot(file, new byte[8])));
        assertThatThrownBy(() -> execute(ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("brings 4 bytes to a slot of 8 bytes");
    }

    private void move(DType from, byte[] bytes, DType to, byte[] expected) throws IOException {
        Shape shape = Shape.of(bytes.length / from.byteSize());
        ByteSource source = fixture.sourceFile(pool, bytes);
        TargetSlot target = fixture.slot(file, expected);
        fixture.add(new TensorMove(
                "t",
                shape,
                List.of(whole(from, shape, source)),
                List.of(),
                List.of(whole(to, shape, target)),
                List.of()));
    }

    private void padded(String name, byte[] rows, Fill.Mode mode, byte[] expected) throws IOException {
        Shape shape = Shape.of(5, 2);
        ByteSource source = fixture.sourceFile(pool, rows);
        TargetSlot target = fixture.slot(file, expected);
        fixture.add(new TensorMove(
                name,
                shape,
                List.of(whole(DType.F32, Shape.of(3, 2), source)),
                List.of(PlanFixture.fillRows(shape, 3, mode)),
                List.of(whole(DType.F32, shape, target)),
                List.of()));
    }

    private void flagged(
            String name,
            DType dtype,
            Shape shape,
            ByteSource source,
            boolean conjugate,
            boolean negative,
            byte[] expected)
            throws IOException {
        StoredTensor data =
                StoredTensor.contiguous(name, dtype, shape, source, 0).withFlags(conjugate, negative);
        TargetSlot target = fixture.slot(file, expected);
        fixture.add(new TensorMove(
                name, shape, List.of(Piece.whole(data)), List.of(), List.of(whole(dtype, shape, target)), List.of()));
    }

    private ExecutionReport execute(ExecutionOptions options) throws IOException {
        return PlanExecutor.execute(fixture.plan(), folder.resolve("out"), options);
    }

    private static Piece whole(DType dtype, Shape shape, ByteSource bytes) throws IOException {
        return Piece.whole(StoredTensor.contiguous("t", dtype, shape, bytes, 0));
    }

    private static byte[] floats(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        return bytes.array();
    }

    private static byte[] shorts(int... values) {
        ByteBuffer bytes = ByteBuffer.allocate(2 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (int value : values) {
            bytes.putShort((short) value);
        }
        return bytes.array();
    }
}
