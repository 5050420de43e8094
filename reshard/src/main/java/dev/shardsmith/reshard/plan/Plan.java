package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.FileImage;
import java.util.ArrayList;
import java.util.List;

/**
 * A conversion, ready to be executed.
 *
 * @param files every file of the target, paths relative to the output
 * @param moves what fills their slots, one entry a logical tensor
 * @param ledger the proof
 * @param dropped what the target does not get
 * @param notes what a user should know: rules used, guesses made
 * @param singleFile true if the output is the one file in {@code files} and no folder
 */
public record Plan(
        List<FileImage> files,
        List<TensorMove> moves,
        Ledger ledger,
        List<Dropped> dropped,
        List<String> notes,
        boolean singleFile) {
    /** A plan; the lists are copied. */
    public Plan {
        files = List.copyOf(files);
        moves = List.copyOf(moves);
        dropped = List.copyOf(dropped);
        notes = List.copyOf(notes);
    }

    /** Bytes of all target files. */
    public long bytes() {
        long bytes = 0;
        for (FileImage file : files) {
            bytes = Math.addExact(bytes, file.size());
        }
        return bytes;
    }

    /** The same plan with something more of the source that the target does not get. */
    public Plan withDropped(Dropped what) {
        List<Dropped> more = new ArrayList<>(dropped);
        more.add(what);
        return new Plan(files, moves, ledger, more, notes, singleFile);
    }

    /** The same plan with something more that a user should know. */
    public Plan withNote(String note) {
        List<String> more = new ArrayList<>(notes);
        more.add(note);
        return new Plan(files, moves, ledger, dropped, more, singleFile);
    }
}
