package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * A random logical tensor, cut at random on both sides, its parts laid out with random strides, orders of dimensions, byte
 * orders and gaps.
 */
final class RandomMove {
    private static final DType[] TYPES = {
        DType.F32, DType.BF16, DType.U8, DType.I64, DType.C128, DType.F8_E4M3FN, DType.C64, DType.BOOL
    };

    private final RandomGenerator random;
    private final PlanFixture fixture;
    private final FilePool pool;

    RandomMove(RandomGenerator random, PlanFixture fixture, FilePool pool) {
        this.random = random;
        this.fixture = fixture;
        this.pool = pool;
    }

    /** Adds a move named {@code name} to the fixture, with {@code most} elements at most. */
    void add(String name, int most) throws IOException {
        DType dtype = TYPES[random.nextInt(TYPES.length)];
        Shape shape = shape(most);
        byte[] whole = new byte[(int) dtype.bytes(shape.elements())];
        random.nextBytes(whole);
        List<Piece> sources = new ArrayList<>();
        List<Piece> replicas = new ArrayList<>();
        for (Box box : cut(shape)) {
            sources.add(stored(name, dtype, shape, whole, box));
            if (random.nextInt(4) == 0) {
                replicas.add(stored(name, dtype, shape, whole, box));
            }
        }
        List<Piece> targets = new ArrayList<>();
        for (int copies = random.nextInt(1, 3); copies > 0; copies--) {
            for (Box box : cut(shape)) {
                targets.add(target(name, dtype, shape, whole, box));
            }
            targets.addAll(joinedTarget(name, dtype, shape, whole));
        }
        fixture.add(new TensorMove(name, shape, sources, List.of(), targets, replicas));
    }

    private Shape shape(int most) {
        int rank = random.nextInt(5);
        long[] sizes = new long[rank];
        long left = most;
        for (int dim = 0; dim < rank; dim++) {
            sizes[dim] = random.nextInt(12) == 0
                    ? 1
                    : random.nextLong(1, Math.max(2, Math.min(left, 1 << random.nextInt(1, 12))));
            left = Math.max(1, left / sizes[dim]);
        }
        if (rank > 0 && random.nextInt(30) == 0) {
            sizes[random.nextInt(rank)] = 0;
        }
        return Shape.of(sizes);
    }

    /** Boxes that fill the tensor: cut along one or two dimensions at random places. */
    private List<Box> cut(Shape shape) {
        List<Box> boxes = new ArrayList<>(List.of(Box.whole(shape)));
        for (int cuts = shape.rank() == 0 ? 0 : random.nextInt(3); cuts > 0; cuts--) {
            int dim = random.nextInt(shape.rank());
            List<Box> parts = new ArrayList<>();
            for (Box box : boxes) {
                long first = box.size()[dim] < 2 ? 0 : random.nextLong(box.size()[dim]);
                long second = first + (box.size()[dim] - first) / 2;
                parts.add(part(box, dim, 0, first));
                parts.add(part(box, dim, first, second - first));
                parts.add(part(box, dim, second, box.size()[dim] - second));
            }
            boxes = parts;
        }
        return boxes;
    }

    private static Box part(Box box, int dim, long start, long length) {
        long[] offset = box.offset().clone();
        long[] size = box.size().clone();
        offset[dim] += start;
        size[dim] = length;
        return new Box(offset, size);
    }

    /** A source piece in a file of its own. */
    private Piece stored(String name, DType dtype, Shape shape, byte[] whole, Box box) throws IOException {
        long[] strides = strides(box.shape(), random.nextInt(3) == 0 ? random.nextInt(1, 4) : 1);
        int offset = random.nextInt(3) * 8;
        long span = box.elements() == 0 ? 0 : 1;
        for (int dim = 0; dim < strides.length && span > 0; dim++) {
            span += (box.size()[dim] - 1) * strides[dim];
        }
        boolean big = random.nextInt(4) == 0;
        byte[] bytes = new byte[offset + (int) dtype.bytes(span)];
        random.nextBytes(bytes);
        forEach(box, index -> {
            int from = (int) position(index, shape.rowMajorStrides()) * dtype.byteSize();
            int to = offset + (int) position(minus(index, box.offset()), strides) * dtype.byteSize();
            for (int b = 0; b < dtype.byteSize(); b++) {
                int swapped =
                        big ? b / dtype.swapUnit() * dtype.swapUnit() + dtype.swapUnit() - 1 - b % dtype.swapUnit() : b;
                bytes[to + swapped] = whole[from + b];
            }
        });
        ByteSource file = fixture.sourceFile(pool, bytes);
        ByteOrder order = big ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        return new Piece(box.offset(), StoredTensor.checked(name, dtype, box.shape(), strides, file, offset, order));
    }

    /** A target piece that is a slot of its own, with its dimensions in some order. */
    private Piece target(String name, DType dtype, Shape shape, byte[] whole, Box box) throws IOException {
        long[] strides = strides(box.shape(), 1);
        byte[] bytes = new byte[(int) dtype.bytes(box.elements())];
        copyOut(dtype, shape, whole, box, bytes, 0, strides);
        TargetSlot slot = fixture.slot(random.nextInt(fixture.files()), bytes);
        return new Piece(
                box.offset(),
                StoredTensor.checked(name, dtype, box.shape(), strides, slot, 0, ByteOrder.LITTLE_ENDIAN));
    }

    /** The whole tensor in one slot, as several pieces that lie side by side. */
    private List<Piece> joinedTarget(String name, DType dtype, Shape shape, byte[] whole) throws IOException {
        List<Piece> pieces = new ArrayList<>();
        TargetSlot slot = fixture.slot(random.nextInt(fixture.files()), whole);
        StoredTensor all = StoredTensor.contiguous(name, dtype, shape, slot, 0);
        for (Box box : cut(shape)) {
            pieces.add(new Piece(box.offset(), all.narrow(box.offset(), box.size())));
        }
        return pieces;
    }

    /** Strides of a layout without overlaps: the dimensions in random order, most often row-major; {@code gap} times as wide. */
    private long[] strides(Shape shape, int gap) {
        List<Integer> order = new ArrayList<>();
        for (int dim = shape.rank() - 1; dim >= 0; dim--) {
            order.add(random.nextInt(4) == 0 ? random.nextInt(order.size() + 1) : order.size(), dim);
        }
        long[] strides = new long[shape.rank()];
        long stride = gap;
        for (int dim : order) {
            strides[dim] = stride;
            stride *= Math.max(1, shape.size(dim));
        }
        return strides;
    }

    static void copyOut(DType dtype, Shape shape, byte[] whole, Box box, byte[] bytes, int offset, long[] strides) {
        forEach(box, index -> {
            int from = (int) position(index, shape.rowMajorStrides()) * dtype.byteSize();
            int to = offset + (int) position(minus(index, box.offset()), strides) * dtype.byteSize();
            System.arraycopy(whole, from, bytes, to, dtype.byteSize());
        });
    }

    interface Visitor {
        void visit(long[] index);
    }

    static void forEach(Box box, Visitor visitor) {
        if (box.elements() == 0) {
            return;
        }
        long[] index = box.offset().clone();
        while (true) {
            visitor.visit(index);
            int dim = index.length - 1;
            while (dim >= 0 && ++index[dim] == box.offset()[dim] + box.size()[dim]) {
                index[dim] = box.offset()[dim];
                dim--;
            }
            if (dim < 0) {
                return;
            }
        }
    }

    private static long position(long[] index, long[] strides) {
        long position = 0;
        for (int dim = 0; dim < index.length; dim++) {
            position += index[dim] * strides[dim];
        }
        return position;
    }

    private static long[] minus(long[] index, long[] origin) {
        long[] moved = Arrays.copyOf(index, index.length);
        for (int dim = 0; dim < moved.length; dim++) {
            moved[dim] -= origin[dim];
        }
        return moved;
    }
}
