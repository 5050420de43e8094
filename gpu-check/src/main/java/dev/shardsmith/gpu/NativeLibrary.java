package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import jcuda.driver.JCudaDriver;

/**
 * Loads JCuda's native part.
 *
 * <p>JCuda unpacks it under a fixed name into {@code java.io.tmpdir} and loads whatever already lies there, which on a
 * shared machine could be another user's file. So it is given a folder that only this user can enter, for as long as it
 * loads.
 */
final class NativeLibrary {
    private static final String FOLDER_PROPERTY = "java.io.tmpdir";

    private NativeLibrary() {}

    /**
     * Loads it, at most once per JVM.
     *
     * @throws CheckpointException if the library or the driver that it needs is not there; one line says which
     */
    static synchronized void load() throws CheckpointException {
        String before = System.getProperty(FOLDER_PROPERTY);
        Path folder;
        try {
            folder = Files.createTempDirectory("shardsmith-cuda");
        } catch (IOException e) {
            throw missing("no private folder for its native library could be made: " + e.getMessage(), e);
        }
        try {
            System.setProperty(FOLDER_PROPERTY, folder.toString());
            JCudaDriver.setExceptionsEnabled(false);
        } catch (LinkageError e) {
            throw missing(reason(e), e);
        } finally {
            System.setProperty(FOLDER_PROPERTY, before);
            delete(folder);
        }
    }

    /** The line of the loader's report that says what is missing. */
    private static String reason(Throwable failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = String.valueOf(cause.getMessage());
            if (message.contains("libcuda.so")) {
                return "libcuda.so.1 was not found";
            }
        }
        String first = String.valueOf(failure.getMessage()).strip();
        int end = first.indexOf('\n');
        return "the native library did not load: " + (end < 0 ? first : first.substring(0, end));
    }

    private static CheckpointException missing(String reason, Throwable cause) {
        return CheckpointException.of(
                        CheckpointException.Kind.ENVIRONMENT, "", "no NVIDIA driver on this machine: " + reason)
                .causedBy(cause);
    }

    /** A loaded library needs its file no longer. */
    private static void delete(Path folder) {
        File[] files = folder.toFile().listFiles();
        if (files != null) {
            for (File file : files) {
                if (!file.delete()) {
                    file.deleteOnExit();
                }
            }
        }
        if (!folder.toFile().delete()) {
            folder.toFile().deleteOnExit();
        }
    }
}
