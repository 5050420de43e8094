package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.Pass;
import dev.shardsmith.verify.forward.Signal;
import dev.shardsmith.verify.forward.WeightSource;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Whole Mamba-2 blocks computed once in double precision by another program. */
final class MixerVectorsTest {

    @ParameterizedTest
    @ValueSource(strings = {"mixer_small", "mixer_one_group", "mixer_with_bias_conv3"})
    void mixersAgreeWithTheGoldenOnesWithinTheirOwnErrorEstimate(String name) throws Exception {
        Vectors v = Vectors.of(name);
        try (Pass pass = new Pass(new CpuBackend(), v.input.shape()[0], v.input.shape()[1])) {
            Signal out = v.mixer.forward(pass, pass.input(v.input.floats(), v.mixer.width()));
            float[] found = pass.read(out);
            assertThat(found).hasSize(v.expected.length);
            for (int i = 0; i < v.expected.length; i++) {
                double error = Math.abs(found[i] - v.expected[i]);
                assertThat(error).isLessThan(1e-5);
                assertThat(error).isLessThan(8 * out.error()[i / v.mixer.width()]);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"mixer_small", "mixer_one_group", "mixer_with_bias_conv3"})
    void mixersInDoubleAreTheGoldenOnes(String name) throws Exception {
        Vectors v = Vectors.of(name);
        WideBackend backend = new WideBackend();
        try (Pass pass = new Pass(backend, v.input.shape()[0], v.input.shape()[1])) {
            Signal out = v.mixer.forward(pass, pass.input(v.input.floats(), v.mixer.width()));
            double[] found = backend.downloadWide(out.values());
            double size = Arrays.stream(v.expected).map(Math::abs).max().orElseThrow();
            assertThat(found).hasSize(v.expected.length);
            for (int i = 0; i < found.length; i++) {
                assertThat(Math.abs(found[i] - v.expected[i]) / size).isLessThan(1e-10);
            }
        }
    }

    /** A mixer, its input and what it gives. */
    private record Vectors(Mixer mixer, NpyFile input, double[] expected) {
        static Vectors of(String name) throws IOException {
            Path folder = TestData.path("ssd", name);
            JsonNode params = TestData.expected(folder).get("params");
            Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
            for (Path file : Folders.files(folder, ".npy")) {
                String tensor = file.getFileName().toString().replace(".npy", "");
                if (tensor.startsWith("w.")) {
                    NpyFile array = NpyFile.read(file);
                    entries.put(
                            tensor.substring(2),
                            new NamedWeights.Entry(array.shape(), WeightSource.of(array.floats())));
                }
            }
            Map<String, Object> config = Map.of(
                    "ssm_cfg",
                    Map.of(
                            "headdim", params.get("headdim").asInt(),
                            "d_state", params.get("d_state").asInt()));
            NpyFile input = NpyFile.read(folder.resolve("u.npy"));
            double[] expected = NpyFile.read(folder.resolve("out.npy")).values();
            int width = input.shape()[2];
            Mixer mixer = new MambaSsmParts(new Settings("test", config), width)
                    .mamba2(new RankWeights(List.of(new NamedWeights(entries))));
            return new Vectors(mixer, input, expected);
        }
    }
}
