package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.offset;

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
import java.util.Arrays;
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

    static Stream<Path> linears() {
        return TestData.cases("mamba-ssm-tp").stream().filter(folder -> {
            String module = TestData.expected(folder).get("info").get("module").asText();
            return module.endsWith("Linear");
        });
    }

    /** Outputs of column-parallel ranks stand side by side; those of row-parallel ranks are added, rank 0's bias once. */
    @ParameterizedTest
    @MethodSource("linears")
    void ranksOfALinearComputeWhatTheWholeComputes(Path folder) throws Exception {
        JsonNode info = TestData.expected(folder).get("info");
        boolean column = info.get("module").asText().startsWith("Column");
        RandomGenerator random = Cases.random(5);
        double[] input = random.doubles(info.get("in").asInt(), -1, 1).toArray();
        try (FilePool pool = new FilePool()) {
            double[] expected = linear(input, Folders.torch(folder.resolve("full.pt"), pool));
            double[] found = new double[expected.length];
            int at = 0;
            int rank = 0;
            for (JsonNode length : info.get("split")) {
                NamedWeights shard = Folders.torch(folder.resolve("rank" + rank++ + ".pt"), pool);
                double[] own = column ? input : Arrays.copyOfRange(input, at, at + length.asInt());
                double[] part = linear(own, shard);
                for (int i = 0; i < part.length; i++) {
                    found[column ? at + i : i] += part[i];
                }
                at += length.asInt();
            }
            assertThat(found).containsExactly(expected, offset(1e-12));
        }
    }

    private static double[] linear(double[] input, NamedWeights weights) throws IOException {
        float[] weight = weights.get("weight").load();
        int rows = weights.size("weight", 0);
        double[] output = new double[rows];
        for (int row = 0; row < rows; row++) {
            output[row] = weights.has("bias") ? weights.get("bias").load()[row] : 0;
            for (int column = 0; column < input.length; column++) {
                output[row] += (double) weight[row * input.length + column] * input[column];
            }
        }
        return output;
    }

    static Stream<Path> embeddings() {
        return TestData.cases("mamba-ssm-tp").stream()
                .filter(folder -> folder.getFileName().toString().startsWith("embeddings"));
    }

    /** A token's row is on one rank; its position's row is in pieces on all of them. */
    @ParameterizedTest
    @MethodSource("embeddings")
    void ranksOfAnEmbeddingLookUpWhatTheWholeLooksUp(Path folder) throws Exception {
        JsonNode info = TestData.expected(folder).get("info");
        int ranks = TestData.expected(folder).get("world_size").asInt();
        int width = info.get("dim").asInt();
        int own = info.get("vocab").asInt() / ranks;
        int positions = info.get("max_position_embeddings").asInt();
        try (FilePool pool = new FilePool()) {
            NamedWeights whole = Folders.torch(folder.resolve("full.pt"), pool);
            float[] words = whole.get("word_embeddings.weight").load();
            float[] places = whole.get("position_embeddings.weight").load();
            for (int rank = 0; rank < ranks; rank++) {
                NamedWeights shard = Folders.torch(folder.resolve("rank" + rank + ".pt"), pool);
                float[] some = shard.get("word_embeddings.weight").load();
                float[] parts = shard.get("position_embeddings.weight").load();
                assertThat(some).isEqualTo(Arrays.copyOfRange(words, rank * own * width, (rank + 1) * own * width));
                for (int position = 0; position < positions; position++) {
                    int piece = width / ranks;
                    assertThat(Arrays.copyOfRange(parts, position * piece, (position + 1) * piece))
                            .isEqualTo(Arrays.copyOfRange(
                                    places, position * width + rank * piece, position * width + (rank + 1) * piece));
                }
            }
        }
    }

    private static float[] run(Mixer mixer) throws IOException {
        RandomGenerator random = Cases.random(3);
        float[] input = new float[2 * 9 * mixer.width()];
        for (int i = 0; i < input.length; i++) {
            input[i] = (float) random.nextGaussian();
        }
        try (Pass pass = new Pass(new CpuBackend(), 2, 9)) {
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
