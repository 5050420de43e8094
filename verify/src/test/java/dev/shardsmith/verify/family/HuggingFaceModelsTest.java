package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class HuggingFaceModelsTest {

    static Stream<Arguments> models() {
        return Stream.of(
                        "mamba",
                        "mamba2",
                        "mamba2_tied",
                        "nemotron_h",
                        "nemotron_h_nomoe",
                        "bamba",
                        "falcon_h1",
                        "granitemoehybrid",
                        "jamba",
                        "zamba2")
                .flatMap(name -> Stream.of(Arguments.of(name, "safetensors"), Arguments.of(name, "bin")));
    }

    /** Models whose configurations leave the defaults: biases, norms, clamps, periods, groups, untied heads. */
    static Stream<Path> options() throws IOException {
        try (Stream<Path> folders = Files.list(TestData.path("hf-options"))) {
            List<Path> all = folders.sorted().toList();
            assertThat(all).hasSize(27);
            return all.stream();
        }
    }

    @ParameterizedTest
    @MethodSource("models")
    void logitsAreThoseOfTransformers(String name, String form) throws Exception {
        assertThat(error(TestData.path("hf", name), form)).isLessThan(1e-4);
    }

    @ParameterizedTest
    @MethodSource("options")
    void logitsOfOtherConfigurationsAreThoseOfTransformers(Path folder) throws Exception {
        assertThat(error(folder, "safetensors")).isLessThan(1e-5);
    }

    /** The largest error of a logit, in parts of the largest logit. */
    private static double error(Path folder, String form) throws Exception {
        NpyFile ids = NpyFile.read(folder.resolve("input_ids.npy"));
        NpyFile expected = NpyFile.read(folder.resolve("logits_f32.npy"));
        int[] tokens = new int[ids.values().length];
        for (int i = 0; i < tokens.length; i++) {
            tokens[i] = (int) ids.values()[i];
        }
        try (FilePool pool = new FilePool()) {
            Path model = folder.resolve(form);
            LayeredModel layered = HuggingFaceModels.of(Folders.config(model), HuggingFaceFolder.open(model, pool));
            float[] logits = layered.logits(
                    new CpuBackend(),
                    tokens,
                    ids.shape()[0],
                    ids.shape()[1],
                    (done, all) -> assertThat(done).isLessThanOrEqualTo(all));
            double worst = 0;
            double scale = 0;
            for (int i = 0; i < logits.length; i++) {
                worst = Math.max(worst, Math.abs(logits[i] - expected.values()[i]));
                scale = Math.max(scale, Math.abs(expected.values()[i]));
            }
            assertThat(logits).hasSize(expected.values().length);
            return worst / scale;
        }
    }

    /** Transformers ran these models in double, but for norms, scans and softmax, which are float there in any case. */
    @ParameterizedTest
    @ValueSource(strings = {"bamba", "zamba2", "falcon_h1"})
    void logitsInDoubleAreThoseOfTransformersInDouble(String name) throws Exception {
        Path folder = TestData.path("hf", name);
        NpyFile ids = NpyFile.read(folder.resolve("input_ids.npy"));
        double[] expected = NpyFile.read(folder.resolve("logits_f64.npy")).values();
        int[] tokens = Arrays.stream(ids.values()).mapToInt(id -> (int) id).toArray();
        try (FilePool pool = new FilePool()) {
            Path model = folder.resolve("safetensors");
            double[] logits = HuggingFaceModels.of(Folders.config(model), HuggingFaceFolder.open(model, pool))
                    .logitsWide(new WideBackend(), tokens, ids.shape()[0], ids.shape()[1], (done, all) -> {});
            double scale = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
            assertThat(logits).hasSize(expected.length);
            for (int i = 0; i < expected.length; i++) {
                assertThat(Math.abs(logits[i] - expected[i]) / scale).isLessThan(1e-6);
            }
        }
    }

    /** The pattern of an older configuration, with the stages that its run had. */
    @Test
    void patternsOfSymbolsMayHaveStages(@TempDir Path folder) throws Exception {
        Path original = TestData.path("hf", "nemotron_h_nomoe");
        Path model = Files.createDirectory(folder.resolve("safetensors"));
        try (Stream<Path> files = Files.list(original.resolve("safetensors"))) {
            for (Path file : files.toList()) {
                Files.copy(file, model.resolve(file.getFileName()));
            }
        }
        for (String array : List.of("input_ids.npy", "logits_f32.npy")) {
            Files.copy(original.resolve(array), folder.resolve(array));
        }
        String config = Files.readString(model.resolve("config.json"));
        Files.writeString(
                model.resolve("config.json"),
                config.replaceFirst("\"layers_block_type\": \\[[^]]*]", "\"hybrid_override_pattern\": \"M-M*|M-M-\""));

        assertThat(error(folder, "safetensors")).isLessThan(1e-5);
    }
}
