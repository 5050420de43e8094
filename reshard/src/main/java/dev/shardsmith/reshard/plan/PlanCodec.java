package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.WholeFile;
import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Plans as Protocol Buffers, see {@code plan.proto}. */
public final class PlanCodec {
    /** The version that is written, and the highest that is read. */
    static final int VERSION = 1;

    static final String TITLE = "shardsmith plan";

    private PlanCodec() {}

    /**
     * Writes a plan, with the sizes and times of change that its source files have now.
     *
     * @throws dev.shardsmith.formats.CheckpointException if a source is neither a file nor small enough to be written along
     */
    public static void write(Plan plan, OutputStream out) throws IOException {
        new PlanWriter(out).write(plan);
    }

    /** Writes a plan to a file, which appears complete or not at all. */
    public static void write(Plan plan, WholeFile file) throws IOException {
        file.write(out -> write(plan, out));
    }

    /**
     * Reads a plan.
     *
     * @param name of the input, for messages
     * @param pool opens the source files; it must stay open while the plan is used
     * @throws dev.shardsmith.formats.CheckpointException if the input is damaged or of a later version, or a source file has
     *     another size or time of change than when the plan was made
     */
    public static Plan read(InputStream in, String name, FilePool pool) throws IOException {
        return new PlanReader(in, name, pool).read();
    }

    /** Reads a plan from a file; see {@link #read(InputStream, String, FilePool)}. */
    public static Plan read(Path file, FilePool pool) throws IOException {
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            return read(in, file.toString(), pool);
        }
    }

    /**
     * A SHA-256 of all that a plan says: equal for the same conversion of unchanged sources, in hexadecimal digits. Of large
     * data that lie in no file only the beginning counts.
     */
    public static String fingerprint(Plan plan) throws IOException {
        return PlanFingerprint.of(plan);
    }
}
