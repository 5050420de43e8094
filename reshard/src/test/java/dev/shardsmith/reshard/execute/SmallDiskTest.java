package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real file system of 48 MiB; needs the right to mount one. */
@Tag("soak")
final class SmallDiskTest {
    @TempDir
    Path folder;

    private Path disk;

    @BeforeEach
    void mount() throws Exception {
        disk = Files.createDirectories(folder.resolve("disk"));
        assumeThat(run("mount", "-t", "tmpfs", "-o", "size=48m", "shardsmith-test", disk.toString()))
                .as("status of mount")
                .isZero();
    }

    @AfterEach
    void unmount() throws Exception {
        run("umount", disk.toString());
    }

    @Test
    void aDiskThatFillsUpMeanwhileIsToldAndTheRunIsResumedWithRoom() throws Exception {
        try (FilePool pool = new FilePool()) {
            PlanFixture fixture = new PlanFixture(folder.resolve("source"));
            int file = fixture.targetFile();
            byte[] bytes = new byte[40 << 20];
            ByteSource source = fixture.sourceFile(pool, bytes);
            fixture.add(PlanFixture.copy("t", DType.U8, Shape.of(bytes.length), source, 0, fixture.slot(file, bytes)));
            Path out = disk.resolve("out");
            Path hog = disk.resolve("hog");
            AtomicBoolean filled = new AtomicBoolean();
            ExecutionOptions filling = ExecutionOptions.defaults().withProgress((done, total) -> {
                if (filled.compareAndSet(false, true)) {
                    write(hog, 20 << 20);
                }
            });
            assertThatThrownBy(() -> PlanExecutor.execute(fixture.plan(), out, filling))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("the disk is full");
            assertThat(out).doesNotExist();
            Files.delete(hog);
            ExecutionReport report = PlanExecutor.execute(
                    fixture.plan(), out, ExecutionOptions.defaults().with(ExecutionOptions.Start.RESUME));
            assertThat(report.bytesResumed()).isPositive();
            PlanExecutorTest.assertFiles(fixture, out);
        }
    }

    private static void write(Path file, int bytes) {
        try {
            Files.write(file, new byte[bytes]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static int run(String... command) throws Exception {
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start()
                .waitFor();
    }
}
