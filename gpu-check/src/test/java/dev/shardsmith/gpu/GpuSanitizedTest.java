package dev.shardsmith.gpu;

import static dev.shardsmith.verify.forward.Activation.SILU;
import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.ReferenceScan;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.Optional;
import java.util.function.Function;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Small sizes through every kernel with shared memory: short enough for a run under a memory or race checker. */
@Tag("gpu")
final class GpuSanitizedTest {
    private final GpuBackend backend = new GpuBackend();

    @AfterEach
    void giveTheCardBack() {
        backend.close();
    }

    @Test
    void vectorKernels() {
        check(new ScanShape(1, 390, 3, 64, 1, 128));
    }

    @Test
    void kernelsForAnySize() {
        check(new ScanShape(2, 140, 4, 6, 2, 5));
    }

    @Test
    void halvesSideBySide() {
        ScanShape shape = new ScanShape(1, 1030, 128, 4, 1, 4);
        ScanProblem problem = ScanCases.plain(Cases.random(3), shape);
        assertThat(ScanCases.relative(
                        backend.scan(problem).y(), ReferenceScan.run(problem).y()))
                .isLessThan(2e-6);
    }

    @Test
    void layers() {
        CpuBackend cpu = new CpuBackend();
        for (int headDim : new int[] {64, 160, 7}) {
            agree(cpu, on -> attention(on, headDim));
        }
        agree(cpu, on -> on.convolve(numbers(on, 37 * 72), numbers(on, 72 * 4), Optional.empty(), 1, 37, 72, 4, SILU));
        agree(cpu, on -> on.convolve(numbers(on, 37 * 9), numbers(on, 9 * 3), Optional.empty(), 1, 37, 9, 3, SILU));
        agree(cpu, on -> on.linear(numbers(on, 130 * 36), numbers(on, 70 * 36), Optional.empty(), 130, 36, 70));
        agree(cpu, on -> on.linear(numbers(on, 5 * 7), numbers(on, 3 * 7), Optional.empty(), 5, 7, 3));
        assertThat(backend.multiplyWide(new double[17 * 35], numbers(backend, 33 * 35), new float[33], 17, 35, 33))
                .hasSize(17 * 33)
                .containsOnly(0);
        for (int width : new int[] {70, 1500, 5000}) {
            agree(
                    cpu,
                    on -> on.normalize(
                            numbers(on, 3 * width),
                            Norm.rms(1e-5f),
                            Optional.of(numbers(on, width)),
                            Optional.empty(),
                            3,
                            width,
                            width));
        }
        assertThat(backend.compare(numbers(backend, 5000), numbers(backend, 5000), 0f)
                        .beyond())
                .isZero();
    }

    private static DeviceArray attention(ForwardBackend on, int headDim) {
        AttentionShape shape = new AttentionShape(1, 70, 4, 2, headDim);
        return on.attend(
                numbers(on, 70 * 4 * headDim),
                numbers(on, 70 * 2 * headDim),
                numbers(on, 70 * 2 * headDim),
                shape,
                0.1f,
                true);
    }

    private static DeviceArray numbers(ForwardBackend on, int count) {
        return on.upload(ScanCases.normals(Cases.random(count), count, 1, 0));
    }

    private void agree(ForwardBackend cpu, Function<ForwardBackend, DeviceArray> operation) {
        float[] expected = cpu.download(operation.apply(cpu));
        float[] found = backend.download(operation.apply(backend));
        assertThat(ScanCases.relative(found, ScanCases.widened(expected))).isLessThan(5e-6);
    }

    private void check(ScanShape shape) {
        for (ScanProblem problem : ScanCases.variants(Cases.random(2), shape)) {
            assertThat(ScanCases.relative(
                            backend.scan(problem).y(),
                            ReferenceScan.run(problem).y()))
                    .isLessThan(2e-6);
            assertThat(ScanCases.relative(
                            backend.scan(problem, ScanPrecision.BFLOAT16).y(),
                            ReferenceScan.run(problem).y()))
                    .isLessThan(2e-2);
        }
    }
}
