package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.reshard.plan.Plan;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Optional;

/** The last steps: checksums and literals, and the rename that makes the target visible. */
final class Publication {
    private final Plan plan;
    private final Path destination;
    private final ExecutionOptions.Existing existing;

    Publication(Plan plan, Path destination, ExecutionOptions.Existing existing) {
        this.plan = plan;
        this.destination = destination;
        this.existing = existing;
    }

    /** True, and the rest cleaned up, if the run that is to be resumed had come to its last rename. */
    boolean wasPublishedBefore(RunHeader wanted, ExecutionOptions options) throws IOException {
        Path folder = PartialFolder.of(destination);
        Optional<RunHeader> header = RunHeader.read(folder.resolve("header"));
        boolean goesOn = options.start() == ExecutionOptions.Start.RESUME || wanted.tasks() > 1;
        boolean published = goesOn
                && header.isPresent()
                && header.get().plan().equals(wanted.plan())
                && Files.exists(PartialFolder.publishing(folder))
                && !Files.exists(made(PartialFolder.output(folder)))
                && Files.exists(destination);
        if (published) {
            TargetPaths.delete(folder);
        }
        return published;
    }

    /**
     * True if there is nothing left that is to be resumed, because the destination is already what the plan makes of its
     * sources: nothing there tells which run made it, so every byte is compared.
     *
     * @throws CheckpointException {@code REFUSED} if it is something else
     */
    boolean isComplete(RunHeader wanted, ExecutionOptions options) throws IOException {
        boolean asked = options.start() == ExecutionOptions.Start.RESUME
                && existing == ExecutionOptions.Existing.REFUSE
                && isSameSort()
                && (plan.singleFile() || !TargetPaths.isEmptyFolder(destination))
                && RunHeader.read(PartialFolder.of(destination).resolve("header"))
                        .isEmpty();
        if (!asked) {
            return false;
        }
        try {
            ReadBack.check(PreparedPlan.of(plan, wanted.bandBytes()), destination, options, wanted.bandBytes());
        } catch (CheckpointException e) {
            if (e.kind() != CheckpointException.Kind.MALFORMED && e.kind() != CheckpointException.Kind.INCOMPLETE) {
                throw e;
            }
            throw refused("the destination exists already, and is not what this conversion makes: " + e.getMessage())
                    .withHint("--force replaces it once the new one is complete")
                    .causedBy(e);
        }
        options.sourceCheck().verify();
        return true;
    }

    private boolean isSameSort() {
        return plan.singleFile() ? Files.isRegularFile(destination) : Files.isDirectory(destination);
    }

    /**
     * Checks that nothing is in the way.
     *
     * @throws CheckpointException if there is
     */
    void checkDestination() throws IOException {
        if (!Files.exists(destination)) {
            return;
        }
        if (!isSameSort()) {
            throw refused("there is a " + (plan.singleFile() ? "folder" : "file") + " of this name already")
                    .withHint("choose another destination");
        }
        boolean empty = !plan.singleFile() && TargetPaths.isEmptyFolder(destination);
        if (!empty && existing == ExecutionOptions.Existing.REFUSE) {
            throw refused("the destination exists already")
                    .withHint("--force replaces it once the new one is complete");
        }
    }

    /**
     * Checks, as far as the file system tells, that the target fits.
     *
     * @throws CheckpointException if it does not
     */
    void checkRoom(Plan plan, PartialFolder partial) throws IOException {
        if (Files.exists(partial.output())) {
            return;
        }
        Path folder = partial.output().getParent();
        FileStore store = Files.getFileStore(folder);
        long room = store.getUsableSpace();
        // Some network file systems do not tell their size.
        if (store.getTotalSpace() > 0 && room < plan.bytes()) {
            partial.remove();
            throw CheckpointException.of(
                            CheckpointException.Kind.ENVIRONMENT,
                            destination.toString(),
                            "the target takes " + plan.bytes() + " bytes, but the disk has room for " + room)
                    .withHint("make room, or choose a destination on another disk");
        }
    }

    /** Publishes if every task is done, adds up what all have done, and notes the source data that are damaged. */
    ExecutionReport.Outcome finish(
            PreparedPlan prepared,
            PartialFolder partial,
            TargetFiles files,
            ExecutionOptions options,
            WorkResult all,
            List<String> damaged)
            throws IOException {
        partial.lockFinish();
        if (!partial.exists()) {
            return ExecutionReport.Outcome.PART_DONE;
        }
        for (int task = 0; task < partial.header().tasks(); task++) {
            Journal.State state = new Journal.State();
            Journal.read(partial.journal(task), state);
            if (!state.complete()) {
                return ExecutionReport.Outcome.PART_DONE;
            }
            all.addAll(state.result());
        }
        damaged.addAll(prepared.checks().damaged(all.checksums(), options.whenDamaged()));
        for (int file = 0; file < plan.files().size(); file++) {
            for (FileImage.Literal literal : prepared.finishedLiterals(file, all.checksums())) {
                files.write(file, literal.offset(), ByteBuffer.wrap(literal.bytes()));
            }
        }
        files.force();
        if (options.readBack() == ExecutionOptions.ReadBackMode.COMPARE) {
            ReadBack.check(prepared, partial.output(), options, partial.header().bandBytes());
        }
        publish(partial);
        return ExecutionReport.Outcome.PUBLISHED;
    }

    private void publish(PartialFolder partial) throws IOException {
        Path parent = destination.getParent();
        try {
            TargetPaths.forceFolders(partial.output());
            checkDestination();
            Files.writeString(partial.publishing(), "");
            if (!plan.singleFile() && Files.exists(destination) && !TargetPaths.isEmptyFolder(destination)) {
                Files.move(destination, partial.replaced(), StandardCopyOption.ATOMIC_MOVE);
            }
            Files.move(made(partial.output()), destination, StandardCopyOption.ATOMIC_MOVE);
            TargetPaths.forceFolder(parent);
        } catch (IOException e) {
            throw EnvironmentFailure.of("publish", destination, e);
        }
        partial.remove();
    }

    /** What is renamed to the destination. */
    private Path made(Path output) throws CheckpointException {
        return plan.singleFile()
                ? TargetPaths.resolve(output, plan.files().get(0).path())
                : output;
    }

    private CheckpointException refused(String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, destination.toString(), problem);
    }
}
