package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.util.List;

/**
 * A tensor of the undivided model.
 *
 * <p>Name, type and shape are known at once. Its pieces may have to be looked up in the files first, because a distributed
 * checkpoint keeps each chunk in an archive of its own.
 */
public final class LogicalTensor {
    /** The views that hold a tensor's elements. */
    @FunctionalInterface
    public interface Pieces {
        /** Finds the views; opens files, but reads no element. */
        List<Piece> find() throws IOException;
    }

    private final String name;
    private final DType dtype;
    private final Shape shape;
    private final String division;
    private final Pieces pieces;
    private final Pieces replicas;
    /** What was found last, as long as somebody uses it: of a million tensors it would be most of the memory. */
    private WeakReference<List<Piece>> found;

    private LogicalTensor(String name, DType dtype, Shape shape, String division, Pieces pieces, Pieces replicas) {
        this.name = name;
        this.dtype = dtype;
        this.shape = shape;
        this.division = division;
        this.pieces = pieces;
        this.replicas = replicas;
    }

    /**
     * A tensor whose pieces are known.
     *
     * @param name canonical name
     * @param dtype element type as stored
     * @param shape sizes of the undivided tensor
     * @param division how the source divides it, in words
     * @param pieces views that together hold every element exactly once
     * @param replicas further views of elements that {@code pieces} hold already; a sound checkpoint has equal bytes there
     */
    public static LogicalTensor of(
            String name, DType dtype, Shape shape, String division, List<Piece> pieces, List<Piece> replicas) {
        List<Piece> first = List.copyOf(pieces);
        List<Piece> further = List.copyOf(replicas);
        return new LogicalTensor(name, dtype, shape, division, () -> first, () -> further);
    }

    /** A tensor without replicas whose pieces are looked up when they are asked for, once for all who use them at a time. */
    public static LogicalTensor lazy(String name, DType dtype, Shape shape, String division, Pieces pieces) {
        return new LogicalTensor(name, dtype, shape, division, pieces, List::of);
    }

    /** A tensor that one view holds whole. */
    public static LogicalTensor whole(String name, StoredTensor data) {
        return lazy(name, data.dtype(), data.shape(), "whole", () -> List.of(Piece.whole(data)));
    }

    /** Canonical name. */
    public String name() {
        return name;
    }

    /** Element type as stored. */
    public DType dtype() {
        return dtype;
    }

    /** Sizes of the undivided tensor. */
    public Shape shape() {
        return shape;
    }

    /** How the source divides it, in words. */
    public String division() {
        return division;
    }

    /** Bytes of its elements. */
    public long bytes() {
        return dtype.bytes(shape.elements());
    }

    /** Views that together hold every element exactly once. */
    public synchronized List<Piece> pieces() throws IOException {
        List<Piece> known = found == null ? null : found.get();
        if (known == null) {
            known = List.copyOf(pieces.find());
            found = new WeakReference<>(known);
        }
        return known;
    }

    /** Further views of elements that {@link #pieces} hold already; a sound checkpoint has equal bytes there. */
    public List<Piece> replicas() throws IOException {
        return replicas.find();
    }

    /** The same tensor under another name. */
    public LogicalTensor named(String newName) {
        return new LogicalTensor(newName, dtype, shape, division, this::pieces, replicas);
    }

    @Override
    public String toString() {
        return name + " " + dtype.shortName() + " " + shape;
    }
}
