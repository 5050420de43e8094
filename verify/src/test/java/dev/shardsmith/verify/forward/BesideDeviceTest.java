package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

/** Double precision on the processor beside a device that holds the weights. */
final class BesideDeviceTest {
    private final RandomGenerator random = Cases.random(31);
    private final WideBackend alone = new WideBackend();
    private final CpuBackend cpu = new CpuBackend();
    private int multiplications;

    /** An array that nothing but its device can read. */
    private record Remote(float[] values) implements DeviceArray {
        @Override
        public long length() {
            return values.length;
        }

        @Override
        public void close() {}
    }

    private final ForwardBackend device = (ForwardBackend) Proxy.newProxyInstance(
            ForwardBackend.class.getClassLoader(),
            new Class<?>[] {ForwardBackend.class, WideMultiplier.class},
            (proxy, method, arguments) -> switch (method.getName()) {
                case "download" -> ((Remote) arguments[0]).values();
                case "rowNorms" ->
                    cpu.rowNorms(cpu.upload(((Remote) arguments[0]).values()), (int) arguments[1], (int) arguments[2]);
                case "multiplyWide" -> multiplied(arguments);
                default -> throw new UnsupportedOperationException(method.getName());
            });

    private double[] multiplied(Object[] arguments) throws IOException {
        multiplications++;
        float[] bias = (float[]) arguments[2];
        return alone.downloadWide(alone.product(
                        alone.uploadWide((double[]) arguments[0]),
                        alone.upload(((Remote) arguments[1]).values()),
                        bias.length == 0 ? Optional.empty() : Optional.of(alone.upload(bias)),
                        (int) arguments[3],
                        (int) arguments[4],
                        (int) arguments[5])
                .values());
    }

    private float[] numbers(int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    /** Everything of more than {@code small} elements lies on the device. */
    private static WeightReader ahead(int small) {
        return new WeightReader() {
            @Override
            public float[] load(WeightSource source) throws IOException {
                return source.load();
            }

            @Override
            public DeviceArray upload(WeightSource source) throws IOException {
                return new Remote(source.load());
            }

            @Override
            public Optional<DeviceArray> kept(WeightSource source) throws IOException {
                return source.elements() > small ? Optional.of(new Remote(source.load())) : Optional.empty();
            }
        };
    }

    private static Signal layer(Pass pass, float[] x, WeightSource weight, WeightSource bias, WeightSource scale)
            throws IOException {
        Signal product = pass.linear(pass.input(x, 24), weight, Optional.of(bias));
        return pass.normalize(product, Norm.rms(1e-5f), Optional.of(scale), Optional.of(bias), 10);
    }

    @Test
    void weightsThatLieOnTheDeviceAreMultipliedThere() throws Exception {
        WideBackend beside = new WideBackend(device);
        float[] x = numbers(6 * 24);
        WeightSource weight = WeightSource.of(numbers(30 * 24));
        WeightSource bias = WeightSource.of(numbers(30));
        WeightSource scale = WeightSource.of(numbers(30));
        try (Pass expected = new Pass(alone, 1, 6)) {
            Signal there = layer(expected, x, weight, bias, scale);
            for (int small : new int[] {0, 100, 10_000}) {
                multiplications = 0;
                try (Pass pass = new Pass(beside, 1, 6, beside.reading(ahead(small)))) {
                    Signal here = layer(pass, x, weight, bias, scale);
                    assertThat(pass.readWide(here)).isEqualTo(expected.readWide(there));
                    assertThat(here.error()[0]).isBetween(0.999 * there.error()[0], 1.001 * there.error()[0]);
                }
                assertThat(multiplications).isEqualTo(small == 10_000 ? 0 : 1);
            }
        }
    }

    @Test
    void aDeviceThatCannotIsNotAsked() throws Exception {
        WideBackend beside = new WideBackend(cpu);
        WeightReader reading = beside.reading(ahead(0));
        assertThat(reading.kept(WeightSource.of(new float[5]))).isEmpty();
        assertThat(reading.upload(WeightSource.of(new float[5])).isOnHeap()).isTrue();
    }
}
