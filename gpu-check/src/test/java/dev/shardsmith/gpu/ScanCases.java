package dev.shardsmith.gpu;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;

/** Golden and random scans, and how far results are from what is expected. */
final class ScanCases {
    private ScanCases() {}

    static List<String> vectors() {
        return TestData.cases("ssd").stream()
                .map(folder -> folder.getFileName().toString())
                .filter(name -> name.startsWith("scan_"))
                .toList();
    }

    static ScanProblem vector(String name) throws IOException {
        Path folder = TestData.path("ssd", name);
        int[] x = NpyFile.read(folder.resolve("x.npy")).shape();
        int[] b = NpyFile.read(folder.resolve("B.npy")).shape();
        JsonNode limit = TestData.expected(folder).get("params").get("dt_limit");
        ScanProblem problem = ScanProblem.of(
                        new ScanShape(x[0], x[1], x[2], x[3], b[2], b[3]),
                        floats(folder, "x").orElseThrow(),
                        floats(folder, "dt").orElseThrow(),
                        floats(folder, "A_log").orElseThrow(),
                        floats(folder, "B").orElseThrow(),
                        floats(folder, "C").orElseThrow())
                .withTimeStep(
                        floats(folder, "dt_bias"),
                        limit == null || limit.isNull()
                                ? TimeStep.SOFTPLUS
                                : TimeStep.limited(
                                        limit.get(0).asDouble(), limit.get(1).asDouble()));
        Optional<float[]> d = floats(folder, "D");
        Optional<float[]> z = floats(folder, "z");
        Optional<float[]> state = floats(folder, "initial_state");
        problem = d.isPresent() ? problem.withD(d.get()) : problem;
        problem = z.isPresent() ? problem.withGate(z.get()) : problem;
        return state.isPresent() ? problem.withInitialState(state.get()) : problem;
    }

    private static Optional<float[]> floats(Path folder, String name) throws IOException {
        Path file = folder.resolve(name + ".npy");
        return Files.exists(file) ? Optional.of(NpyFile.read(file).floats()) : Optional.empty();
    }

    static double[] expected(String name, String array) throws IOException {
        return NpyFile.read(TestData.path("ssd", name, array + ".npy")).values();
    }

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

    /** One size with no option, with all of them, and packed. */
    static List<ScanProblem> variants(RandomGenerator random, ScanShape shape) {
        ScanProblem plain = plain(random, shape);
        ScanProblem full = plain.withD(normals(random, shape.inner(), 1, 0))
                .withGate(normals(random, shape.tokens() * shape.inner(), 1, 0))
                .withTimeStep(Optional.of(normals(random, shape.heads(), 1, -1)), TimeStep.limited(0.01, 0.2))
                .withInitialState(normals(random, shape.batch() * shape.stateSize(), 1, 0));
        if (shape.batch() > 1 || shape.length() < 8) {
            return List.of(plain, full);
        }
        int third = shape.length() / 3;
        int[] starts = {0, 1, third, third + 2, shape.length()};
        int[] ids = new int[shape.length()];
        for (int t = 0; t < ids.length; t++) {
            ids[t] = t < third ? 0 : t < third + 2 ? 3 : 7;
        }
        return List.of(
                plain,
                full,
                full.withSequenceStarts(starts),
                plain.withSequenceStarts(starts),
                full.withSequenceIds(ids));
    }

    static ScanProblem next(RandomGenerator random) {
        int groups = random.nextInt(1, 4);
        ScanShape shape = new ScanShape(
                random.nextInt(1, 3),
                random.nextInt(1, 400),
                groups * random.nextInt(1, 4),
                random.nextInt(1, 140),
                groups,
                random.nextInt(1, 150));
        List<ScanProblem> variants = variants(random, shape);
        return variants.get(random.nextInt(variants.size()));
    }

    /** The same scan with x, dt, B, C and z rounded to bfloat16. */
    static ScanProblem bfloat16(ScanProblem p) {
        return new ScanProblem(
                p.shape(),
                rounded(p.x()),
                rounded(p.dt()),
                p.aLog(),
                rounded(p.b()),
                rounded(p.c()),
                p.d(),
                p.z().map(ScanCases::rounded),
                p.dtBias(),
                p.timeStep(),
                p.initialState(),
                p.sequenceIds(),
                p.sequenceStarts());
    }

    private static float[] rounded(float[] values) {
        float[] result = new float[values.length];
        for (int i = 0; i < values.length; i++) {
            int bits = Float.floatToRawIntBits(values[i]);
            result[i] = Float.intBitsToFloat(bits + 0x7FFF + (bits >>> 16 & 1) & 0xFFFF0000);
        }
        return result;
    }

    /** The largest difference, relative to the largest expected value; infinite where something is not a number. */
    static double relative(float[] found, double[] expected) {
        double scale = 0;
        for (double value : expected) {
            scale = Math.max(scale, Math.abs(value));
        }
        double difference = largest(found, expected);
        return scale == 0 ? difference : difference / scale;
    }

    static double largest(float[] found, double[] expected) {
        if (found.length != expected.length) {
            return Double.POSITIVE_INFINITY;
        }
        double difference = 0;
        for (int i = 0; i < expected.length; i++) {
            double own = Math.abs(found[i] - expected[i]);
            difference = own <= difference ? difference : Double.isNaN(own) ? Double.POSITIVE_INFINITY : own;
        }
        return difference;
    }

    static double rms(float[] found, double[] expected) {
        double sum = 0;
        for (int i = 0; i < expected.length; i++) {
            sum += (found[i] - expected[i]) * (found[i] - expected[i]);
        }
        return Math.sqrt(sum / expected.length);
    }

    static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
