package dev.shardsmith.verify.diff;

import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongFunction;
import java.util.stream.LongStream;

/**
 * Compares two tensors of one shape, first their bits and, if those differ, their values.
 *
 * <p>The work is cut in spans of a fixed number of blocks; each span is done by one thread and the results are merged in
 * order.
 */
final class PairComparer {
    /** Blocks in a span: enough work for a task, few enough that a tensor is spread over the threads. */
    private static final long SPAN = 16;

    private final TensorReading left;
    private final TensorReading right;
    private final Comparers comparers;
    private final AtomicBoolean foundDifference = new AtomicBoolean();
    private final SpanMaxima maxima = new SpanMaxima();

    PairComparer(TensorReading left, TensorReading right, Comparers comparers) {
        this.left = left;
        this.right = right;
        this.comparers = comparers;
    }

    private long spans() {
        return (left.grid().blocks() + SPAN - 1) / SPAN;
    }

    /** Compares on the calling thread; empty if all bits are the same. */
    Optional<TensorComparison> here() throws IOException {
        if (bitsComparable() && left.grid().blocks() == 1) {
            return blockHere();
        }
        if (bitsComparable()) {
            boolean same = true;
            for (long span = 0; span < spans() && same; span++) {
                same = sameBits(span);
            }
            if (same) {
                return Optional.empty();
            }
        }
        TensorComparison whole = new TensorComparison();
        for (long span = 0; span < spans(); span++) {
            whole.merge(values(span));
        }
        return Optional.of(whole.complete());
    }

    /** A tensor of one block is read once, for its bits and its values. */
    private Optional<TensorComparison> blockHere() throws IOException {
        BlockReader reader = BlockReader.ofThisThread();
        ByteBuffer a = left.buffer(reader, 0);
        ByteBuffer b = right.buffer(reader, 1);
        left.read(reader, 0, a);
        right.read(reader, 0, b);
        if (a.mismatch(b) < 0) {
            return Optional.empty();
        }
        TensorComparison result = new TensorComparison();
        Optional<BlockComparer> comparer = comparers.take(left.dtype(), right.dtype());
        compare(comparer, a, b, 0, result);
        finish(comparer, result);
        return Optional.of(result.complete());
    }

    /** Compares on several threads; empty if all bits are the same. */
    Optional<TensorComparison> on(OrderedWork work) throws IOException {
        if (bitsComparable()) {
            work.inOrder(tasks(span -> () -> foundDifference.get() || sameBits(span)), same -> {});
            if (!foundDifference.get()) {
                return Optional.empty();
            }
        }
        TensorComparison whole = new TensorComparison();
        work.inOrder(tasks(span -> () -> values(span)), whole::merge);
        return Optional.of(whole.complete());
    }

    private <T> Iterator<Callable<T>> tasks(LongFunction<Callable<T>> task) {
        return LongStream.range(0, spans()).mapToObj(task).iterator();
    }

    private boolean bitsComparable() {
        return left.dtype() == right.dtype();
    }

    private boolean sameBits(long span) throws IOException {
        BlockReader reader = BlockReader.ofThisThread();
        ByteBuffer a = left.buffer(reader, 0);
        ByteBuffer b = right.buffer(reader, 1);
        long end = Math.min(left.grid().blocks(), (span + 1) * SPAN);
        for (long block = span * SPAN; block < end; block++) {
            left.read(reader, block, a);
            right.read(reader, block, b);
            if (a.mismatch(b) >= 0) {
                foundDifference.set(true);
                return false;
            }
        }
        return true;
    }

    private TensorComparison values(long span) throws IOException {
        BlockReader reader = BlockReader.ofThisThread();
        // Both sides are cut by the left side's grid: blocks have to hold the same elements.
        TensorReading cut = right.cutAs(left);
        ByteBuffer a = left.buffer(reader, 0);
        ByteBuffer b = cut.buffer(reader, 1);
        TensorComparison result = new TensorComparison();
        maxima.startWith(result);
        Optional<BlockComparer> comparer = comparers.take(left.dtype(), right.dtype());
        long end = Math.min(left.grid().blocks(), (span + 1) * SPAN);
        for (long block = span * SPAN; block < end; block++) {
            left.read(reader, block, a);
            cut.read(reader, block, b);
            compare(comparer, a, b, left.grid().firstElement(block), result);
        }
        finish(comparer, result);
        maxima.add(result);
        return result;
    }

    private void compare(
            Optional<BlockComparer> comparer, ByteBuffer a, ByteBuffer b, long first, TensorComparison result) {
        int elements = a.remaining() / left.dtype().byteSize();
        if (comparer.isPresent()) {
            comparer.get().compare(a, b, elements, first, result);
        } else {
            RawBits.compare(a, b, elements, first, result);
        }
    }

    private void finish(Optional<BlockComparer> comparer, TensorComparison result) {
        if (comparer.isPresent()) {
            comparer.get().drainTo(result);
            comparers.giveBack(comparer.get());
        }
    }
}
