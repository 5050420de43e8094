package dev.shardsmith.verify.forward;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** The golden scans under {@code test-data/ssd}. */
final class ScanVectors {
    private ScanVectors() {}

    static List<String> names() {
        return TestData.cases("ssd").stream()
                .map(folder -> folder.getFileName().toString())
                .filter(name -> name.startsWith("scan_"))
                .toList();
    }

    static ScanProblem problem(String name) throws IOException {
        Path folder = TestData.path("ssd", name);
        int[] x = NpyFile.read(folder.resolve("x.npy")).shape();
        int[] b = NpyFile.read(folder.resolve("B.npy")).shape();
        JsonNode params = TestData.expected(folder).get("params");
        ScanShape shape = new ScanShape(x[0], x[1], x[2], x[3], b[2], b[3]);
        ScanProblem problem = ScanProblem.of(
                shape,
                floats(folder, "x"),
                floats(folder, "dt"),
                floats(folder, "A_log"),
                floats(folder, "B"),
                floats(folder, "C"));
        problem = problem.withTimeStep(optional(folder, "dt_bias"), timeStep(params));
        if (Files.exists(folder.resolve("D.npy"))) {
            problem = problem.withD(floats(folder, "D"));
        }
        if (Files.exists(folder.resolve("z.npy"))) {
            problem = problem.withGate(floats(folder, "z"));
        }
        if (Files.exists(folder.resolve("initial_state.npy"))) {
            problem = problem.withInitialState(floats(folder, "initial_state"));
        }
        return problem;
    }

    private static TimeStep timeStep(JsonNode params) {
        JsonNode limit = params.get("dt_limit");
        return limit == null || limit.isNull()
                ? TimeStep.SOFTPLUS
                : TimeStep.limited(limit.get(0).asDouble(), limit.get(1).asDouble());
    }

    private static float[] floats(Path folder, String name) throws IOException {
        return NpyFile.read(folder.resolve(name + ".npy")).floats();
    }

    private static Optional<float[]> optional(Path folder, String name) throws IOException {
        return Files.exists(folder.resolve(name + ".npy")) ? Optional.of(floats(folder, name)) : Optional.empty();
    }

    static double[] expected(String name, String array) throws IOException {
        return NpyFile.read(TestData.path("ssd", name, array + ".npy")).values();
    }

    /** The largest difference, relative to the largest expected value. */
    static double relative(double[] found, double[] expected) {
        double difference = 0;
        double scale = 0;
        for (int i = 0; i < expected.length; i++) {
            difference = Math.max(difference, Math.abs(found[i] - expected[i]));
            scale = Math.max(scale, Math.abs(expected[i]));
        }
        return scale == 0 ? difference : difference / scale;
    }

    static double[] widened(float[] values) {
        double[] wide = new double[values.length];
        for (int i = 0; i < wide.length; i++) {
            wide[i] = values[i];
        }
        return wide;
    }
}
