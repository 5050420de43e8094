package dev.shardsmith.verify.forward;

import java.util.Arrays;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Random scans, seeded. */
final class RandomScans {
    private RandomScans() {}

    static float[] normals(RandomGenerator random, int count, double scale, double mean) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (mean + scale * random.nextGaussian());
        }
        return values;
    }

    static ScanProblem plain(RandomGenerator random, ScanShape shape) {
        return ScanProblem.of(
                shape,
                normals(random, shape.tokens() * shape.inner(), 1, 0),
                normals(random, shape.tokens() * shape.heads(), 1, -2),
                normals(random, shape.heads(), 0.7, 1),
                normals(random, shape.tokens() * shape.groupState(), 1, 0),
                normals(random, shape.tokens() * shape.groupState(), 1, 0));
    }

    static ScanProblem next(RandomGenerator random) {
        int groups = random.nextInt(1, 4);
        boolean packed = random.nextBoolean();
        ScanShape shape = new ScanShape(
                packed ? 1 : random.nextInt(1, 3),
                random.nextInt(1, 70),
                groups * random.nextInt(1, 4),
                random.nextInt(1, 9),
                groups,
                random.nextInt(1, 20));
        ScanProblem problem = plain(random, shape);
        if (random.nextBoolean()) {
            problem = problem.withD(normals(random, random.nextBoolean() ? shape.heads() : shape.inner(), 1, 0));
        }
        if (random.nextBoolean()) {
            problem = problem.withGate(normals(random, problem.x().length, 1, 0));
        }
        if (random.nextBoolean()) {
            problem = problem.withTimeStep(
                    Optional.of(normals(random, shape.heads(), 1, -1)),
                    random.nextBoolean() ? TimeStep.limited(0.01, 0.2) : TimeStep.SOFTPLUS);
        }
        if (random.nextBoolean()) {
            problem = problem.withInitialState(normals(random, shape.batch() * shape.stateSize(), 1, 0));
        }
        if (packed && shape.length() > 2) {
            int middle = random.nextInt(1, shape.length());
            problem = problem.withSequenceStarts(new int[] {0, middle, shape.length()});
        }
        return problem;
    }

    /** Some tokens of a scan of one row without options. */
    static ScanProblem tokens(ScanProblem whole, int from, int to) {
        ScanShape old = whole.shape();
        ScanShape shape = new ScanShape(1, to - from, old.heads(), old.headDim(), old.groups(), old.state());
        return ScanProblem.of(
                shape,
                Arrays.copyOfRange(whole.x(), from * old.inner(), to * old.inner()),
                Arrays.copyOfRange(whole.dt(), from * old.heads(), to * old.heads()),
                whole.aLog(),
                Arrays.copyOfRange(whole.b(), from * old.groupState(), to * old.groupState()),
                Arrays.copyOfRange(whole.c(), from * old.groupState(), to * old.groupState()));
    }
}
