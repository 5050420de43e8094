package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.testdata.Cases;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class KillAndResumeTest {
    @TempDir(factory = MemoryTempDir.class)
    Path folder;

    @Test
    void whatIsKilledIsResumedAndEndsWithTheSameBytes() throws Exception {
        killAndResume(5);
    }

    @Test
    @Tag("soak")
    void whatIsKilledManyTimesIsResumedAndEndsWithTheSameBytes() throws Exception {
        killAndResume(60);
    }

    @Test
    void severalProcessesShareTheWorkAndOnePublishes() throws Exception {
        try (FilePool pool = new FilePool()) {
            PlanFixture fixture = fixture(pool);
            Path plan = folder.resolve("plan");
            PlanCodec.write(fixture.plan(), WholeFile.replacing(plan));
            Path out = folder.resolve("out");
            List<Process> tasks = new ArrayList<>();
            for (int task = 0; task < 3; task++) {
                tasks.add(ExecutorProcess.start(plan, out, task + "/3", 20));
            }
            List<String> outcomes = new ArrayList<>();
            for (Process task : tasks) {
                outcomes.add(end(task).strip());
            }
            assertThat(outcomes).containsExactlyInAnyOrder("PUBLISHED", "PART_DONE", "PART_DONE");
            PlanExecutorTest.assertFiles(fixture, out);
            assertThat(PartialFolder.of(out)).doesNotExist();
        }
    }

    private void killAndResume(int kills) throws Exception {
        try (FilePool pool = new FilePool()) {
            PlanFixture fixture = fixture(pool);
            Path plan = folder.resolve("plan");
            PlanCodec.write(fixture.plan(), WholeFile.replacing(plan));
            RandomGenerator random = Cases.random(kills);
            int killed = 0;
            int visible = 0;
            for (int run = 0; killed < kills; run++) {
                Path out = folder.resolve("out" + visible);
                Process process = ExecutorProcess.start(plan, out, "0/1", 400);
                boolean ended = process.waitFor(random.nextInt(100, 1500), TimeUnit.MILLISECONDS);
                if (!ended) {
                    process.destroyForcibly().waitFor();
                    killed++;
                }
                if (Files.exists(out)) {
                    PlanExecutorTest.assertFiles(fixture, out);
                    visible++;
                }
                assertThat(run).as("runs").isLessThan(kills * 20);
            }
            Path last = folder.resolve("out" + visible);
            end(ExecutorProcess.start(plan, last, "0/1", 0));
            PlanExecutorTest.assertFiles(fixture, last);
            assertThat(PartialFolder.of(last)).doesNotExist();
        }
    }

    private PlanFixture fixture(FilePool pool) throws Exception {
        PlanFixture fixture = new PlanFixture(folder.resolve("source"));
        fixture.targetFile();
        fixture.targetFile();
        fixture.targetFile();
        RandomGenerator random = Cases.random(7);
        RandomMove moves = new RandomMove(random, fixture, pool);
        for (int move = 0; move < 24; move++) {
            moves.add("tensor" + move, 200_000);
        }
        return fixture;
    }

    private static String end(Process process) throws Exception {
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
