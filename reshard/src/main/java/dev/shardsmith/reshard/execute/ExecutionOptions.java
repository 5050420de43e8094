package dev.shardsmith.reshard.execute;

import java.io.IOException;
import java.util.function.Consumer;

/**
 * How a plan is carried out.
 *
 * @param workers threads that move data
 * @param memory bytes that the buffers of all workers may take together
 * @param start what to do about what an earlier run left behind
 * @param existing what to do about a destination that exists
 * @param task the part of the work that this process does
 * @param whenReplicasDiffer what to do when copies that must be equal are not
 * @param readBack whether what was written is read again and compared with the sources before it is published
 * @param progress told about progress
 * @param sourceCheck run after the last byte was read; throws if the source changed meanwhile
 * @param whenDamaged what to do about source data whose recorded checksum is another
 */
public record ExecutionOptions(
        int workers,
        long memory,
        Start start,
        Existing existing,
        TaskShare task,
        ReplicaMismatch whenReplicasDiffer,
        ReadBackMode readBack,
        Progress progress,
        SourceCheck sourceCheck,
        DamagedSource whenDamaged) {
    private static final int MOST_WORKERS = 256;

    /** What to do about what an earlier run left behind. */
    public enum Start {
        /** Refuse to go on from it. */
        FRESH,
        /** Go on from it, if it was made by the same plan. */
        RESUME
    }

    /** What to do about a destination that exists, or an unfinished one of another plan. */
    public enum Existing {
        REFUSE,
        REPLACE
    }

    /** What to do when copies that must be equal are not. */
    public enum ReplicaMismatch {
        REFUSE,
        /** Take the first copy and count the elements that differ. */
        COUNT
    }

    /** Whether what was written is read again. */
    public enum ReadBackMode {
        NONE,
        /** Every slot is compared with the sources, and every file with the plan. */
        COMPARE
    }

    /** What to do about source data whose recorded checksum is another. */
    public enum DamagedSource {
        REFUSE,
        /** Copy the data as they are and name them. */
        COPY
    }

    /** Told about progress; calls never overlap, but come from several threads. */
    @FunctionalInterface
    public interface Progress {
        /** So many bytes of the target are written, of so many. */
        void update(long bytesDone, long bytesTotal);
    }

    /** Checks that the source is still as it was when the plan was made. */
    @FunctionalInterface
    public interface SourceCheck {
        /** Throws if it is not. */
        void verify() throws IOException;
    }

    /** Options with sensible numbers. */
    public ExecutionOptions {
        if (workers < 1 || workers > MOST_WORKERS) {
            throw new IllegalArgumentException(workers + " workers");
        }
        if (memory < 1) {
            throw new IllegalArgumentException(memory + " bytes of memory");
        }
    }

    /** As many workers as processors up to 8, 64 MiB of buffers, nothing overwritten, no read-back. */
    public static ExecutionOptions defaults() {
        return new ExecutionOptions(
                Math.max(1, Math.min(8, Runtime.getRuntime().availableProcessors())),
                64L << 20,
                Start.FRESH,
                Existing.REFUSE,
                TaskShare.ALL,
                ReplicaMismatch.REFUSE,
                ReadBackMode.NONE,
                (done, total) -> {},
                () -> {},
                DamagedSource.REFUSE);
    }

    /** The same with another number of workers. */
    public ExecutionOptions withWorkers(int number) {
        return with(draft -> draft.workers = number);
    }

    /** The same with another bound on the buffers, in bytes. */
    public ExecutionOptions withMemory(long bytes) {
        return with(draft -> draft.memory = bytes);
    }

    /** The same with another way to start. */
    public ExecutionOptions with(Start how) {
        return with(draft -> draft.start = how);
    }

    /** The same with another answer to an existing destination. */
    public ExecutionOptions with(Existing how) {
        return with(draft -> draft.existing = how);
    }

    /** The same for another part of the work. */
    public ExecutionOptions with(TaskShare share) {
        return with(draft -> draft.task = share);
    }

    /** The same with another answer to copies that differ. */
    public ExecutionOptions with(ReplicaMismatch how) {
        return with(draft -> draft.whenReplicasDiffer = how);
    }

    /** The same with or without reading back. */
    public ExecutionOptions with(ReadBackMode mode) {
        return with(draft -> draft.readBack = mode);
    }

    /** The same with another listener. */
    public ExecutionOptions withProgress(Progress listener) {
        return with(draft -> draft.progress = listener);
    }

    /** The same with another check of the source. */
    public ExecutionOptions withSourceCheck(SourceCheck check) {
        return with(draft -> draft.sourceCheck = check);
    }

    /** The same with another answer to damaged source data. */
    public ExecutionOptions with(DamagedSource how) {
        return with(draft -> draft.whenDamaged = how);
    }

    private ExecutionOptions with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.options();
    }

    /** Options as they are being changed. */
    private static final class Draft {
        private int workers;
        private long memory;
        private Start start;
        private Existing existing;
        private TaskShare task;
        private ReplicaMismatch whenReplicasDiffer;
        private ReadBackMode readBack;
        private Progress progress;
        private SourceCheck sourceCheck;
        private DamagedSource whenDamaged;

        Draft(ExecutionOptions of) {
            workers = of.workers;
            memory = of.memory;
            start = of.start;
            existing = of.existing;
            task = of.task;
            whenReplicasDiffer = of.whenReplicasDiffer;
            readBack = of.readBack;
            progress = of.progress;
            sourceCheck = of.sourceCheck;
            whenDamaged = of.whenDamaged;
        }

        ExecutionOptions options() {
            return new ExecutionOptions(
                    workers,
                    memory,
                    start,
                    existing,
                    task,
                    whenReplicasDiffer,
                    readBack,
                    progress,
                    sourceCheck,
                    whenDamaged);
        }
    }
}
