package dev.shardsmith.cli.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

final class ProgressMeterTest {
    private static final long SECOND = 1_000_000_000L;
    private static final long GIB = 1L << 30;

    private final AtomicLong clock = new AtomicLong();
    private final ByteArrayOutputStream screen = new ByteArrayOutputStream();

    @Test
    void aTerminalSeesRateAndTimeLeftInOneRedrawnLine() {
        try (ProgressMeter meter = meter(ProgressStyle.REDRAWN, 4 * GIB)) {
            clock.set(2 * SECOND);
            meter.advance(GIB);
        }

        assertThat(text()).isEqualTo("\rcopy  25%  1.00 GiB of 4.00 GiB  512 MiB/s, 6 s left\u001b[K\r\u001b[K");
    }

    @Test
    void aLogSeesALineEveryTenSeconds() {
        try (ProgressMeter meter = meter(ProgressStyle.LINES, 400 * GIB)) {
            for (int second = 1; second <= 25; second++) {
                clock.set(second * SECOND);
                meter.advance(GIB);
            }
        }

        assertThat(text().lines())
                .containsExactly(
                        "copy   3%  10.0 GiB of 400 GiB  1.00 GiB/s, 6:30 min left",
                        "copy   5%  20.0 GiB of 400 GiB  1.00 GiB/s, 6:20 min left");
    }

    @Test
    void quietAndShortJobsDrawNothing() {
        try (ProgressMeter meter = meter(ProgressStyle.NONE, GIB)) {
            clock.set(100 * SECOND);
            meter.advance(GIB);
            assertThat(meter.done()).isEqualTo(GIB);
        }
        clock.set(0);
        try (ProgressMeter meter = meter(ProgressStyle.REDRAWN, GIB)) {
            clock.set(SECOND / 100);
            meter.advance(GIB);
        }

        assertThat(text()).isEmpty();
    }

    @Test
    void aLineNeverReachesTheRightEdge() {
        try (ProgressMeter meter = new ProgressMeter(
                stream(), ProgressStyle.REDRAWN, 40, "a long label for a narrow terminal", GIB, clock::get)) {
            clock.set(SECOND);
            meter.advance(GIB / 2);
        }

        assertThat(text().split("\u001b")[0]).hasSize(1 + 39);
    }

    private ProgressMeter meter(ProgressStyle style, long total) {
        return new ProgressMeter(stream(), style, 80, "copy", total, clock::get);
    }

    private PrintStream stream() {
        return new PrintStream(screen, true, StandardCharsets.UTF_8);
    }

    private String text() {
        return screen.toString(StandardCharsets.UTF_8);
    }
}
