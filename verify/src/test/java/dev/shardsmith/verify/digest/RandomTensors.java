package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/** Random tensors cut into pieces that are stored with random strides, apart from each other. */
public final class RandomTensors {
    private RandomTensors() {}

    /** A shape of up to four dimensions and at most {@code most} elements. */
    public static Shape shape(RandomGenerator random, int most) {
        long[] sizes = new long[random.nextInt(5)];
        long room = most;
        for (int dim = 0; dim < sizes.length; dim++) {
            sizes[dim] = 1 + random.nextLong(Math.max(1, Math.min(room, dim == 0 ? room : 300)));
            room /= sizes[dim];
        }
        return Shape.of(sizes);
    }

    /** The tensor with these row-major, little-endian elements, cut and stored in a random way. */
    public static LogicalTensor scatter(String name, DType dtype, Shape shape, byte[] elements, RandomGenerator random)
            throws CheckpointException {
        StoredTensor whole = StoredTensor.contiguous(name, dtype, shape, ByteSource.of(name, elements), 0);
        List<Piece> pieces = new ArrayList<>();
        List<Box> boxes = new ArrayList<>(List.of(Box.whole(shape)));
        for (int cut = random.nextInt(5); cut > 0 && shape.rank() > 0; cut--) {
            Box box = boxes.remove(random.nextInt(boxes.size()));
            int dim = random.nextInt(shape.rank());
            long at = box.size()[dim] < 2 ? box.size()[dim] : random.nextLong(box.size()[dim]);
            boxes.add(part(box, dim, 0, at));
            boxes.add(part(box, dim, at, box.size()[dim] - at));
            boxes.removeIf(empty -> empty.elements() == 0);
        }
        for (Box box : boxes) {
            pieces.add(new Piece(box.offset(), store(whole.narrow(box.offset(), box.size()), random)));
        }
        return LogicalTensor.of(name, dtype, shape, "random", pieces, List.of());
    }

    private static Box part(Box box, int dim, long start, long length) {
        long[] offset = box.offset().clone();
        long[] size = box.size().clone();
        offset[dim] += start;
        size[dim] = length;
        return new Box(offset, size);
    }

    /** A copy of a view in a buffer of its own: dimensions in random order, gaps between them, either byte order. */
    private static StoredTensor store(StoredTensor view, RandomGenerator random) throws CheckpointException {
        int rank = view.shape().rank();
        List<Integer> order = new ArrayList<>();
        for (int dim = 0; dim < rank; dim++) {
            order.add(random.nextBoolean() ? order.size() : random.nextInt(order.size() + 1), dim);
        }
        long[] strides = new long[rank];
        long stride = 1 + random.nextInt(2);
        for (int i = rank - 1; i >= 0; i--) {
            strides[order.get(i)] = stride;
            stride = stride * view.shape().size(order.get(i)) + random.nextInt(3);
        }
        int unit = view.dtype().byteSize();
        int offset = random.nextInt(50);
        ByteOrder byteOrder = random.nextInt(4) == 0 ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        byte[] bytes = new byte[Math.toIntExact(offset + (stride + 2) * unit)];
        random.nextBytes(bytes);
        long[] index = new long[rank];
        for (long element = 0; element < view.shape().elements(); element++) {
            long rest = element;
            long from = 0;
            long to = 0;
            for (int dim = rank - 1; dim >= 0; dim--) {
                index[dim] = rest % view.shape().size(dim);
                rest /= view.shape().size(dim);
                from += index[dim] * view.strides()[dim];
                to += index[dim] * strides[dim];
            }
            copy(view, from, bytes, Math.toIntExact(offset + to * unit), unit, byteOrder);
        }
        return StoredTensor.checked(
                "piece", view.dtype(), view.shape(), strides, ByteSource.of("piece", bytes), offset, byteOrder);
    }

    private static void copy(StoredTensor view, long from, byte[] to, int at, int unit, ByteOrder order) {
        try {
            byte[] element = view.source().readBytes(view.offset() + from * unit, unit);
            int swap = view.dtype().swapUnit();
            for (int i = 0; i < unit; i++) {
                int place = order == ByteOrder.BIG_ENDIAN ? i / swap * swap + swap - 1 - i % swap : i;
                to[at + place] = element[i];
            }
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
