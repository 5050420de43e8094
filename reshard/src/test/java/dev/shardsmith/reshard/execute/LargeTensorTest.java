package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Ledger;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensors beyond 2 GiB, and larger than the heap, from files that are mostly holes. */
@Tag("large")
final class LargeTensorTest {
    private static final long ROWS = 40_000;
    private static final long COLUMNS = 32_768;

    @TempDir
    Path folder;

    @Test
    void aTensorOfFiveGibibytesIsMergedAlongItsColumns() throws Exception {
        Shape half = Shape.of(ROWS, COLUMNS / 2);
        long halfBytes = DType.F32.bytes(half.elements());
        Shape shape = Shape.of(ROWS, COLUMNS);
        long row = ROWS - 3;
        long column = COLUMNS - 5;
        Path first = folder.resolve("first");
        Path second = folder.resolve("second");
        sparse(first, halfBytes, 4 * (row * COLUMNS / 2 + 7), 0x11223344);
        sparse(second, halfBytes, 4 * (row * COLUMNS / 2 + column - COLUMNS / 2), 0x55667788);
        try (FilePool pool = new FilePool()) {
            List<Piece> sources = new ArrayList<>();
            for (Path file : List.of(first, second)) {
                ByteSource bytes = pool.file(file);
                sources.add(new Piece(
                        new long[] {0, sources.size() * COLUMNS / 2},
                        StoredTensor.contiguous("t", DType.F32, half, bytes, 0)));
            }
            TargetSlot slot = new TargetSlot("out", "t", 2 * halfBytes);
            FileImage image = new FileImage(
                    "out", 2 * halfBytes, List.of(), List.of(new FileImage.Slot("t", 0, 2 * halfBytes)), List.of());
            TensorMove move = new TensorMove(
                    "t",
                    shape,
                    sources,
                    List.of(),
                    List.of(Piece.whole(StoredTensor.contiguous("t", DType.F32, shape, slot, 0))),
                    List.of());
            Path out = folder.resolve("target");
            PlanExecutor.execute(
                    new Plan(
                            List.of(image), List.of(move), new Ledger(0, 0, 0, 0, 0, 0, 0), List.of(), List.of(), true),
                    out,
                    ExecutionOptions.defaults().withSourceCheck(pool::verifyUnchanged));
            assertThat(Files.size(out)).isEqualTo(2 * halfBytes);
            try (RandomAccessFile file = new RandomAccessFile(out.toFile(), "r")) {
                assertThat(intAt(file, 4 * (row * COLUMNS + 7))).isEqualTo(0x11223344);
                assertThat(intAt(file, 4 * (row * COLUMNS + column))).isEqualTo(0x55667788);
                assertThat(intAt(file, 4 * (row * COLUMNS + 8))).isZero();
            }
        }
    }

    private static void sparse(Path file, long size, long position, int value) throws Exception {
        try (RandomAccessFile made = new RandomAccessFile(file.toFile(), "rw")) {
            made.setLength(size);
            made.seek(position);
            made.write(ByteBuffer.allocate(4).putInt(value).array());
        }
    }

    private static int intAt(RandomAccessFile file, long position) throws Exception {
        file.seek(position);
        return file.readInt();
    }
}
