package dev.shardsmith.formats.safetensors;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("large")
class LargeHeaderTest {
    @Test
    void aHundredThousandTensorsAreListedInOneAndAHalfSeconds() throws IOException {
        int count = 100_000;
        StringBuilder header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        for (int i = 0; i < count; i++) {
            header.append(",\"model.layers.").append(i).append(".mlp.experts.gate_proj.weight\":{\"dtype\":\"BF16\",");
            header.append("\"shape\":[1],\"data_offsets\":[")
                    .append(2 * i)
                    .append(',')
                    .append(2 * i + 2)
                    .append("]}");
        }
        ByteSource file = Safetensors.file(header.append('}').toString(), 2 * count);
        // The first run counts: a user starts a new process for each list.
        long begin = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        assertThat(SafetensorsFile.open(file).entries()).hasSize(count);
        Duration took = Duration.ofNanos(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - begin);
        System.out.println(count + " tensors listed in " + took.toMillis() + " ms of processor time");
        assertThat(took).isLessThan(Duration.ofMillis(1500));
    }
}
