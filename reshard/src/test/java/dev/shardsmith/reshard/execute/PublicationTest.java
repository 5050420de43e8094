package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.plan.Ledger;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PublicationTest {
    private static final int TENSORS = 12;
    private static final Shape SHAPE = Shape.of(1 << 20);

    @TempDir(factory = MemoryTempDir.class)
    Path folder;

    private final FilePool pool = new FilePool();
    private PlanFixture fixture;
    private Path out;

    @BeforeEach
    void makeFixture() throws IOException {
        fixture = fixture(pool, "source", 1);
        out = folder.resolve("out");
    }

    @AfterEach
    void closePool() throws IOException {
        pool.close();
    }

    @Test
    void anExistingDestinationIsRefusedAndLeftAsItIs() throws IOException {
        Files.createDirectories(out);
        Files.writeString(out.resolve("precious"), "keep");
        assertRefused(ExecutionOptions.defaults(), "exists already");
        assertThat(out.resolve("precious")).hasContent("keep");
        assertThat(names()).containsExactly("out", "source");
    }

    @Test
    void anEmptyDestinationFolderIsTaken() throws IOException {
        Files.createDirectories(out);
        assertPublished(ExecutionOptions.defaults());
    }

    @Test
    void aFileAtTheDestinationOfAFolderIsRefusedEvenByForce() throws IOException {
        Files.writeString(out, "a file");
        assertRefused(replacing(), "there is a file of this name");
    }

    @Test
    void anExistingDestinationIsReplacedByForceOnceTheNewOneIsComplete() throws IOException {
        Files.createDirectories(out);
        Files.writeString(out.resolve("old"), "old");
        AtomicLong seen = new AtomicLong();
        assertPublished(replacing().withProgress((done, total) -> {
            assertThat(out.resolve("old")).exists();
            seen.set(done);
        }));
        assertThat(seen.get()).isEqualTo(TENSORS * 4L << 20);
        assertThat(out.resolve("old")).doesNotExist();
        assertThat(names()).containsExactly("out", "source");
    }

    @Test
    void aSourceInsideTheDestinationIsRefused() throws IOException {
        Path source = folder.resolve("source");
        assertThatThrownBy(() -> PlanExecutor.execute(fixture.plan(), source, replacing()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("lies in the destination");
        assertThat(source.resolve("source0.bin")).exists();
    }

    @Test
    void aSourceInsideTheDestinationIsRefusedThroughALinkToo() throws IOException {
        Path link = Files.createSymbolicLink(folder.resolve("link"), folder.resolve("source"));
        assertThatThrownBy(() -> PlanExecutor.execute(fixture.plan(), link, replacing()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("lies in the destination");
    }

    @Test
    void aFullDiskIsToldAndTheRunCanBeResumed() throws IOException {
        AtomicLong room = new AtomicLong(20L << 20);
        PlanExecutor full = new PlanExecutor(
                HookedChannel.opener(bytes -> {
                    if (room.addAndGet(-bytes) < 0) {
                        throw new IOException("No space left on device");
                    }
                }),
                new WorkLog.Pace(1 << 20, 1));
        assertThatThrownBy(() -> full.run(fixture.plan(), out, ExecutionOptions.defaults()))
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).isEqualTo(CheckpointException.Kind.ENVIRONMENT);
                    assertThat(e).hasMessageContaining("the disk is full").hasMessageContaining("--resume");
                });
        assertThat(out).doesNotExist();
        assertRefused(ExecutionOptions.defaults(), "did not finish");
        ExecutionReport report = assertPublished(resuming());
        assertThat(report.bytesResumed()).isPositive();
        assertThat(report.bytesResumed() + report.bytesWritten()).isEqualTo(TENSORS * 4L << 20);
        assertThat(names()).containsExactly("out", "source");
    }

    @Test
    void anUnfinishedRunOfAnotherPlanIsRefusedUnlessForced() throws IOException {
        stopHalfway(fixture.plan());
        PlanFixture other = fixture(pool, "other", 2);
        for (ExecutionOptions options : List.of(ExecutionOptions.defaults(), resuming())) {
            assertThatThrownBy(() -> PlanExecutor.execute(other.plan(), out, options))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("another conversion")
                    .hasMessageContaining("--force");
        }
        PlanExecutor.execute(other.plan(), out, replacing());
        PlanExecutorTest.assertFiles(other, out);
    }

    @Test
    void anUnfinishedRunThatHasDoneNothingIsNotInTheWay() throws IOException {
        PlanExecutor failing = new PlanExecutor(
                HookedChannel.opener(bytes -> {
                    throw new IOException("stopped by the test");
                }),
                WorkLog.Pace.USUAL);
        assertThatThrownBy(() -> failing.run(fixture.plan(), out, ExecutionOptions.defaults()))
                .hasMessageContaining("stopped by the test");
        assertThat(PartialFolder.of(out)).isDirectory();
        assertPublished(ExecutionOptions.defaults());
    }

    @Test
    void aTargetLargerThanTheDiskIsRefusedAtOnce() throws IOException {
        FileImage image = new FileImage("huge", Long.MAX_VALUE / 2, List.of(), List.of(), List.of());
        Plan plan = new Plan(List.of(image), List.of(), new Ledger(0, 0, 0, 0, 0, 0, 0), List.of(), List.of(), false);
        assertThatThrownBy(() -> PlanExecutor.execute(plan, out, ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("the disk has room for");
        assertThat(names()).containsExactly("source");
    }

    @Test
    void aChangedSourceIsAnotherPlanToAnUnfinishedRun() throws IOException {
        stopHalfway(fixture.plan());
        Files.setLastModifiedTime(folder.resolve("source/source3.bin"), FileTime.fromMillis(1_000_000));
        assertRefused(resuming(), "a source that has changed");
    }

    @Test
    void theResultDoesNotDependOnTheNumberOfWorkersOrTheMemory() throws IOException {
        for (int workers : new int[] {1, 2, 8}) {
            out = folder.resolve("out" + workers);
            assertPublished(ExecutionOptions.defaults().withWorkers(workers).withMemory(1L << 18 + workers));
        }
    }

    @Test
    void aResumedRunMayHaveAnotherNumberOfWorkersAndAnotherMemory() throws IOException {
        stopHalfway(fixture.plan());
        assertPublished(resuming().withWorkers(1).withMemory(1 << 18));
    }

    @Test
    void aRunIsResumedFromAJournalThatACrashCutShort() throws IOException {
        stopHalfway(fixture.plan());
        Path journal = PartialFolder.of(out).resolve("journal-0-of-1");
        int end = (int) Journal.read(journal, new Journal.State());
        byte[] bytes = Arrays.copyOf(Files.readAllBytes(journal), end);
        Files.write(journal, Arrays.copyOf(bytes, bytes.length - 1));
        assertPublished(resuming());
    }

    @Test
    void aSourceThatChangesMeanwhileIsToldAndNothingIsPublished() throws IOException {
        Path changing = folder.resolve("source/source0.bin");
        ExecutionOptions options = ExecutionOptions.defaults()
                .withSourceCheck(pool::verifyUnchanged)
                .withProgress((done, total) -> touch(changing));
        assertThatThrownBy(() -> PlanExecutor.execute(fixture.plan(), out, options))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.ENVIRONMENT))
                .hasMessageContaining("changed while it was being read");
        assertThat(out).doesNotExist();
    }

    @Test
    void aSourceThatVanishesIsTold() throws IOException {
        Plan plan = fixture.plan();
        Files.delete(folder.resolve("source/source5.bin"));
        assertThatThrownBy(() -> PlanExecutor.execute(plan, out, ExecutionOptions.defaults()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("source5.bin")
                .hasMessageContaining("vanished");
        assertThat(names()).containsExactly("source");
    }

    @Test
    void tasksShareTheWorkAndTheLastOnePublishes() throws IOException {
        List<ExecutionReport.Outcome> outcomes = new ArrayList<>();
        long written = 0;
        for (int task : new int[] {2, 0, 3, 1}) {
            ExecutionReport report = PlanExecutor.execute(
                    fixture.plan(), out, ExecutionOptions.defaults().with(new TaskShare(task, 4)));
            outcomes.add(report.outcome());
            written += report.bytesWritten();
            assertThat(report.bytesWritten()).isBetween(8L << 20, 16L << 20);
        }
        assertThat(outcomes)
                .containsExactly(
                        ExecutionReport.Outcome.PART_DONE,
                        ExecutionReport.Outcome.PART_DONE,
                        ExecutionReport.Outcome.PART_DONE,
                        ExecutionReport.Outcome.PUBLISHED);
        assertThat(written).isEqualTo(TENSORS * 4L << 20);
        PlanExecutorTest.assertFiles(fixture, out);
    }

    @Test
    void aSecondProcessAtTheSameDestinationIsRefused() throws IOException {
        RunHeader header = new RunHeader("some plan", 1, 1 << 20);
        try (PartialFolder busy = PartialFolder.open(out, header, ExecutionOptions.defaults())) {
            assertThat(busy.exists()).isTrue();
            assertRefused(replacing(), "another process is writing");
        }
        assertPublished(replacing());
    }

    @Test
    void whatAForcedRunHadMovedAsideComesBackIfItStoppedBeforeItsLastStep() throws IOException {
        stopHalfway(fixture.plan());
        Path replaced = Files.createDirectories(PartialFolder.of(out).resolve("replaced"));
        Files.writeString(replaced.resolve("old"), "old");
        PlanFixture broken = fixture(pool, "other", 2);
        Files.delete(folder.resolve("other/source0.bin"));
        Files.writeString(folder.resolve("other/source0.bin"), "");
        assertThatThrownBy(() -> PlanExecutor.execute(broken.plan(), out, replacing()))
                .isInstanceOf(CheckpointException.class);
        assertThat(out.resolve("old")).hasContent("old");
    }

    @Test
    void aRunThatStoppedBehindItsLastStepIsOnlyCleanedUp() throws IOException {
        stopHalfway(fixture.plan());
        Path partial = PartialFolder.of(out);
        Files.move(partial.resolve("output"), out);
        Files.writeString(partial.resolve("publishing"), "");
        ExecutionReport report = PlanExecutor.execute(fixture.plan(), out, resuming());
        assertThat(report.outcome()).isEqualTo(ExecutionReport.Outcome.ALREADY_PUBLISHED);
        assertThat(partial).doesNotExist();
    }

    @Test
    void aFolderThatMayNotBeWrittenIsTold() throws IOException {
        // Even the superuser cannot make folders there.
        Path parent = Path.of("/proc/shardsmith");
        assumeThat(Path.of("/proc/self")).exists();
        assertThatThrownBy(
                        () -> PlanExecutor.execute(fixture.plan(), parent.resolve("out"), ExecutionOptions.defaults()))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.ENVIRONMENT))
                .hasMessageContaining("/proc");
    }

    @Test
    void aPlanThatLeadsOutOfItsFolderIsRefused() throws IOException {
        for (String path : new String[] {"../evil", "a/../../evil", "/evil", "", "."}) {
            assertThatThrownBy(() -> TargetPaths.resolve(out, path))
                    .as(path)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("outside");
        }
        assertThat(TargetPaths.resolve(out, "a/..b/c")).isEqualTo(out.resolve("a/..b/c"));
    }

    @Test
    void aByteThatWasNotWrittenAsPlannedIsFoundByReadingBack() throws IOException {
        assertPublished(ExecutionOptions.defaults());
        ReadBack.check(fixture.plan(), out, ExecutionOptions.defaults());
        Path file = out.resolve(PlanFixture.path(1));
        byte[] bytes = Files.readAllBytes(file);
        for (int at : new int[] {2, 1000, bytes.length - 2}) {
            bytes[at] ^= 1;
            Files.write(file, bytes);
            assertThatThrownBy(() -> ReadBack.check(fixture.plan(), out, ExecutionOptions.defaults()))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining(PlanFixture.path(1) + " at byte " + at);
            bytes[at] ^= 1;
        }
    }

    private PlanFixture fixture(FilePool files, String name, long seed) throws IOException {
        PlanFixture made = new PlanFixture(folder.resolve(name));
        made.targetFile();
        made.targetFile();
        for (int tensor = 0; tensor < TENSORS; tensor++) {
            byte[] bytes = new byte[4 << 20];
            Cases.random(seed + tensor).nextBytes(bytes);
            ByteSource source = made.sourceFile(files, bytes);
            made.add(PlanFixture.copy("t" + tensor, DType.F32, SHAPE, source, 0, made.slot(tensor % 2, bytes)));
        }
        return made;
    }

    private void stopHalfway(Plan plan) {
        AtomicLong left = new AtomicLong(30L << 20);
        PlanExecutor stopping = new PlanExecutor(
                HookedChannel.opener(bytes -> {
                    if (left.addAndGet(-bytes) < 0) {
                        throw new IOException("stopped by the test");
                    }
                }),
                new WorkLog.Pace(1 << 20, 1));
        assertThatThrownBy(() -> stopping.run(plan, out, ExecutionOptions.defaults()))
                .hasMessageContaining("stopped by the test");
        assertThat(out).doesNotExist();
    }

    private ExecutionReport assertPublished(ExecutionOptions options) throws IOException {
        ExecutionReport report = PlanExecutor.execute(fixture.plan(), out, options);
        assertThat(report.outcome()).isEqualTo(ExecutionReport.Outcome.PUBLISHED);
        PlanExecutorTest.assertFiles(fixture, out);
        return report;
    }

    private void assertRefused(ExecutionOptions options, String message) {
        assertThatThrownBy(() -> PlanExecutor.execute(fixture.plan(), out, options))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message);
    }

    private List<String> names() throws IOException {
        try (Stream<Path> entries = Files.list(folder)) {
            return entries.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    private static void touch(Path file) {
        try {
            Files.setLastModifiedTime(file, FileTime.fromMillis(1_000_000));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static ExecutionOptions replacing() {
        return ExecutionOptions.defaults().with(ExecutionOptions.Existing.REPLACE);
    }

    private static ExecutionOptions resuming() {
        return ExecutionOptions.defaults().with(ExecutionOptions.Start.RESUME);
    }
}
