package dev.shardsmith.verify.report;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.verify.forward.Timeline;
import dev.shardsmith.verify.forward.Timeline.Activity;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TimelinePictureTest {
    private static final long MILLI = 1_000_000;

    @TempDir
    Path folder;

    @Test
    void everyLaneHasItsLayersAndGapsNobodySeesAreClosed() throws Exception {
        Timeline timeline = new Timeline();
        long start = System.nanoTime();
        timeline.add(Activity.READ, 0, "0 <mamba>", start, start + 400 * MILLI, 100);
        timeline.add(Activity.READ, 0, "0 <mamba>", start + 401 * MILLI, start + 500 * MILLI, 100);
        timeline.add(Activity.READ, 1, "0 <mamba>", start, start + 1000 * MILLI, 200);
        timeline.add(Activity.READ, 0, "1 mlp", start + 500 * MILLI, start + 4000 * MILLI, 300);
        timeline.add(Activity.COMPUTE, 0, "0 <mamba>", start + 1000 * MILLI, start + 1200 * MILLI, 0);
        Path file = folder.resolve("time.svg");
        TimelinePicture.write(timeline, WholeFile.replacing(file));
        List<String> lines = Files.readAllLines(file);
        List<String> bars =
                lines.stream().filter(line -> line.contains("<title>")).toList();
        assertThat(bars).hasSize(4);
        assertThat(bars.get(0)).contains("0 &lt;mamba&gt;".replace("&gt;", ">")).contains("0.500 s");
        assertThat(bars.get(1)).contains("1 mlp").contains("#d98032");
        assertThat(lines.get(2)).contains("reading goes on in 100 % of the time, computing in 5 %");
        assertThat(lines).last().isEqualTo("</svg>");
    }
}
