package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.ReferenceScan;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanResult;
import dev.shardsmith.verify.forward.ScanShape;
import java.nio.file.Path;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Scans on a real card against their definition in double precision. */
@Tag("gpu")
final class GpuScanTest {
    /** What float32 mode promises: the largest difference over the largest value. */
    private static final double EXACT = 2e-6;

    private final GpuBackend backend = new GpuBackend();

    @AfterEach
    void giveTheCardBack() {
        backend.close();
    }

    static List<String> vectors() {
        return ScanCases.vectors();
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void goldenScansAreExact(String name) throws Exception {
        ScanResult found = backend.scan(ScanCases.vector(name));
        assertThat(ScanCases.relative(found.y(), ScanCases.expected(name, "y"))).isLessThan(EXACT);
        assertThat(ScanCases.relative(found.finalState(), ScanCases.expected(name, "final_state")))
                .isLessThan(EXACT);
    }

    @ParameterizedTest
    @MethodSource("vectors")
    void bfloat16IsNoWorseThanTheReferenceKernelWas(String name) throws Exception {
        Path folder = TestData.path("ssd", name);
        JsonNode recorded = TestData.expected(folder)
                .get("triton_mamba_chunk_scan_combined")
                .get("bfloat16_chunk256");
        double[] expected = NpyFile.read(folder.resolve("y.npy")).values();
        float[] found =
                backend.scan(ScanCases.vector(name), ScanPrecision.BFLOAT16).y();
        // One part in a hundred for sums taken in another order.
        assertThat(ScanCases.rms(found, expected))
                .isLessThanOrEqualTo(1.01 * recorded.get("y_rms_err").asDouble());
        assertThat(ScanCases.largest(found, expected))
                .isLessThanOrEqualTo(1.01 * recorded.get("y_max_abs_err").asDouble());
    }

    @ParameterizedTest
    @CsvSource({
        "1, 300, 4, 32, 2, 256", "1, 300, 2, 256, 1, 64", "2, 257, 3, 128, 3, 16", "1, 200, 4, 80, 4, 128",
        "2, 131, 4, 6, 4, 5", "1, 1000, 6, 64, 2, 128", "3, 1, 2, 64, 1, 16", "1, 127, 2, 96, 2, 200",
        "1, 128, 2, 64, 1, 128", "1, 129, 2, 64, 1, 128", "1, 2000, 2, 64, 1, 128", "1, 65, 5, 64, 5, 128",
        // Enough for two halves side by side, of one group, of several and of an odd number that is not cut.
        "1, 2100, 64, 16, 1, 16", "1, 2100, 64, 16, 8, 16", "1, 2100, 63, 16, 7, 16", "1, 2100, 64, 6, 2, 5"
    })
    void sizesOfAllKindsAreExact(int batch, int length, int heads, int headDim, int groups, int state) {
        ScanShape shape = new ScanShape(batch, length, heads, headDim, groups, state);
        RandomGenerator random = Cases.random(shape.hashCode());
        for (ScanProblem problem : ScanCases.variants(random, shape)) {
            check(problem);
        }
    }

    @Test
    void randomScansAreExact() {
        Cases.forAll(60, random -> check(ScanCases.next(random)));
    }

    private void check(ScanProblem problem) {
        ReferenceScan.Result expected = ReferenceScan.run(problem);
        ScanResult found = backend.scan(problem);
        String what = problem.shape() + (problem.sequenceStarts().isPresent() ? " packed" : "");
        assertThat(ScanCases.relative(found.y(), expected.y())).as(what).isLessThan(EXACT);
        assertThat(ScanCases.relative(found.finalState(), expected.finalState()))
                .as(what)
                .isLessThan(EXACT);
        if (problem.sequenceStarts().isPresent()) {
            assertThat(ScanCases.relative(
                            found.sequenceStates().orElseThrow(),
                            expected.sequenceStates().orElseThrow()))
                    .as(what)
                    .isLessThan(EXACT);
        }
        ScanResult rounded = backend.scan(ScanCases.bfloat16(problem), ScanPrecision.BFLOAT16);
        ReferenceScan.Result roundedExpected = ReferenceScan.run(ScanCases.bfloat16(problem));
        assertThat(ScanCases.relative(rounded.y(), roundedExpected.y()))
                .as(what)
                .isLessThan(1e-2);
        assertThat(ScanCases.relative(rounded.finalState(), roundedExpected.finalState()))
                .as(what)
                .isLessThan(1e-2);
    }

    @Test
    void theSameScanGivesTheSameBits() {
        theSameBits(new ScanShape(1, 5000, 10, 64, 2, 128));
        theSameBits(new ScanShape(1, 5000, 32, 64, 2, 128));
    }

    private void theSameBits(ScanShape shape) {
        ScanProblem problem = ScanCases.plain(Cases.random(3), shape);
        for (ScanPrecision precision : ScanPrecision.values()) {
            ScanResult first = backend.scan(problem, precision);
            for (int i = 0; i < 5; i++) {
                ScanResult again = backend.scan(problem, precision);
                assertThat(again.y()).isEqualTo(first.y());
                assertThat(again.finalState()).isEqualTo(first.finalState());
            }
        }
    }

    @Test
    void windowsGiveWhatTheWholeGives() throws Exception {
        ScanShape shape = new ScanShape(1, 1500, 4, 64, 1, 128);
        ScanProblem problem = ScanCases.plain(Cases.random(4), shape);
        float[] whole = backend.scan(problem).y();
        try (CappedDriver.Session small = CappedDriver.open(ChunkScan.bytesPerChunk(shape) * 3 * 4)) {
            assertThat(small.backend().scan(problem).y()).isEqualTo(whole);
            assertThat(small.windows()).isGreaterThan(2);
        }
    }

    @Test
    void twoHalvesGiveTheBitsOfTheirHeadsAlone() {
        ScanShape shape = new ScanShape(1, 2048, 64, 16, 1, 16);
        ScanProblem problem = plain(ScanCases.plain(Cases.random(6), shape));
        float[] whole = backend.scan(problem).y();
        ScanShape fewer = new ScanShape(1, 2048, 4, 16, 1, 16);
        for (int first : new int[] {0, 28, 32, 60}) {
            ScanProblem some = ScanProblem.of(
                    fewer,
                    columns(problem.x(), 64 * 16, first * 16, 4 * 16),
                    columns(problem.dt(), 64, first, 4),
                    columns(problem.aLog(), 64, first, 4),
                    problem.b(),
                    problem.c());
            assertThat(backend.scan(some).y()).isEqualTo(columns(whole, 64 * 16, first * 16, 4 * 16));
        }
    }

    private static ScanProblem plain(ScanProblem problem) {
        return ScanProblem.of(problem.shape(), problem.x(), problem.dt(), problem.aLog(), problem.b(), problem.c());
    }

    private static float[] columns(float[] all, int width, int first, int count) {
        float[] some = new float[all.length / width * count];
        for (int row = 0; row < all.length / width; row++) {
            System.arraycopy(all, row * width + first, some, row * count, count);
        }
        return some;
    }

    @ParameterizedTest
    @EnumSource(
            value = KernelImage.class,
            names = {"SM90A", "COMPUTE80"})
    void everyImageGivesTheSame(KernelImage image) throws Exception {
        ScanProblem problem = ScanCases.plain(Cases.random(5), new ScanShape(1, 700, 4, 64, 2, 128));
        Driver driver = JCudaDriverCalls.start();
        Gpu gpu = Gpu.open(driver, driver.card(0), image);
        try {
            ScanResult portable = new ProblemScan(gpu, ScanPrecision.FLOAT32).run(problem);
            double difference = ScanCases.largest(backend.scan(problem).y(), ScanCases.widened(portable.y()));
            assertThat(difference).isLessThan(1e-5);
        } finally {
            gpu.close();
        }
    }
}
