package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.plan.Plan;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads a written target again and compares every byte with what the plan and the sources say. */
public final class ReadBack {
    private ReadBack() {}

    /**
     * Compares a target with its plan and the sources.
     *
     * @param destination the folder, or the file if the plan makes a single file
     * @throws CheckpointException {@code MALFORMED}, naming file and byte, if they differ
     */
    public static void check(Plan plan, Path destination, ExecutionOptions options) throws IOException {
        int bandBytes = MemoryShare.bandBytes(options);
        check(PreparedPlan.of(plan, bandBytes), destination, options, bandBytes);
    }

    static void check(PreparedPlan prepared, Path output, ExecutionOptions options, int bandBytes) throws IOException {
        try (FilePool pool = new FilePool()) {
            List<ByteSource> files = new ArrayList<>();
            for (FileImage image : prepared.plan().files()) {
                boolean isFile = prepared.plan().singleFile() && Files.isRegularFile(output);
                ByteSource file = pool.file(isFile ? output : TargetPaths.resolve(output, image.path()), image.path());
                if (file.size() != image.size()) {
                    throw CheckpointException.malformed(
                            image.path(),
                            Math.min(file.size(), image.size()),
                            "the file is " + file.size() + " bytes long, not " + image.size() + " as planned");
                }
                files.add(file);
            }
            WorkResult all = compareSlots(prepared, files, options, bandBytes);
            for (int file = 0; file < files.size(); file++) {
                for (FileImage.Literal literal : prepared.finishedLiterals(file, all.checksums())) {
                    compare(files.get(file), literal.offset(), ByteBuffer.wrap(literal.bytes()));
                }
            }
        }
    }

    private static WorkResult compareSlots(
            PreparedPlan prepared, List<ByteSource> files, ExecutionOptions options, int bandBytes) throws IOException {
        BandSink comparing =
                (slot, position, bytes) -> compare(files.get(slot.file()), slot.offset() + position, bytes);
        ExecutionOptions quiet = options.withProgress((done, total) -> {});
        WorkUnits units = prepared.units();
        Workers workers = new Workers(
                units,
                new Workers.PlanContext(bandBytes, SourceChecks.NONE, comparing, new FillRows(bandBytes), quiet),
                0);
        WorkResult all = new WorkResult();
        workers.run(0, units.count(), unit -> false, units.totalBytes(), (unit, bytes, result) -> {
            synchronized (all) {
                all.addAll(result);
            }
        });
        return all;
    }

    private static void compare(ByteSource file, long position, ByteBuffer expected) throws IOException {
        ByteBuffer found = ByteBuffer.allocate(expected.remaining());
        file.read(position, found);
        int at = found.flip().mismatch(expected);
        if (at >= 0) {
            throw CheckpointException.malformed(
                    file.name(), position + at, "what was read back is not what was written");
        }
    }
}
