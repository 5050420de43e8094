package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Carries out plans: in bounded memory, by several workers or processes, resumable, and published by one rename.
 *
 * <p>At no time is a part of the target visible at the destination. Whatever happens, either nothing changes there or the
 * complete target appears. The bytes written depend on the plan alone.
 */
public final class PlanExecutor {
    private final TargetFiles.ChannelOpener opener;
    private final WorkLog.Pace pace;

    PlanExecutor(TargetFiles.ChannelOpener opener, WorkLog.Pace pace) {
        this.opener = opener;
        this.pace = pace;
    }

    /**
     * Carries out a plan, or this process's part of it.
     *
     * @param destination the folder, or file if the plan makes a single file, that is to be there afterwards
     * @throws CheckpointException {@code REFUSED} if something is in the way; {@code ENVIRONMENT} if the disk is full, a path
     *     cannot be written or the source changed; {@code INCONSISTENT} if copies that must be equal are not
     */
    public static ExecutionReport execute(Plan plan, Path destination, ExecutionOptions options) throws IOException {
        return new PlanExecutor(TargetFiles.ChannelOpener.ofFileSystem(), WorkLog.Pace.USUAL)
                .run(plan, destination, options);
    }

    /** The hidden folder beside a destination in which the target grows, whether it is there or not. */
    public static Path partial(Path destination) {
        return PartialFolder.of(destination.toAbsolutePath().normalize());
    }

    ExecutionReport run(Plan plan, Path destination, ExecutionOptions options) throws IOException {
        long start = System.nanoTime();
        Path target = TargetPaths.real(destination);
        if (target.getFileName() == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED, destination.toString(), "this cannot be a destination");
        }
        TargetPaths.checkApart(plan, target);
        RunHeader wanted =
                new RunHeader(PlanCodec.fingerprint(plan), options.task().count(), MemoryShare.bandBytes(options));
        Publication publication = new Publication(plan, target, options.existing());
        if (publication.wasPublishedBefore(wanted, options) || publication.isComplete(wanted, options)) {
            Moved before = new Moved(0, 0, plan.bytes());
            return report(plan, ExecutionReport.Outcome.ALREADY_PUBLISHED, before, new WorkResult(), List.of(), start);
        }
        publication.checkDestination();
        PreparedPlan prepared = PreparedPlan.of(plan, wanted.bandBytes());
        try (PartialFolder partial = PartialFolder.open(target, wanted, options)) {
            if (partial.header().bandBytes() != wanted.bandBytes()) {
                prepared = PreparedPlan.of(plan, partial.header().bandBytes());
            }
            try {
                return run(prepared, partial, publication, options, start);
            } catch (CheckpointException e) {
                if (e.kind() != CheckpointException.Kind.ENVIRONMENT
                        && options.task().count() == 1) {
                    // Going on would end in the same error.
                    partial.remove();
                }
                throw e;
            }
        }
    }

    private ExecutionReport run(
            PreparedPlan prepared, PartialFolder partial, Publication publication, ExecutionOptions options, long start)
            throws IOException {
        Journal.State before = new Journal.State();
        try (Journal journal = Journal.open(partial.journal(options.task().index()), before);
                TargetFiles files = new TargetFiles(prepared.plan(), partial.output(), opener)) {
            publication.checkRoom(prepared.plan(), partial);
            files.create(prepared.plan());
            Moved moved = moveUnits(prepared, partial, journal, files, before, options);
            options.sourceCheck().verify();
            if (!before.complete()) {
                journal.append(new BitSet(), new WorkResult(), true);
            }
            WorkResult all = new WorkResult();
            List<String> damaged = new ArrayList<>();
            ExecutionReport.Outcome outcome = publication.finish(prepared, partial, files, options, all, damaged);
            return report(prepared.plan(), outcome, moved, all, damaged, start);
        }
    }

    /** Bytes that a run wrote, read, and found written by an earlier one. */
    private record Moved(long written, long read, long resumed) {}

    private Moved moveUnits(
            PreparedPlan prepared,
            PartialFolder partial,
            Journal journal,
            TargetFiles files,
            Journal.State before,
            ExecutionOptions options)
            throws IOException {
        WorkUnits units = prepared.units();
        int first = units.firstOf(options.task().index(), options.task().count());
        int end = units.firstOf(options.task().index() + 1, options.task().count());
        long total = 0;
        long resumed = 0;
        for (int unit = first; unit < end; unit++) {
            total += units.bytes(unit);
            resumed += before.units().get(unit) ? units.bytes(unit) : 0;
        }
        int band = partial.header().bandBytes();
        Workers workers = new Workers(
                units, new Workers.PlanContext(band, prepared.checks(), files, new FillRows(band), options), resumed);
        try (WorkLog log = new WorkLog(journal, files, pace)) {
            workers.run(first, end, before.units()::get, total, log::finished);
        }
        return new Moved(total - resumed, workers.bytesRead(), resumed);
    }

    private static ExecutionReport report(
            Plan plan, ExecutionReport.Outcome outcome, Moved moved, WorkResult all, List<String> damaged, long start) {
        return new ExecutionReport(
                outcome,
                moved.written(),
                moved.read(),
                moved.resumed(),
                byTensor(plan, all.overflows()),
                byTensor(plan, all.mismatches()),
                List.copyOf(damaged),
                (System.nanoTime() - start) / 1e9);
    }

    private static Map<String, Long> byTensor(Plan plan, Map<Integer, Long> byMove) {
        Map<String, Long> byTensor = new LinkedHashMap<>();
        byMove.forEach((move, count) -> byTensor.merge(plan.moves().get(move).tensor(), count, Long::sum));
        return byTensor;
    }
}
