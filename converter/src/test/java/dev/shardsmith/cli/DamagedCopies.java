package dev.shardsmith.cli;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Enumeration;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/** Copies of golden checkpoints with one thing changed. */
final class DamagedCopies {
    private DamagedCopies() {}

    /** Copies a folder with all that is in it. */
    static Path copy(Path from, Path to) throws IOException {
        List<Path> files;
        try (Stream<Path> walk = Files.walk(from)) {
            files = walk.toList();
        }
        for (Path file : files) {
            Path target = to.resolve(from.relativize(file).toString());
            if (Files.isDirectory(file)) {
                Files.createDirectories(target);
            } else {
                Files.copy(file, target);
            }
        }
        return to;
    }

    /** The file of one rank. */
    static Path rankFile(Path checkpoint, String rank) throws IOException {
        try (Stream<Path> walk = Files.walk(checkpoint)) {
            return walk.filter(file -> file.endsWith(Path.of(rank, "model_optim_rng.pt")))
                    .findFirst()
                    .orElseThrow();
        }
    }

    /** Flips the lowest bit of a byte. */
    static void flipBit(Path file, long offset) throws IOException {
        try (RandomAccessFile access = new RandomAccessFile(file.toFile(), "rw")) {
            access.seek(offset);
            int value = access.read();
            access.seek(offset);
            access.write(value ^ 1);
        }
    }

    /**
     * Where the data of the first record {@code data/N} of this size begins in a PyTorch archive.
     *
     * <p>The content of a stored record is unique in these files, so it is found by searching for it.
     */
    static long dataOffset(Path file, long size) throws IOException {
        byte[] all = Files.readAllBytes(file);
        try (ZipFile zip = new ZipFile(file.toFile())) {
            Enumeration<? extends ZipEntry> entries = zip.entries();
            while (entries.hasMoreElements()) {
                ZipEntry entry = entries.nextElement();
                if (entry.getName().matches(".*/data/\\d+") && entry.getSize() >= 64 && entry.getSize() <= size) {
                    return indexOf(all, zip.getInputStream(entry).readAllBytes());
                }
            }
        }
        throw new IOException("no record of at most " + size + " bytes in " + file);
    }

    private static long indexOf(byte[] all, byte[] part) {
        for (int at = 0; at <= all.length - part.length; at++) {
            if (java.util.Arrays.equals(all, at, at + part.length, part, 0, part.length)) {
                return at;
            }
        }
        throw new AssertionError("the record is not stored as it is");
    }
}
