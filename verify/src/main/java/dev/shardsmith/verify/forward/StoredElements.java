package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The elements of a weight as runs of adjacent elements in files, in the order of the weight.
 *
 * <p>Parts, rows and concatenations of runs are runs again and cost no reading, so that of a weight only what is needed is
 * read, and its bytes can go to a device as they lie in the file.
 */
public final class StoredElements {
    /** A list of more runs than this costs more than it saves. */
    private static final int MOST_RUNS = 1 << 16;

    /** Adjacent elements: {@code elements} of them from byte {@code offset} of the tensor's source. */
    private record Run(String name, StoredTensor tensor, long offset, int elements, List<Rounding> roundings) {

        Run part(int from, int count) {
            return new Run(name, tensor, offset + tensor.dtype().bytes(from), count, roundings);
        }

        Run rounded(Rounding rounding) {
            List<Rounding> all = new ArrayList<>(roundings);
            all.add(rounding);
            return new Run(name, tensor, offset, elements, List.copyOf(all));
        }
    }

    /** Hears of every reading of bytes. */
    @FunctionalInterface
    public interface Observer {
        /** Some bytes were read between two times of {@link System#nanoTime}. */
        void read(long from, long to, long bytes);
    }

    private final List<Run> runs;
    /** For each run the number of elements before it; then that of all. */
    private final int[] starts;

    private final Observer observer;

    private StoredElements(List<Run> runs, Observer observer) {
        this.runs = runs;
        this.observer = observer;
        this.starts = new int[runs.size() + 1];
        for (int i = 0; i < runs.size(); i++) {
            starts[i + 1] = Math.addExact(starts[i], runs.get(i).elements());
        }
    }

    /**
     * The elements of a view in row-major order; nothing if they lie too scattered.
     *
     * @param name for error messages
     */
    public static Optional<StoredElements> of(String name, StoredTensor tensor) {
        int elements = Math.toIntExact(tensor.shape().elements());
        int adjacent = adjacent(tensor);
        if (elements / Math.max(1, adjacent) > MOST_RUNS) {
            return Optional.empty();
        }
        List<Run> runs = new ArrayList<>();
        collect(name, tensor, runs);
        return Optional.of(new StoredElements(List.copyOf(runs), (from, to, bytes) -> {}));
    }

    /** Elements of the innermost dimensions that lie one after the other. */
    private static int adjacent(StoredTensor tensor) {
        long count = 1;
        for (int dim = tensor.shape().rank() - 1; dim >= 0; dim--) {
            if (tensor.shape().size(dim) != 1 && tensor.strides()[dim] != count) {
                break;
            }
            count *= tensor.shape().size(dim);
        }
        return Math.toIntExact(count);
    }

    /** As deep as the tensor has dimensions. */
    private static void collect(String name, StoredTensor view, List<Run> runs) {
        if (view.isRowMajor()) {
            runs.add(new Run(
                    name, view, view.offset(), Math.toIntExact(view.shape().elements()), List.of()));
            return;
        }
        for (long i = 0; i < view.shape().size(0); i++) {
            collect(name, view.select(0, i), runs);
        }
    }

    /** Weights one after the other; at least one. */
    public static StoredElements concat(List<StoredElements> parts) {
        List<Run> runs = new ArrayList<>();
        for (StoredElements part : parts) {
            runs.addAll(part.runs);
        }
        return new StoredElements(List.copyOf(runs), parts.get(0).observer);
    }

    /** The same elements; the observer hears of their reading. */
    public StoredElements observed(Observer other) {
        return new StoredElements(runs, other);
    }

    /** The same elements, rounded to a type after all else. */
    StoredElements rounded(Rounding rounding) {
        return new StoredElements(
                runs.stream().map(run -> run.rounded(rounding)).toList(), observer);
    }

    /** How many there are. */
    public int elements() {
        return starts[runs.size()];
    }

    /** Elements [from, from + count). */
    StoredElements part(int from, int count) {
        List<Run> some = new ArrayList<>();
        add(from, count, some);
        return new StoredElements(List.copyOf(some), observer);
    }

    /** Rows of {@code rowWidth} elements, in the given order. */
    StoredElements rows(int rowWidth, int[] rows) {
        List<Run> some = new ArrayList<>();
        for (int row = 0; row < rows.length; ) {
            int end = row + 1;
            while (end < rows.length && rows[end] == rows[end - 1] + 1) {
                end++;
            }
            add(Math.multiplyExact(rows[row], rowWidth), Math.multiplyExact(end - row, rowWidth), some);
            row = end;
        }
        return new StoredElements(List.copyOf(some), observer);
    }

    private void add(int from, int count, List<Run> to) {
        if (from < 0 || count < 0 || from > elements() - count) {
            throw new IndexOutOfBoundsException("[" + from + ", +" + count + ") of " + elements() + " elements");
        }
        int run = count == 0 ? 0 : runAt(from);
        for (int at = from; at < from + count; run++) {
            int most = Math.min(from + count, starts[run + 1]) - at;
            to.add(runs.get(run).part(at - starts[run], most));
            at += most;
        }
    }

    /** The run that holds an element; empty runs hold none. */
    private int runAt(int element) {
        int low = 0;
        int high = runs.size() - 1;
        while (low < high) {
            int middle = (low + high + 1) >>> 1;
            if (starts[middle] <= element) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        return low;
    }

    /** The type of the elements if all are of one type and their bytes mean what they say, lowest byte first, unrounded. */
    public Optional<DType> plain() {
        if (runs.isEmpty()) {
            return Optional.empty();
        }
        DType dtype = runs.get(0).tensor().dtype();
        boolean plain = runs.stream().allMatch(run -> run.roundings().isEmpty() && isPlain(run.tensor(), dtype));
        return plain ? Optional.of(dtype) : Optional.empty();
    }

    private static boolean isPlain(StoredTensor view, DType dtype) {
        return view.dtype() == dtype && view.order() == ByteOrder.LITTLE_ENDIAN && !view.negative();
    }

    /** Fills a buffer with the bytes of the elements from {@code from} on; {@link #plain} ones only. */
    public void bytes(int from, ByteBuffer target) throws IOException {
        int size = plain().orElseThrow().byteSize();
        for (Run run : part(from, target.remaining() / size).runs) {
            ByteBuffer some = target.slice().limit(run.elements() * size);
            long start = System.nanoTime();
            run.tensor().source().read(run.offset(), some);
            observer.read(start, System.nanoTime(), (long) run.elements() * size);
            target.position(target.position() + run.elements() * size);
        }
    }

    /** All elements as numbers. */
    float[] load() throws IOException {
        float[] values = new float[elements()];
        load(new ElementReader(), values, 0);
        return values;
    }

    /** Puts all elements, as numbers, into an array from index {@code at} on. */
    void load(ElementReader reader, float[] values, int at) throws IOException {
        for (int i = 0; i < runs.size(); i++) {
            Run run = runs.get(i);
            int first = at + starts[i];
            reader.read(run.name(), run.tensor(), run.offset(), run.elements(), values, first, observer);
            for (Rounding rounding : run.roundings()) {
                rounding.apply(values, first, run.elements());
            }
        }
    }
}
