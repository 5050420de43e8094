package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;

/** Collects the problems of a zip archive, or fails at the first that matters. */
final class ZipFindings {
    private final String source;
    private final boolean strict;
    private final List<ZipProblem> problems = new ArrayList<>();

    ZipFindings(String source, boolean strict) {
        this.source = source;
        this.strict = strict;
    }

    List<ZipProblem> problems() {
        return problems;
    }

    void report(ZipProblem.Kind kind, String record, long offset, String text) throws CheckpointException {
        if (strict && kind.fatal()) {
            throw CheckpointException.malformed(source, offset, text);
        }
        problems.add(new ZipProblem(kind, record, offset, text));
    }
}
