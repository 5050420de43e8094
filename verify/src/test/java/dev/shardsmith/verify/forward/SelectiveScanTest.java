package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.Arrays;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class SelectiveScanTest {

    @Test
    void withOneDecayAndStepForAHeadItIsTheScanOfMamba2() {
        RandomGenerator random = Cases.random(1);
        ScanShape shape = new ScanShape(2, 11, 3, 4, 1, 5);
        ScanProblem problem = RandomScans.plain(random, shape)
                .withD(RandomScans.normals(random, shape.inner(), 1, 0))
                .withTimeStep(Optional.empty(), TimeStep.SOFTPLUS);
        double[] dt = new double[shape.tokens() * shape.inner()];
        float[] aLog = new float[shape.inner() * shape.state()];
        for (int i = 0; i < dt.length; i++) {
            dt[i] = TimeStep.SOFTPLUS.of(problem.dt()[i / shape.headDim()]);
        }
        for (int channel = 0; channel < shape.inner(); channel++) {
            Arrays.fill(
                    aLog,
                    channel * shape.state(),
                    (channel + 1) * shape.state(),
                    problem.aLog()[channel / shape.headDim()]);
        }
        double[] y = SelectiveScan.run(
                2,
                11,
                ScanVectors.widened(problem.x()),
                dt,
                aLog,
                ScanVectors.widened(problem.b()),
                ScanVectors.widened(problem.c()),
                problem.d().orElseThrow());
        assertThat(ScanVectors.relative(y, ReferenceScan.run(problem).y())).isLessThan(1e-12);
    }
}
