package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.Pass;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Real {@code mamba_ssm} modules: their shards together compute what the whole module computes. */
final class MambaShardsTest {

    static Stream<Path> modules() {
        return TestData.cases("mamba-ssm-tp").stream().filter(folder -> {
            String module = TestData.expected(folder).get("info").get("module").asText();
            return List.of("Mamba2", "MHA", "GatedMLP").contains(module);
        });
    }

    @ParameterizedTest
    @MethodSource("modules")
    void shardsComputeWhatTheWholeModuleComputes(Path folder) throws Exception {
        JsonNode info = TestData.expected(folder).get("info");
        int ranks = TestData.expected(folder).get("world_size").asInt();
        try (FilePool pool = new FilePool()) {
            List<NamedWeights> shards = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                shards.add(Folders.torch(folder.resolve("rank" + rank + ".pt"), pool));
            }
            Mixer whole = mixer(info, List.of(Folders.torch(folder.resolve("full.pt"), pool)));
            Mixer divided = mixer(info, shards);
            float[] expected = run(whole);
            float[] found = run(divided);
            double scale = 0;
            for (float value : expected) {
                scale = Math.max(scale, Math.abs(value));
            }
            assertThat(scale).isGreaterThan(0.1);
            for (int i = 0; i < expected.length; i++) {
                assertThat(Math.abs(found[i] - expected[i]) / scale).isLessThan(2e-6);
            }
        }
    }

    private static float[] run(Mixer mixer) throws IOException {
        RandomGenerator random = Cases.random(3);
        float[] input = new float[2 * 9 * mixer.width()];
        for (int i = 0; i < input.length; i++) {
            input[i] = (float) random.nextGaussian();
        }
        try (Pass pass = new Pass(new CpuBackend(), 2, 9, 0)) {
            return pass.read(mixer.forward(pass, pass.input(input, mixer.width())));
        }
    }

    private static Mixer mixer(JsonNode info, List<NamedWeights> ranks) throws IOException {
        RankWeights weights = new RankWeights(ranks);
        return switch (info.get("module").asText()) {
            case "Mamba2" ->
                parts(
                                info.get("d_model").asInt(),
                                "ssm_cfg",
                                Map.of(
                                        "headdim", info.get("headdim").asInt(),
                                        "d_state", info.get("d_state").asInt()))
                        .mamba2(weights);
            case "MHA" ->
                parts(
                                12,
                                "attn_cfg",
                                Map.of(
                                        "num_heads", info.get("heads").asInt(),
                                        "num_heads_kv", info.get("kv_heads").asInt(),
                                        "head_dim", info.get("head_dim").asInt(),
                                        "causal", true))
                        .attention(weights);
            default -> parts(info.get("d_model").asInt(), "none", Map.of()).mlp(weights);
        };
    }

    private static MambaSsmParts parts(int width, String section, Map<String, Object> values) {
        Map<String, Object> config = new LinkedHashMap<>();
        config.put(section, values);
        return new MambaSsmParts(new Settings("test", config), width);
    }
}
