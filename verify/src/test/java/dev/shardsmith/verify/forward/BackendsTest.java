package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.junit.jupiter.api.Test;

final class BackendsTest {

    @Test
    void theProcessorIsAlwaysThere() {
        assertThat(Backends.layers("cpu")).isInstanceOf(CpuBackend.class);
        assertThat(Backends.layers("auto", List.of(new CpuBackend()))).isInstanceOf(CpuBackend.class);
        assertThat(Backends.layers("cpu:0", List.of(new CpuBackend()))).isInstanceOf(CpuBackend.class);
    }

    @Test
    void devicesThatAreNotThereAreRefusedByName() {
        for (String device : new String[] {"cpu:1", "cuda", "cuda:3"}) {
            assertThatThrownBy(() -> Backends.layers(device, List.of(new CpuBackend())))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("no usable device '" + device + "'");
        }
    }
}
