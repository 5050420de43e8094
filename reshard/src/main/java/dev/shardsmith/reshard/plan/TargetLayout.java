package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The files of a target and, for each logical tensor, the places in them that hold it.
 *
 * <p>Filled by the writer of a layout; {@link Planner} then finds what goes there.
 */
public final class TargetLayout {
    private final List<FileImage> files = new ArrayList<>();
    private final Map<String, List<Piece>> pieces = new LinkedHashMap<>();
    private final Map<String, List<StateTensor>> states = new LinkedHashMap<>();
    private final List<Dropped> dropped = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private boolean singleFile;

    /**
     * A tensor outside of the model that is copied whole, such as a generator's state.
     *
     * @param source where it lies
     * @param target a slot for it
     */
    public record StateTensor(StoredTensor source, StoredTensor target) {}

    /** A row-major view of a whole slot. */
    public static StoredTensor slot(String file, String key, DType dtype, Shape shape) throws CheckpointException {
        TargetSlot slot = new TargetSlot(file, key, dtype.bytes(shape.elements()));
        return StoredTensor.contiguous(key, dtype, shape, slot, 0);
    }

    /** Adds a file; its slots must be named as the views that were given out for it. */
    public void addFile(FileImage file) {
        files.add(file);
    }

    /** Adds a place that holds a box of a logical tensor, under its name in the target model. */
    public void addPiece(String tensor, Piece piece) {
        pieces.merge(tensor, List.of(piece), TargetLayout::joined);
    }

    /** Most tensors have one place, which takes a list of one. */
    private static List<Piece> joined(List<Piece> known, List<Piece> further) {
        List<Piece> both = known.size() == 1 ? new ArrayList<>(known) : known;
        both.addAll(further);
        return both;
    }

    /** Adds a tensor of the state under a name for messages. */
    public void addState(String name, StateTensor tensor) {
        states.computeIfAbsent(name, key -> new ArrayList<>()).add(tensor);
    }

    /** Notes something that the target does not get. */
    public void addDropped(Dropped what) {
        dropped.add(what);
    }

    /** Notes something that a user should know. */
    public void addNote(String note) {
        if (!notes.contains(note)) {
            notes.add(note);
        }
    }

    /** Says that the output is the one file of this layout. */
    public void setSingleFile() {
        singleFile = true;
    }

    List<FileImage> files() {
        return files;
    }

    Map<String, List<Piece>> pieces() {
        return pieces;
    }

    Map<String, List<StateTensor>> states() {
        return states;
    }

    List<Dropped> dropped() {
        return dropped;
    }

    List<String> notes() {
        return notes;
    }

    boolean singleFile() {
        return singleFile;
    }
}
