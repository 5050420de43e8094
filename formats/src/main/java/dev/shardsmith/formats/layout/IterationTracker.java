package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.io.InputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Megatron's tracker file, which names the latest finished iteration, and the folders that it speaks of. */
final class IterationTracker {
    static final String FILE = "latest_checkpointed_iteration.txt";

    private static final String RELEASE = "release";

    /** A number and white space; more is no tracker. */
    private static final int MAX_BYTES = 4096;

    private static final Pattern FOLDER = Pattern.compile("iter_(\\d{7,18})");

    private final FolderListing root;

    IterationTracker(FolderListing root) {
        this.root = root;
    }

    /** The iteration of a folder's name, if it has one. */
    static OptionalLong iterationOf(String folder) {
        Matcher name = FOLDER.matcher(folder);
        return name.matches() ? OptionalLong.of(Long.parseLong(name.group(1))) : OptionalLong.empty();
    }

    static boolean isRelease(String folder) {
        return folder.equals(RELEASE);
    }

    /** Names of the iterations' folders in the root. */
    List<String> folders() {
        return root.names().stream()
                .filter(name -> iterationOf(name).isPresent() || isRelease(name))
                .filter(root::isFolder)
                .toList();
    }

    /** The folder of an iteration that was asked for. */
    Path folderOf(long iteration) throws IOException {
        String name = String.format(Locale.ROOT, "iter_%07d", iteration);
        if (!root.isFolder(name)) {
            throw problem("iteration " + iteration + " was asked for, but there is no folder " + name);
        }
        return root.inside(name);
    }

    /** The folder that the tracker names. */
    Path latest() throws IOException {
        if (!root.has(FILE)) {
            throw problem("the tracker " + FILE + " is missing")
                    .withHint("name the iteration's folder itself, or pass --iteration N");
        }
        String text = read().strip();
        if (text.isEmpty()) {
            throw problem("the tracker " + FILE + " is empty").withHint("pass --iteration N");
        }
        String name;
        if (text.equals(RELEASE)) {
            name = RELEASE;
        } else if (text.matches("\\d+") && new BigInteger(text).bitLength() < Long.SIZE) {
            name = String.format(Locale.ROOT, "iter_%07d", Long.parseLong(text));
        } else {
            String shown = text.length() > 40 ? text.substring(0, 40) + "…" : text;
            throw problem("the tracker " + FILE + " holds '" + shown + "', which is neither a number nor 'release'")
                    .withHint("pass --iteration N");
        }
        if (!root.isFolder(name)) {
            throw problem("the tracker " + FILE + " says " + text + ", but there is no folder " + name)
                    .withHint("pass --iteration N for one of those that are there");
        }
        return root.inside(name);
    }

    private String read() throws IOException {
        Path file = root.inside(FILE);
        if (!Files.isRegularFile(file)) {
            throw problem("the tracker " + FILE + " is not a regular file");
        }
        try (InputStream in = Files.newInputStream(file)) {
            return new String(in.readNBytes(MAX_BYTES), StandardCharsets.UTF_8);
        }
    }

    private CheckpointException problem(String what) {
        List<String> folders = folders();
        String there = folders.isEmpty() ? "no iteration is there" : "there are: " + FolderListing.some(folders);
        return CheckpointException.of(
                CheckpointException.Kind.INCOMPLETE, root.folder().toString(), what + "; " + there);
    }
}
