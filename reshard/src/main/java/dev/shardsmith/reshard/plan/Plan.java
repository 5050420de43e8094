package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.FileImage;
import dev.shardsmith.reshard.region.Piece;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

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

    /** Every file that the moves read, once, in the order of the moves. */
    public Set<Path> sourceFiles() {
        Set<Path> read = new LinkedHashSet<>();
        for (TensorMove move : moves) {
            for (List<Piece> pieces : List.of(move.sources(), move.replicas())) {
                for (Piece piece : pieces) {
                    piece.data().source().inFile().ifPresent(range -> read.add(range.file()));
                }
            }
        }
        return read;
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
