package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.testdata.Cases;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PlanExecutorTest {
    @TempDir(factory = MemoryTempDir.class)
    Path folder;

    @Test
    void everyByteComesFromWhereThePlanSays() {
        Cases.forAll(100, random -> {
            Path place = Files.createTempDirectory(folder, "case");
            try (FilePool pool = new FilePool()) {
                PlanFixture fixture = new PlanFixture(place.resolve("source"));
                for (int files = random.nextInt(1, 4); files > 0; files--) {
                    fixture.targetFile();
                }
                RandomMove moves = new RandomMove(random, fixture, pool);
                for (int move = random.nextInt(1, 6); move > 0; move--) {
                    moves.add("tensor" + move, random.nextInt(10) == 0 ? 100_000 : 3_000);
                }
                Plan plan = fixture.plan();
                ExecutionOptions options = ExecutionOptions.defaults()
                        .withWorkers(random.nextInt(1, 4))
                        .withMemory(1 << random.nextInt(10, 26))
                        .with(ExecutionOptions.ReadBackMode.COMPARE)
                        .withSourceCheck(pool::verifyUnchanged);
                ExecutionReport report = PlanExecutor.execute(plan, place.resolve("out"), options);
                assertThat(report.outcome()).isEqualTo(ExecutionReport.Outcome.PUBLISHED);
                assertFiles(fixture, place.resolve("out"));
                assertThat(Files.exists(PartialFolder.of(place.resolve("out")))).isFalse();

                if (random.nextInt(4) > 0) {
                    TargetPaths.delete(place);
                    return;
                }
                ByteArrayOutputStream saved = new ByteArrayOutputStream();
                PlanCodec.write(plan, saved);
                Plan read = PlanCodec.read(new ByteArrayInputStream(saved.toByteArray()), "plan", pool);
                assertThat(PlanCodec.fingerprint(read)).isEqualTo(PlanCodec.fingerprint(plan));
                PlanExecutor.execute(read, place.resolve("again"), options);
                assertFiles(fixture, place.resolve("again"));
            }
            TargetPaths.delete(place);
        });
    }

    static void assertFiles(PlanFixture fixture, Path out) throws IOException {
        for (int file = 0; file < fixture.files(); file++) {
            byte[] found = Files.readAllBytes(out.resolve(PlanFixture.path(file)));
            byte[] expected = fixture.expected(file);
            assertThat(Arrays.mismatch(found, expected))
                    .as("first different byte of file %d", file)
                    .isEqualTo(-1);
        }
    }
}
