package dev.shardsmith.cli.terminal;

import java.io.PrintStream;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;

/**
 * Shows how far a long job is, at what rate, and when it will be done. May be advanced from several threads.
 *
 * <p>Nothing is drawn more often than a person can read, and a job that ends at once draws nothing.
 */
public final class ProgressMeter implements AutoCloseable {
    private static final long SECOND = 1_000_000_000L;
    private static final long REDRAW_EVERY = SECOND / 8;
    private static final long LINE_EVERY = 10 * SECOND;

    private final PrintStream out;
    private final ProgressStyle style;
    private final int columns;
    private final String label;
    private volatile long totalBytes;
    private final LongSupplier nanoTime;
    private final long start;
    private final LongAdder done = new LongAdder();
    private final AtomicLong nextDraw;

    /** A meter for {@code totalBytes} bytes that draws on {@code out}. */
    public ProgressMeter(PrintStream out, ProgressStyle style, int columns, String label, long totalBytes) {
        this(out, style, columns, label, totalBytes, System::nanoTime);
    }

    ProgressMeter(
            PrintStream out, ProgressStyle style, int columns, String label, long totalBytes, LongSupplier nanoTime) {
        this.out = out;
        this.style = style;
        this.columns = columns;
        this.label = label;
        this.totalBytes = totalBytes;
        this.nanoTime = nanoTime;
        this.start = nanoTime.getAsLong();
        this.nextDraw = new AtomicLong(start + interval());
    }

    /** Counts {@code bytes} more bytes as done. */
    public void advance(long bytes) {
        done.add(bytes);
        if (style == ProgressStyle.NONE) {
            return;
        }
        long now = nanoTime.getAsLong();
        long due = nextDraw.get();
        // Only the thread that moves the deadline draws; the others go on with their work.
        if (now - due >= 0 && nextDraw.compareAndSet(due, now + interval())) {
            draw(now);
        }
    }

    /** Sets how much is done, for jobs that count themselves. */
    public void moveTo(long bytesDone, long bytesTotal) {
        totalBytes = bytesTotal;
        advance(bytesDone - done.sum());
    }

    /** Bytes counted so far. */
    public long done() {
        return done.sum();
    }

    /** Wipes the redrawn line, so that the next message starts on a clean one. */
    @Override
    public void close() {
        if (style == ProgressStyle.REDRAWN && nanoTime.getAsLong() - start >= REDRAW_EVERY) {
            out.print("\r\u001b[K");
            out.flush();
        }
    }

    private long interval() {
        return style == ProgressStyle.REDRAWN ? REDRAW_EVERY : LINE_EVERY;
    }

    private synchronized void draw(long now) {
        String text = text(done.sum(), now - start);
        if (style == ProgressStyle.REDRAWN) {
            String shown = text.length() < columns ? text : text.substring(0, columns - 1);
            out.print("\r" + shown + "\u001b[K");
        } else {
            out.println(text);
        }
        out.flush();
    }

    private String text(long bytes, long nanos) {
        double seconds = Math.max(1, nanos) / (double) SECOND;
        double rate = bytes / seconds;
        String percent = totalBytes > 0 ? String.format(Locale.ROOT, " %3.0f%%", 100.0 * bytes / totalBytes) : "";
        String eta = totalBytes > bytes && bytes > 0 ? ", " + duration((totalBytes - bytes) / rate) + " left" : "";
        return "%s%s  %s of %s  %s/s%s"
                .formatted(
                        label,
                        percent,
                        ByteSize.format(bytes),
                        ByteSize.format(totalBytes),
                        ByteSize.format((long) rate),
                        eta);
    }

    private static String duration(double seconds) {
        long whole = Math.round(seconds);
        if (whole < 60) {
            return whole + " s";
        }
        if (whole < 3600) {
            return String.format(Locale.ROOT, "%d:%02d min", whole / 60, whole % 60);
        }
        return String.format(Locale.ROOT, "%d:%02d h", whole / 3600, whole / 60 % 60);
    }
}
