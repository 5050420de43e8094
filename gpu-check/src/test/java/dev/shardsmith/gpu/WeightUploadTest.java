package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.StoredElements;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Stored weights on their way to a card, against a driver that has none. */
@Timeout(60)
final class WeightUploadTest {
    private final FakeDriver driver = new FakeDriver();
    private final GpuBackend backend = new GpuBackend(() -> driver, 0);

    @AfterEach
    void everythingIsGivenBack() {
        backend.close();
        assertThat(driver.events).isEmpty();
    }

    private static StoredElements stored(DType dtype, int elements) throws IOException {
        return stored(dtype, elements, ByteSource.of("test", new byte[elements * dtype.byteSize()]));
    }

    private static StoredElements stored(DType dtype, int elements, ByteSource source) throws IOException {
        return StoredElements.of("w", StoredTensor.contiguous("w", dtype, Shape.of(elements), source, 0))
                .orElseThrow();
    }

    @Test
    void floatsArriveAsTheyAreStored() throws Exception {
        int count = 2 * Transfers.BUFFER_BYTES / Float.BYTES + 3;
        ByteBuffer bytes = ByteBuffer.allocate(count * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < count; i++) {
            bytes.putFloat(i);
        }
        StoredElements weight = stored(DType.F32, count, ByteSource.of("test", bytes.array()));
        try (DeviceArray array = backend.upload(weight).orElseThrow()) {
            float[] values = backend.download(array);
            assertThat(values).hasSize(count);
            assertThat(values[count - 1]).isEqualTo(count - 1);
            assertThat(values[Transfers.BUFFER_BYTES / Float.BYTES]).isEqualTo(Transfers.BUFFER_BYTES / Float.BYTES);
        }
        assertThat(driver.launches).isEmpty();
    }

    @Test
    void halvesAreWidenedOnTheCard() throws Exception {
        backend.upload(stored(DType.BF16, 1000)).orElseThrow().close();
        backend.upload(stored(DType.F16, 1000)).orElseThrow().close();
        assertThat(driver.launches.stream().map(FakeDriver.Launch::name))
                .containsExactly("to_float32", "half_to_float32");
        assertThat(driver.launches.get(0).arguments().get(2)).isEqualTo(new Argument.Count(1000));
    }

    @Test
    void otherTypesAreLeftToTheProcessor() throws Exception {
        assertThat(backend.upload(stored(DType.F64, 10))).isEmpty();
        assertThat(backend.upload(stored(DType.F8_E4M3FN, 10))).isEmpty();
    }

    @Test
    void withoutRoomNothingIsReadAndNothingKept() throws Exception {
        driver.capacity = 1 << 20;
        AtomicInteger reads = new AtomicInteger();
        StoredElements large = stored(DType.BF16, 400_000).observed((from, to, bytes) -> reads.incrementAndGet());
        // There is room for the stored bytes, but not for the numbers.
        assertThat(backend.upload(large)).isEmpty();
        assertThat(reads).hasValue(0);
        // What the first attempt took was given back: a smaller one fits.
        backend.upload(stored(DType.BF16, 100_000)).orElseThrow().close();
    }

    @Test
    void roomForWeightsFollowsWhatIsFree() {
        driver.capacity = (256L << 20) + (32L << 20);
        assertThat(backend.spareElements()).isEqualTo((32L << 20) / 8 / Float.BYTES);
        assertThat(backend.largestWeight()).isEqualTo(1 << 23);
        driver.capacity = 64L << 30;
        assertThat(backend.largestWeight()).isGreaterThan(1 << 28);
    }

    @Test
    void aFailureOfTheFileGivesTheMemoryBack() throws Exception {
        StoredElements broken = stored(DType.F32, 1000, new Source(1000 * Float.BYTES) {
            @Override
            public void read(long position, ByteBuffer target) throws IOException {
                throw new IOException("the disk is gone");
            }
        });
        assertThatThrownBy(() -> backend.upload(broken)).hasMessage("the disk is gone");
        long used = driver.used();
        backend.upload(stored(DType.F32, 1000)).orElseThrow().close();
        assertThat(driver.used()).isEqualTo(used);
    }

    @Test
    void aFailureOfTheDriverIsNamed() throws Exception {
        StoredElements weight = stored(DType.F32, 1000);
        backend.spareElements();
        driver.failing.add("cuMemcpyHtoDAsync");
        assertThatThrownBy(() -> backend.upload(weight))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("cuMemcpyHtoDAsync failed with code 719");
    }

    @Test
    void aLayerComputesWhileTheFileIsRead() throws Exception {
        CountDownLatch reading = new CountDownLatch(1);
        CountDownLatch computed = new CountDownLatch(1);
        StoredElements slow = stored(DType.F32, 1000, new Source(1000 * Float.BYTES) {
            @Override
            public void read(long position, ByteBuffer target) throws IOException {
                reading.countDown();
                try {
                    assertThat(computed.await(30, TimeUnit.SECONDS)).isTrue();
                } catch (InterruptedException e) {
                    throw new IOException(e);
                }
                target.position(target.limit());
            }
        });
        CompletableFuture<Optional<DeviceArray>> ahead = CompletableFuture.supplyAsync(() -> {
            try {
                return backend.upload(slow);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(reading.await(30, TimeUnit.SECONDS)).isTrue();
        DeviceArray x = backend.upload(new float[10]);
        backend.activate(x, Activation.SILU).close();
        x.close();
        computed.countDown();
        ahead.get(30, TimeUnit.SECONDS).orElseThrow().close();
    }

    /** Bytes that are made when they are read. */
    private abstract static class Source implements ByteSource {
        private final long size;

        Source(long size) {
            this.size = size;
        }

        @Override
        public String name() {
            return "source";
        }

        @Override
        public long size() {
            return size;
        }

        @Override
        public Optional<FileRange> inFile() {
            return Optional.of(new FileRange(Path.of("source"), 0, size));
        }
    }
}
