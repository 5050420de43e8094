package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;

/**
 * A copy of a tensor, or of a part of one, on another rank that does not hold the tensor's elements.
 *
 * @param tensor the tensor's name
 * @param part the part of the tensor that it should hold
 * @param copy where its elements are stored
 * @param element its first element with other bits
 */
public record UnequalCopy(String tensor, Box part, StoredTensor copy, StoredTensor element) {
    /** All copies of tensors that differ from them in a bit, in the order of the tensors; reads them. */
    public static List<UnequalCopy> of(Collection<LogicalTensor> tensors, int workers) throws IOException {
        return of(tensors, copy -> true, workers);
    }

    /** As {@link #of(Collection, int)}, of the copies that {@code compared} takes. */
    static List<UnequalCopy> of(Collection<LogicalTensor> tensors, Predicate<StoredTensor> compared, int workers)
            throws IOException {
        List<UnequalCopy> found = new ArrayList<>();
        List<Callable<List<UnequalCopy>>> tasks = new ArrayList<>();
        for (LogicalTensor tensor : tensors) {
            if (!tensor.replicas().isEmpty()) {
                tasks.add(() -> of(tensor, Box.whole(tensor.shape()), compared));
            }
        }
        try (OrderedWork work = new OrderedWork(workers)) {
            work.inOrder(tasks.iterator(), found::addAll);
        }
        return found;
    }

    /** All copies of what a tensor holds in a box that differ from it in a bit; reads them. */
    public static List<UnequalCopy> of(LogicalTensor tensor, Box within) throws IOException {
        return of(tensor, within, copy -> true);
    }

    private static List<UnequalCopy> of(LogicalTensor tensor, Box within, Predicate<StoredTensor> compared)
            throws IOException {
        List<UnequalCopy> found = new ArrayList<>();
        for (Piece replica : tensor.replicas()) {
            Optional<Box> common = replica.box().intersect(within);
            if (common.isPresent() && compared.test(replica.data())) {
                Box part = common.get();
                StoredTensor data = part.equals(replica.box()) ? replica.data() : replica.view(part);
                firstDifference(part(tensor, part), data)
                        .ifPresent(element -> found.add(new UnequalCopy(tensor.name(), part, data, element)));
            }
        }
        return found;
    }

    /** What a tensor holds in a box, as a tensor of its own. */
    public static LogicalTensor part(LogicalTensor tensor, Box box) throws IOException {
        List<Piece> inside = new ArrayList<>();
        for (Piece piece : tensor.pieces()) {
            Optional<Box> common = piece.box().intersect(box);
            if (common.isPresent()) {
                inside.add(new Piece(common.get().relativeTo(box.offset()).offset(), piece.view(common.get())));
            }
        }
        return LogicalTensor.of(tensor.name(), tensor.dtype(), box.shape(), "", inside, List.of());
    }

    private static Optional<StoredTensor> firstDifference(LogicalTensor expected, StoredTensor copy)
            throws IOException {
        TensorReading right = TensorReading.of(expected);
        TensorReading left = TensorReading.of(expected.name(), copy);
        BlockReader reader = BlockReader.ofThisThread();
        ByteBuffer a = left.buffer(reader, 0);
        ByteBuffer b = right.buffer(reader, 1);
        for (long block = 0; block < left.grid().blocks(); block++) {
            left.read(reader, block, a);
            right.read(reader, block, b);
            int mismatch = a.mismatch(b);
            if (mismatch >= 0) {
                long element = left.grid().firstElement(block)
                        + mismatch / left.dtype().byteSize();
                return Optional.of(copy.dtype().byteAligned() ? one(copy, element) : copy);
            }
        }
        return Optional.empty();
    }

    private static StoredTensor one(StoredTensor copy, long element) throws IOException {
        long[] index = copy.shape().index(element);
        long[] size = new long[index.length];
        Arrays.fill(size, 1);
        return copy.narrow(index, size);
    }

    /** The file that holds it, if it lies in one. */
    public Optional<Path> file() {
        return copy.source().inFile().map(ByteSource.FileRange::file);
    }

    /** Where in that file its first element with other bits begins. */
    public long offset() {
        return copy.source().inFile().map(ByteSource.FileRange::offset).orElse(0L) + element.offset();
    }

    /** Bytes of that element. */
    public long length() {
        return element.endOffset() - element.offset();
    }

    /** Part and digest: two copies with equal ones hold the same. */
    public String content() throws IOException {
        TensorReading reading = TensorReading.of("", copy);
        return part + " " + TensorDigest.of(reading, BlockReader.ofThisThread()).sha256Hex();
    }
}
