package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;
import dev.shardsmith.verify.forward.WeightProduct;
import dev.shardsmith.verify.forward.WideBackend;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.function.Function;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every operation of a layer on a real card against the same on the processor. */
@Tag("gpu")
final class GpuLayersTest {
    private final GpuBackend gpu = new GpuBackend();
    private final CpuBackend cpu = new CpuBackend();
    private final RandomGenerator random = Cases.random(11);

    @AfterEach
    void giveTheCardBack() {
        gpu.close();
    }

    private float[] numbers(int count) {
        return ScanCases.normals(random, count, 1, 0.1);
    }

    private void agree(double tolerance, Function<ForwardBackend, DeviceArray> operation) {
        float[] expected = cpu.download(operation.apply(cpu));
        float[] found = gpu.download(operation.apply(gpu));
        assertThat(ScanCases.relative(found, ScanCases.widened(expected))).isLessThan(tolerance);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 16, 130, 4096})
    void linear(int in) {
        float[] x = numbers(150 * in);
        float[] weight = numbers(67 * in);
        float[] bias = numbers(67);
        agree(5e-6, on -> on.linear(on.upload(x), on.upload(weight), Optional.of(on.upload(bias)), 150, in, 67));
        agree(5e-6, on -> on.linear(on.upload(x), on.upload(weight), Optional.empty(), 150, in, 67));
    }

    @ParameterizedTest
    @CsvSource({"16, 4096, 2320", "1, 1, 1", "2, 31, 33", "17, 33, 64", "8, 2048, 100", "40, 129, 7"})
    void wideProductsHaveTheBitsOfTheProcessor(int rows, int in, int out) throws Exception {
        double[] x = ScanCases.widened(numbers(rows * in));
        for (int i = 0; i < x.length; i++) {
            x[i] += 0x1p-40 * random.nextGaussian();
        }
        float[] weight = numbers(in * out);
        float[] bias = numbers(out);
        WideBackend alone = new WideBackend();
        WideBackend beside = new WideBackend(gpu);
        for (float[] start : new float[][] {bias, new float[0]}) {
            Optional<DeviceArray> added = start.length == 0 ? Optional.empty() : Optional.of(alone.upload(start));
            WeightProduct expected = alone.product(alone.uploadWide(x), alone.upload(weight), added, rows, in, out);
            WeightProduct found = beside.product(alone.uploadWide(x), gpu.upload(weight), added, rows, in, out);
            assertThat(beside.downloadWide(found.values())).isEqualTo(alone.downloadWide(expected.values()));
            assertThat(found.largestRow()).isCloseTo(expected.largestRow(), within(1e-6 * expected.largestRow()));
        }
    }

    @Test
    void columnsAndConcatenation() {
        float[] x = numbers(7 * 20);
        agree(1e-9, on -> on.columns(on.upload(x), 7, 20, 3, 11));
        agree(
                1e-9,
                on -> on.concat(
                        new DeviceArray[] {on.upload(x), on.columns(on.upload(x), 7, 20, 3, 11)}, 7, new int[] {20, 11
                        }));
    }

    @ParameterizedTest
    @EnumSource(Activation.class)
    void activations(Activation f) {
        float[] x = ScanCases.normals(random, 100_000, 4, 0);
        float[] y = numbers(100_000);
        agree(3e-7, on -> on.activate(on.upload(x), f));
        agree(3e-7, on -> on.gate(on.upload(x), on.upload(y), f));
        agree(3e-7, on -> on.add(on.upload(x), on.upload(y), -0.75f));
    }

    @ParameterizedTest
    @EnumSource(Norm.Kind.class)
    void norms(Norm.Kind kind) {
        float[] x = numbers(9 * 960);
        float[] w = numbers(960);
        for (int group : new int[] {960, 120, 1}) {
            for (float offset : new float[] {0, 1}) {
                Norm norm = new Norm(kind, 1e-5f, offset);
                agree(
                        1e-6,
                        on -> on.normalize(
                                on.upload(x),
                                norm,
                                Optional.of(on.upload(w)),
                                Optional.of(on.upload(w)),
                                9,
                                960,
                                group));
                agree(1e-6, on -> on.normalize(on.upload(x), norm, Optional.empty(), Optional.empty(), 9, 960, group));
            }
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1024, 1025, 4096, 4097, 9000})
    void wideNorms(int width) {
        float[] x = numbers(3 * width);
        for (Norm.Kind kind : Norm.Kind.values()) {
            Norm norm = new Norm(kind, 1e-5f, 0);
            agree(1e-6, on -> on.normalize(on.upload(x), norm, Optional.empty(), Optional.empty(), 3, width, width));
        }
    }

    @Test
    void convolutions() {
        float[] x = numbers(2 * 30 * 12);
        for (int kernel = 1; kernel <= 5; kernel++) {
            int taps = kernel;
            float[] w = numbers(12 * kernel);
            float[] bias = numbers(12);
            agree(
                    1e-6,
                    on -> on.convolve(
                            on.upload(x),
                            on.upload(w),
                            Optional.of(on.upload(bias)),
                            2,
                            30,
                            12,
                            taps,
                            Activation.SILU));
        }
    }

    @Test
    void longConvolutions() {
        for (int length : new int[] {1, 2, 3, 15, 16, 17, 100}) {
            float[] x = numbers(3 * length * 516);
            float[] w = numbers(516 * 4);
            agree(
                    1e-6,
                    on -> on.convolve(
                            on.upload(x), on.upload(w), Optional.empty(), 3, length, 516, 4, Activation.IDENTITY));
        }
    }

    @Test
    void rotations() {
        float[] x = numbers(2 * 300 * 3 * 16);
        agree(1e-6, on -> on.rotate(on.upload(x), new Rotary(16, 10_000, false), 2, 300, 3, 16));
        agree(1e-6, on -> on.rotate(on.upload(x), new Rotary(8, 500_000, true), 2, 300, 3, 16));
        agree(1e-9, on -> on.rotate(on.upload(x), new Rotary(0, 10_000, true), 2, 300, 3, 16));
    }

    @Test
    void attention() {
        for (AttentionShape shape : new AttentionShape[] {
            new AttentionShape(2, 70, 4, 2, 64),
            new AttentionShape(1, 300, 6, 6, 80),
            new AttentionShape(1, 200, 8, 1, 20),
            new AttentionShape(3, 65, 4, 4, 32),
            new AttentionShape(1, 129, 2, 1, 192),
            new AttentionShape(1, 64, 2, 2, 256),
            new AttentionShape(1, 77, 3, 1, 7),
            new AttentionShape(2, 1, 2, 1, 128)
        }) {
            int tokens = shape.batch() * shape.length() * shape.headDim();
            float[] q = numbers(tokens * shape.heads());
            float[] k = numbers(tokens * shape.keyHeads());
            float[] v = numbers(tokens * shape.keyHeads());
            for (boolean causal : new boolean[] {true, false}) {
                agree(3e-6, on -> on.attend(on.upload(q), on.upload(k), on.upload(v), shape, 0.125f, causal));
            }
        }
    }

    @Test
    void rows() {
        float[] x = numbers(11 * 1000);
        assertThat(gpu.rowMaxima(gpu.upload(x), 11, 1000)).isEqualTo(cpu.rowMaxima(cpu.upload(x), 11, 1000));
        assertThat(ScanCases.relative(
                        gpu.rowNorms(gpu.upload(x), 11, 1000),
                        ScanCases.widened(cpu.rowNorms(cpu.upload(x), 11, 1000))))
                .isLessThan(2e-7);
    }

    @Test
    void comparison() {
        float[] x = numbers(300_000);
        float[] y = x.clone();
        y[777] += 0.5f;
        y[250_000] = Math.nextUp(y[250_000]);
        Difference found = gpu.compare(gpu.upload(x), gpu.upload(y), 0.25f);
        assertThat(found.maxAbsolute()).isEqualTo(Math.abs(y[777] - x[777]));
        assertThat(found.beyond()).isEqualTo(1);
        assertThat(found.worst()).isEqualTo(777);
        assertThat(gpu.compare(gpu.upload(x), gpu.upload(y), gpu.upload(new float[x.length]))
                        .beyond())
                .isEqualTo(2);
        y[5] = Float.NaN;
        assertThat(gpu.compare(gpu.upload(x), gpu.upload(y), 1e30f).maxAbsolute())
                .isNaN();
        assertThat(gpu.compare(gpu.upload(y), gpu.upload(y), 0f)).isEqualTo(new Difference(0, 0, 0, 0, 0));
    }

    @Test
    void uploadsLongerThanThePinnedBuffersComeBackWhole() {
        float[] x = numbers(3 * Transfers.BUFFER_BYTES / Float.BYTES + 5);
        assertThat(gpu.download(gpu.upload(x))).isEqualTo(x);
    }

    @ParameterizedTest
    @ValueSource(strings = {"mixer_small", "mixer_one_group", "mixer_with_bias_conv3"})
    void wholeMixersAgreeWithTheGoldenOnes(String name) throws Exception {
        Path folder = TestData.path("ssd", name);
        double[] expected = NpyFile.read(folder.resolve("out.npy")).values();
        assertThat(ScanCases.relative(gpu.download(mixer(folder)), expected)).isLessThan(3e-6);
    }

    private DeviceArray mixer(Path folder) throws Exception {
        JsonNode p = TestData.expected(folder).get("params");
        int batch = p.get("b").asInt();
        int length = p.get("l").asInt();
        int model = p.get("d_model").asInt();
        int kernel = p.get("d_conv").asInt();
        ScanShape shape = new ScanShape(
                batch,
                length,
                p.get("nheads").asInt(),
                p.get("headdim").asInt(),
                p.get("ngroups").asInt(),
                p.get("d_state").asInt());
        int rows = batch * length;
        int inner = shape.inner();
        int wide = inner + 2 * shape.groupState();
        int width = inner + wide + shape.heads();
        DeviceArray u = gpu.upload(NpyFile.read(folder.resolve("u.npy")).floats());
        DeviceArray projected = gpu.linear(
                u, weight(folder, "in_proj.weight").orElseThrow(), weight(folder, "in_proj.bias"), rows, model, width);
        DeviceArray z = gpu.columns(projected, rows, width, 0, inner);
        DeviceArray convolved = gpu.convolve(
                gpu.columns(projected, rows, width, inner, wide),
                weight(folder, "conv1d.weight").orElseThrow(),
                weight(folder, "conv1d.bias"),
                batch,
                length,
                wide,
                kernel,
                Activation.SILU);
        DeviceArray y = gpu.scan(
                shape,
                TimeStep.SOFTPLUS,
                gpu.columns(convolved, rows, wide, 0, inner),
                gpu.columns(projected, rows, width, inner + wide, shape.heads()),
                weight(folder, "A_log").orElseThrow(),
                gpu.columns(convolved, rows, wide, inner, shape.groupState()),
                gpu.columns(convolved, rows, wide, inner + shape.groupState(), shape.groupState()),
                weight(folder, "D"),
                weight(folder, "dt_bias"));
        DeviceArray normed = gpu.normalize(
                gpu.gate(z, y, Activation.SILU),
                Norm.rms((float) p.get("eps").asDouble()),
                weight(folder, "norm.weight"),
                Optional.empty(),
                rows,
                inner,
                inner / shape.groups());
        return gpu.linear(
                normed,
                weight(folder, "out_proj.weight").orElseThrow(),
                weight(folder, "out_proj.bias"),
                rows,
                inner,
                model);
    }

    private Optional<DeviceArray> weight(Path folder, String name) throws Exception {
        Path file = folder.resolve("w." + name + ".npy");
        return Files.exists(file) ? Optional.of(gpu.upload(NpyFile.read(file).floats())) : Optional.empty();
    }
}
