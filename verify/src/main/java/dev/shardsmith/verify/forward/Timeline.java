package dev.shardsmith.verify.forward;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * When the weights of each layer were read and copied to the device, and when each layer was computed.
 *
 * <p>Safe for use by several threads. Times are seconds since the timeline was made.
 */
public final class Timeline {
    /** Pauses shorter than this do not end a span. */
    private static final double SMALLEST_GAP = 0.2e-3;

    /** What was done. */
    public enum Activity {
        /** Bytes came from files. */
        READ,
        /** Numbers went to the device, or room for them was waited for. */
        COPY,
        /** A layer ran; waiting for its weights is left out. */
        COMPUTE
    }

    /**
     * A stretch of time.
     *
     * @param activity what was done
     * @param side 0 for the first checkpoint, 1 for the second; 0 for what concerns both
     * @param label which layer
     * @param from its begin
     * @param to its end
     * @param bytes how many were read; 0 for anything else
     */
    public record Span(Activity activity, int side, String label, double from, double to, long bytes) {}

    private final long start = System.nanoTime();
    private final List<Span> spans = new ArrayList<>();

    /** Notes that something was done between two times of {@link System#nanoTime}. */
    public synchronized void add(Activity activity, int side, String label, long from, long to, long bytes) {
        double begin = (from - start) * 1e-9;
        double end = (to - start) * 1e-9;
        for (int i = spans.size() - 1; i >= 0; i--) {
            Span last = spans.get(i);
            if (last.activity() == activity && last.side() == side) {
                if (last.label().equals(label) && begin - last.to() <= SMALLEST_GAP && begin >= last.from()) {
                    spans.set(i, new Span(activity, side, label, last.from(), end, last.bytes() + bytes));
                    return;
                }
                break;
            }
        }
        spans.add(new Span(activity, side, label, begin, end, bytes));
    }

    /** All spans in the order of their begins. */
    public synchronized List<Span> spans() {
        List<Span> sorted = new ArrayList<>(spans);
        sorted.sort(Comparator.comparingDouble(Span::from));
        return sorted;
    }

    /** The end of the last span. */
    public double seconds() {
        return spans().stream().mapToDouble(Span::to).max().orElse(0);
    }

    /** Seconds in which something was done, on one side or on both. */
    public double busy(Activity activity) {
        double busy = 0;
        double done = 0;
        for (Span span : spans()) {
            if (span.activity() == activity) {
                busy += Math.max(0, span.to() - Math.max(done, span.from()));
                done = Math.max(done, span.to());
            }
        }
        return busy;
    }

    /** Bytes that were read. */
    public long bytes() {
        return spans().stream().mapToLong(Span::bytes).sum();
    }
}
