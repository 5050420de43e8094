package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import org.junit.jupiter.api.Test;

final class DeviceMemoryTest {
    private final FakeDriver driver = new FakeDriver();
    private final DeviceMemory memory = new DeviceMemory(driver);

    @Test
    void whatComesBackIsHandedOutAgain() throws Exception {
        GpuArray first = memory.floats(1000);
        long address = first.address();
        first.close();
        assertThat(memory.floats(1001).address()).isEqualTo(address);
        assertThat(driver.frees).isZero();
    }

    @Test
    void whatIsKeptIsFreedWhenAnotherSizeNeedsTheRoom() throws Exception {
        driver.capacity = 1 << 20;
        memory.floats(200_000).close();
        assertThat(memory.floats(250_000).length()).isEqualTo(250_000);
        assertThat(driver.frees).isEqualTo(1);
    }

    @Test
    void aFullCardIsSaidToBeFull() throws Exception {
        driver.capacity = 1 << 20;
        memory.floats(200_000);
        assertThat(memory.tryFloats(100_000)).isEmpty();
        assertThatThrownBy(() -> memory.floats(100_000))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("CUDA_ERROR_OUT_OF_MEMORY")
                .hasMessageContaining("no room for 400384 bytes")
                .hasMessageContaining("248320 are free");
    }

    @Test
    void aClosedArrayHasNoAddress() throws Exception {
        GpuArray array = memory.floats(1);
        array.close();
        array.close();
        assertThatThrownBy(array::address).isInstanceOf(IllegalStateException.class);
        // Given back once, though closed twice.
        assertThat(memory.floats(1).address()).isNotEqualTo(memory.floats(1).address());
    }

    @Test
    void trimGivesEverythingBack() throws Exception {
        memory.floats(10).close();
        memory.floats(1000).close();
        memory.trim();
        assertThat(driver.used()).isZero();
        assertThat(driver.events).isEmpty();
    }
}
