package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class SourceChecksTest {
    private static final int ROWS = 96;
    private static final int COLUMNS = 64;

    @TempDir(factory = MemoryTempDir.class)
    Path folder;

    private final FilePool pool = new FilePool();
    private final AtomicLong bytesRead = new AtomicLong();

    @AfterEach
    void closePool() throws IOException {
        pool.close();
    }

    /** Were a sum wrong, the source would be read once more. */
    @ParameterizedTest
    @CsvSource({"0, 4, 1", "1, 4, 1", "0, 1, 1", "0, 3, 2", "1, 2, 4"})
    void aSoundSourceIsReadOnce(int dim, int parts, int workers) throws IOException {
        Plan plan = merge(dim, parts, -1);
        ExecutionReport report = PlanExecutor.execute(
                plan,
                folder.resolve("out"),
                ExecutionOptions.defaults().withWorkers(workers).withMemory(1));
        assertThat(report.damaged()).isEmpty();
        assertThat(bytesRead).hasValue(ROWS * COLUMNS * 4L);
    }

    @ParameterizedTest
    @CsvSource({"0, 4", "1, 4", "0, 1"})
    void aFlippedBitIsRefusedAndNamed(int dim, int parts) throws IOException {
        Plan plan = merge(dim, parts, 777);
        assertThatThrownBy(() -> PlanExecutor.execute(plan, folder.resolve("out"), ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("source0.bin")
                .hasMessageContaining("damaged")
                .satisfies(e ->
                        assertThat(((CheckpointException) e).kind()).isEqualTo(CheckpointException.Kind.MALFORMED));
        assertThat(folder.resolve("out")).doesNotExist();
        try (var left = Files.list(folder)) {
            assertThat(left).containsExactly(folder.resolve("source"));
        }
    }

    @Test
    void damagedDataAreCopiedAndNamedWhenAskedTo() throws IOException {
        Plan plan = merge(0, 2, 777);
        ExecutionReport report = PlanExecutor.execute(
                plan, folder.resolve("out"), ExecutionOptions.defaults().with(ExecutionOptions.DamagedSource.COPY));
        assertThat(report.damaged()).containsExactly("source/source0.bin");
        byte[] first = Files.readAllBytes(folder.resolve("source/source0.bin"));
        byte[] written = Files.readAllBytes(folder.resolve("out").resolve(PlanFixture.path(0)));
        assertThat(java.util.Arrays.copyOfRange(written, PlanFixture.MARK, PlanFixture.MARK + first.length))
                .isEqualTo(first);
    }

    @Test
    void aKeptPlanChecksToo() throws IOException {
        Plan plan = merge(0, 2, 777);
        Path file = folder.resolve("kept.plan");
        PlanCodec.write(plan, WholeFile.replacing(file));
        Plan kept = PlanCodec.read(file, pool);
        assertThatThrownBy(() -> PlanExecutor.execute(kept, folder.resolve("out"), ExecutionOptions.defaults()))
                .hasMessageContaining("damaged");
    }

    /** The padding of a flat buffer belongs to its checksum. */
    @Test
    void aBufferWithPaddingIsCheckedWithIt() throws IOException {
        byte[] bytes = new byte[72];
        new Random(3).nextBytes(bytes);
        int crc = PlanFixture.crc(bytes, 0, bytes.length);
        assertThat(copyMiddle(bytes, 64, crc, "sound").damaged()).isEmpty();
        bytes[20] ^= 4;
        assertThatThrownBy(() -> copyMiddle(bytes, 64, crc, "damaged")).hasMessageContaining("damaged");
    }

    /** To check a storage of which little is wanted, much would have to be read. */
    @Test
    void aSourceOfWhichLittleIsReadIsNotChecked() throws IOException {
        assertThat(copyMiddle(new byte[72], 32, 12345, "out").damaged()).isEmpty();
    }

    /** Copies {@code length} bytes from byte 4 on of a source of which this checksum is recorded. */
    private ExecutionReport copyMiddle(byte[] bytes, int length, int crc, String name) throws IOException {
        PlanFixture fixture = new PlanFixture(folder.resolve("source of " + name));
        ByteSource source = fixture.sourceFile(pool, bytes).withRecordedCrc(crc);
        Shape shape = Shape.of(length / 4);
        TargetSlot slot = fixture.slot(fixture.targetFile(), new byte[length]);
        fixture.add(PlanFixture.copy("t", DType.F32, shape, source, 4, slot));
        return PlanExecutor.execute(fixture.plan(), folder.resolve(name), ExecutionOptions.defaults());
    }

    /** A plan that joins a matrix of random floats from parts along a dimension; one bit of the first part may be flipped. */
    private Plan merge(int dim, int parts, int flippedBit) throws IOException {
        PlanFixture fixture = new PlanFixture(folder.resolve("source"));
        Random random = new Random(7);
        byte[] whole = new byte[ROWS * COLUMNS * 4];
        Shape shape = Shape.of(ROWS, COLUMNS);
        long size = shape.size(dim) / parts;
        List<Piece> sources = new ArrayList<>();
        for (int part = 0; part < parts; part++) {
            Shape local = shape.with(dim, size);
            byte[] bytes = new byte[(int) local.elements() * 4];
            random.nextBytes(bytes);
            int crc = PlanFixture.crc(bytes, 0, bytes.length);
            if (part == 0 && flippedBit >= 0) {
                bytes[flippedBit / 8] ^= (byte) (1 << flippedBit % 8);
            }
            ByteSource file = new CountedSource(fixture.sourceFile(pool, bytes), bytesRead).withRecordedCrc(crc);
            long[] at = {0, 0};
            at[dim] = part * size;
            sources.add(new Piece(at, StoredTensor.contiguous("t", DType.F32, local, file, 0)));
        }
        TargetSlot slot = fixture.slot(fixture.targetFile(), whole);
        fixture.add(new TensorMove(
                "t",
                shape,
                sources,
                List.<Fill>of(),
                List.of(new Piece(new long[2], StoredTensor.contiguous("t", DType.F32, shape, slot, 0))),
                List.of()));
        return fixture.plan();
    }

    /** Counts the bytes that are read. */
    private record CountedSource(ByteSource bytes, AtomicLong read) implements ByteSource {
        @Override
        public String name() {
            return bytes.name();
        }

        @Override
        public long size() {
            return bytes.size();
        }

        @Override
        public void read(long position, ByteBuffer target) throws IOException {
            read.addAndGet(target.remaining());
            bytes.read(position, target);
        }

        @Override
        public Optional<FileRange> inFile() {
            return bytes.inFile();
        }

        @Override
        public OptionalInt recordedCrc() {
            return OptionalInt.empty();
        }
    }
}
