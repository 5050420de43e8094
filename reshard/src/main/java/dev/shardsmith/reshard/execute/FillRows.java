package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.HashMap;
import java.util.Map;

/**
 * Makes up the elements that no source has. All rows (indices of the first dimension) of a fill are equal, so one row is
 * computed when it is first needed and kept.
 */
final class FillRows {
    /** A row of a vocabulary matrix is a hidden size long; this bounds the memory for anything else. */
    private static final long LONGEST_ROW = 4L << 20;

    private final Buffers buffers;
    private final BandAssembler assembler;
    private final Map<Key, ByteBuffer> rows = new HashMap<>();

    private record Key(int move, Box box, DType dtype) {}

    FillRows(int bufferBytes) {
        this.buffers = new Buffers(bufferBytes);
        this.assembler = new BandAssembler(buffers, SourceChecks.NONE);
    }

    /** Puts the elements of {@code part} of a fill into a band's buffer. */
    void put(PreparedMove move, Fill fill, Box part, BandRegion region, DType dtype, ByteBuffer band)
            throws IOException {
        int bytes = dtype.byteSize();
        switch (fill.mode()) {
            case ZERO -> region.forEachRun((at, count) -> zero(band, at * bytes, count * bytes));
            case REPEAT_LAST, MEAN -> {
                ByteBuffer row = row(move, fill, dtype).duplicate().order(ByteOrder.LITTLE_ENDIAN);
                long[] strides = rowBox(fill.box(), 0).shape().rowMajorStrides();
                strides[0] = 0;
                long first = 0;
                for (int dim = 1; dim < strides.length; dim++) {
                    first += (part.offset()[dim] - fill.box().offset()[dim]) * strides[dim];
                }
                StridedLoop loop = StridedLoop.of(part.size(), strides, region.strides(), bytes);
                loop.gather(
                        0, loop.depth() > 0 ? loop.size(0) : 1, row, (int) first * bytes, band, region.start() * bytes);
            }
        }
    }

    private static void zero(ByteBuffer band, int at, int length) {
        for (int i = at; i < at + length; i++) {
            band.put(i, (byte) 0);
        }
    }

    private synchronized ByteBuffer row(PreparedMove move, Fill fill, DType dtype) throws IOException {
        Key key = new Key(move.number(), fill.box(), dtype);
        ByteBuffer row = rows.get(key);
        if (row == null) {
            row = compute(move, fill, dtype);
            rows.put(key, row);
        }
        return row;
    }

    private ByteBuffer compute(PreparedMove move, Fill fill, DType dtype) throws IOException {
        if (fill.box().rank() == 0 || fill.box().offset()[0] == 0) {
            throw refused(move, "there is no row before the padding to make it from");
        }
        long last = fill.box().offset()[0] - 1;
        long elements = rowBox(fill.box(), last).elements();
        if (elements > LONGEST_ROW) {
            throw refused(move, "a row of " + elements + " elements is too long to be made up");
        }
        ByteBuffer row = ByteBuffer.allocate((int) dtype.bytes(elements)).order(ByteOrder.LITTLE_ENDIAN);
        if (fill.mode() == Fill.Mode.REPEAT_LAST) {
            read(
                    move,
                    rowBox(fill.box(), last),
                    dtype,
                    (bytes, count, at) -> row.put(at * dtype.byteSize(), bytes, 0, count * dtype.byteSize()));
        } else {
            putMean(move, fill.box(), (int) elements, dtype, row);
        }
        return row;
    }

    /** A first pass gives the mean up to rounding, a second one adds the mean of what is left. */
    private void putMean(PreparedMove move, Box box, int elements, DType dtype, ByteBuffer row) throws IOException {
        DType stored = move.sourceType().orElse(dtype);
        if (stored.kind() != DType.Kind.FLOAT || !ElementCast.isArithmetic(dtype)) {
            throw refused(move, "there is no mean of elements of type " + stored.torchName());
        }
        long rows = box.offset()[0];
        double[] mean = new double[elements];
        for (int pass = 0; pass < 2; pass++) {
            double[] sum = new double[elements];
            for (long index = 0; index < rows; index++) {
                addRow(move, rowBox(box, index), stored, mean, sum);
            }
            for (int i = 0; i < elements; i++) {
                // Where the values are infinite there is nothing to correct.
                mean[i] += pass == 0 || Double.isFinite(sum[i]) ? sum[i] / rows : 0;
            }
        }
        for (int i = 0; i < elements; i++) {
            ElementCast.put(dtype, row, i * dtype.byteSize(), mean[i]);
        }
    }

    private void addRow(PreparedMove move, Box row, DType stored, double[] mean, double[] sum) throws IOException {
        FloatDecoder decoder = FloatDecoder.of(stored);
        read(move, row, stored, (bytes, count, at) -> {
            for (int i = 0; i < count; i++) {
                sum[at + i] += decoder.decode(bytes, i * stored.byteSize()) - mean[at + i];
            }
        });
    }

    @FunctionalInterface
    private interface Chunk {
        /** Takes {@code count} elements, which begin at element {@code at} of the box. */
        void accept(ByteBuffer bytes, int count, int at);
    }

    /** Reads a box in chunks that are contiguous in its row-major order. */
    private void read(PreparedMove move, Box box, DType type, Chunk action) throws IOException {
        checkCovered(move, box);
        long widest = type.byteSize();
        for (Piece source : move.sources()) {
            widest = Math.max(widest, source.data().dtype().byteSize());
        }
        Shape shape = box.shape();
        Bands chunks = Bands.rows(shape, buffers.capacity() / widest);
        int at = 0;
        for (long chunk = 0; chunk < chunks.count(); chunk++) {
            Box part = chunks.box(chunk);
            long[] offset = part.offset().clone();
            for (int dim = 0; dim < offset.length; dim++) {
                offset[dim] += box.offset()[dim];
            }
            Box moved = new Box(offset, part.size());
            ByteBuffer bytes = assembler.assemble(move, moved, type, new WorkResult());
            int count = (int) moved.elements();
            action.accept(bytes, count, at);
            at += count;
        }
    }

    private static void checkCovered(PreparedMove move, Box box) throws CheckpointException {
        long covered = 0;
        for (Piece source : move.sources()) {
            covered += source.box().intersect(box).map(Box::elements).orElse(0L);
        }
        if (covered != box.elements()) {
            throw refused(move, "the source has no elements at " + box + " to make the padding from");
        }
    }

    /** The part of the box's columns in row {@code index}. */
    private static Box rowBox(Box box, long index) {
        long[] offset = box.offset().clone();
        long[] size = box.size().clone();
        offset[0] = index;
        size[0] = 1;
        return new Box(offset, size);
    }

    private static CheckpointException refused(PreparedMove move, String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, move.tensor(), problem)
                .withHint("fill the padding with zeros instead");
    }
}
