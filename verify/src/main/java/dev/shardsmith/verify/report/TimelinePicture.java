package dev.shardsmith.verify.report;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.verify.forward.Timeline;
import dev.shardsmith.verify.forward.Timeline.Activity;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;

/** Draws when layers were read, copied and computed, as one SVG file. */
public final class TimelinePicture {
    private static final int LEFT = 90;
    private static final int WIDTH = 1200;
    private static final int LANE = 26;
    private static final int TOP = 40;
    private static final int TICKS = 10;
    /** In pixels. */
    private static final double SMALLEST_GAP = 1;

    private static final String[] COLOURS = {"#3b6fb6", "#d98032"};

    /** A row of the picture. */
    private record Lane(String name, Activity activity, int side) {}

    private static final List<Lane> LANES = List.of(
            new Lane("read A", Activity.READ, 0),
            new Lane("read B", Activity.READ, 1),
            new Lane("copy A", Activity.COPY, 0),
            new Lane("copy B", Activity.COPY, 1),
            new Lane("compute", Activity.COMPUTE, 0));

    private TimelinePicture() {}

    /** Writes the picture to a file. */
    public static void write(Timeline timeline, WholeFile file) throws IOException {
        file.write(out -> out.write(svg(timeline).getBytes(StandardCharsets.UTF_8)));
    }

    static String svg(Timeline timeline) {
        double seconds = Math.max(timeline.seconds(), 1e-9);
        int height = TOP + LANES.size() * LANE + 30;
        StringBuilder svg = new StringBuilder();
        line(
                svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">",
                LEFT + WIDTH + 20,
                height);
        line(svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>");
        line(
                svg,
                "<text x=\"%d\" y=\"20\">%.2f s, %.2f GB read; reading goes on in %.0f %% of the time, computing in %.0f %%</text>",
                LEFT,
                seconds,
                timeline.bytes() / 1e9,
                100 * timeline.busy(Activity.READ) / seconds,
                100 * timeline.busy(Activity.COMPUTE) / seconds);
        for (int i = 0; i < LANES.size(); i++) {
            lane(svg, timeline, LANES.get(i), TOP + i * LANE, WIDTH / seconds);
        }
        for (int tick = 0; tick <= TICKS; tick++) {
            int x = LEFT + WIDTH * tick / TICKS;
            line(svg, "<text x=\"%d\" y=\"%d\">%.2f s</text>", x, height - 10, seconds * tick / TICKS);
        }
        return svg.append("</svg>\n").toString();
    }

    /**
     * Neighbouring layers have different colours; a layer's name shows when the pointer rests on it. Gaps that nobody could see
     * are not drawn: a large model has thousands.
     */
    private static void lane(StringBuilder svg, Timeline timeline, Lane lane, int y, double scale) {
        line(svg, "<text x=\"8\" y=\"%d\">%s</text>", y + LANE - 10, lane.name());
        Timeline.Span open = null;
        int layers = 0;
        for (Timeline.Span span : timeline.spans()) {
            if (span.activity() != lane.activity() || span.side() != lane.side()) {
                continue;
            }
            if (open != null && span.label().equals(open.label()) && (span.from() - open.to()) * scale < SMALLEST_GAP) {
                open = new Timeline.Span(lane.activity(), lane.side(), open.label(), open.from(), span.to(), 0);
                continue;
            }
            if (open != null) {
                bar(svg, open, y, scale, layers);
                layers += span.label().equals(open.label()) ? 0 : 1;
            }
            open = span;
        }
        if (open != null) {
            bar(svg, open, y, scale, layers);
        }
    }

    private static void bar(StringBuilder svg, Timeline.Span span, int y, double scale, int layers) {
        line(
                svg,
                "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" fill=\"%s\"><title>%s: %.3f to %.3f s</title></rect>",
                LEFT + span.from() * scale,
                y,
                (span.to() - span.from()) * scale,
                LANE - 6,
                COLOURS[layers % COLOURS.length],
                span.label().replace("&", "&amp;").replace("<", "&lt;"),
                span.from(),
                span.to());
    }

    private static void line(StringBuilder svg, String format, Object... values) {
        svg.append(String.format(Locale.ROOT, format, values)).append('\n');
    }
}
