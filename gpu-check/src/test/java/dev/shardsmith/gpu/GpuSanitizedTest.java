package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.ReferenceScan;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanShape;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Small scans through every kernel of a scan: short enough for a run under a memory or race checker. */
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
