package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.CountedWeights;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tensor-parallel shards of the reference implementation, on the command line. */
final class MambaShardsTest {
    private static final String MAMBA2 = TestData.path("hf/mamba2_as_mamba_ssm").toString();

    @TempDir
    Path folder;

    @Test
    void aBarShowsWhichRankHoldsWhichRows() {
        String shards = TestData.path("mamba-ssm-tp/mha_uneven_ws4").toString();
        CommandRun run = CommandRun.with(Map.of("COLUMNS", "80"), "inspect", shards, "--tensors");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        // Ten heads of four channels on four ranks: 3, 3, 2, 2 in each of q, k and v.
        assertThat(run.lines())
                .contains(
                        "in_proj.weight   F32   [120, 12]  5.63 KiB  0012300112301123",
                        "out_proj.weight  F32   [12, 40]   1.88 KiB  0000011111222333",
                        "out_proj.bias    F32   [12]           48 B  0")
                .allMatch(line -> line.length() <= 80);
    }

    @Test
    void jsonHasTheRangesOfEachRank() {
        String shards = TestData.path("mamba-ssm-tp/mha_uneven_ws4").toString();
        JsonNode document = CommandRun.of("inspect", shards, "--json").json();
        assertThat(JsonSchema.named("inspect").problems(document)).isEmpty();

        JsonNode held = tensor(document, "in_proj.weight").get("held");
        assertThat(held.get("axis").asInt()).isZero();
        assertThat(held.get("by").findValuesAsText("file"))
                .containsExactly("rank0.pt", "rank1.pt", "rank2.pt", "rank3.pt");
        assertThat(held.get("by").get(2).get("tp").asInt()).isEqualTo(2);
        assertThat(held.get("by").get(0).get("ranges").toString()).isEqualTo("[[0,12],[40,52],[80,92]]");
        assertThat(held.get("by").get(2).get("ranges").toString()).isEqualTo("[[24,32],[64,72],[104,112]]");
        JsonNode bias = tensor(document, "out_proj.bias").get("held");
        assertThat(bias.get("axis").isNull()).isTrue();
        assertThat(bias.get("by").findValuesAsText("file")).containsExactly("rank0.pt");
    }

    @Test
    void megatronRanksAndDistributedChunksHaveTheSameTable() {
        Path legacy = TestData.path("megatron-legacy/current_plain_bf16/tp2pp2");
        JsonNode document =
                CommandRun.of("inspect", legacy.toString(), "--json").json();
        assertThat(JsonSchema.named("inspect").problems(document)).isEmpty();
        JsonNode by = tensor(document, "decoder.layers.3.mixer.in_proj.weight")
                .get("held")
                .get("by");
        assertThat(by.get(1).get("file").asText()).contains("mp_rank_01_001");
        assertThat(by.get(1).get("tp").asInt()).isEqualTo(1);
        assertThat(by.get(1).get("pp").asInt()).isEqualTo(1);
        // z, x of 32 channels, B, C of 32 and 8 heads, each halved.
        assertThat(by.get(1).get("ranges").toString()).isEqualTo("[[16,32],[48,64],[80,96],[112,128],[132,136]]");

        Path chunks = TestData.path("megatron-torch-dist/plain_bf16_tp2pp1");
        JsonNode dist = CommandRun.of("inspect", chunks.toString(), "--tensors", "*in_proj.weight", "--json")
                .json();
        assertThat(JsonSchema.named("inspect").problems(dist)).isEmpty();
        JsonNode chunk = dist.get("tensors").get(0).get("held");
        assertThat(chunk.get("axis").asInt()).isZero();
        assertThat(chunk.get("by").get(1).get("ranges").toString())
                .isEqualTo("[[16,32],[48,64],[80,96],[112,128],[132,136]]");
    }

    @Test
    void aDryRunShowsTheRowsOfEachRankWhereTheyAreUneven() throws IOException {
        String source = attentionModel();
        CommandRun run = CommandRun.of("convert", source, folder.resolve("out").toString(), "--tp", "2", "--dry-run");

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        // Three blocks of 128 MLP channels, up before gate; both layers are alike and said once.
        assertThat(run.out())
                .contains("uneven     backbone.layers.*.mlp.fc1.weight [768, 6], rows\n"
                        + "             rank_0.pt: 0-255, 384-639\n"
                        + "             rank_1.pt: 256-383, 640-767\n")
                .contains("uneven     backbone.layers.*.mixer.in_proj.weight [18, 6], rows\n"
                        + "             rank_0.pt: 0-3, 6-9, 12-15\n"
                        + "             rank_1.pt: 4-5, 10-11, 16-17\n");
        assertThat(folder.resolve("out")).doesNotExist();

        JsonNode document = CommandRun.of(
                        "convert", source, folder.resolve("out").toString(), "--tp", "2", "--dry-run", "--json")
                .json();
        assertThat(JsonSchema.named("convert").problems(document)).isEmpty();
        JsonNode first = document.get("plan").get("uneven").get(0);
        assertThat(first.get("tensors")).hasSize(2);
        assertThat(first.get("by").get(1).get("ranges").toString()).isEqualTo("[[4,6],[10,12],[16,18]]");
    }

    @Test
    void evenPlansHaveNoSuchTable() {
        CommandRun run = CommandRun.of("convert", MAMBA2, folder.resolve("out").toString(), "--tp", "2", "--dry-run");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).doesNotContain("uneven");
    }

    @Test
    void aPatternNamesTheRankFiles() throws IOException {
        Path ranks = folder.resolve("ranks");
        CommandRun.of("convert", MAMBA2, ranks.toString(), "--tp", "2");
        Files.move(ranks.resolve("rank_0.pt"), ranks.resolve("a0_of_2.weights"));
        Files.move(ranks.resolve("rank_1.pt"), ranks.resolve("a1_of_2.weights"));
        assertThat(CommandRun.of("inspect", ranks.toString()).exit()).isEqualTo(ExitCode.INPUT);

        String pattern = "a{rank}_of_{world}.weights";
        CommandRun inspect = CommandRun.of("inspect", ranks.toString(), "--file-pattern", pattern);
        assertThat(inspect.lines()).contains("layout     mamba_ssm: mamba_ssm checkpoint: 2 rank file(s) " + pattern);
        CommandRun diff = CommandRun.of("diff", ranks.toString(), MAMBA2, "--file-pattern", pattern);
        assertThat(diff.exit()).as(diff.out() + diff.err()).isEqualTo(ExitCode.OK);
    }

    /** Two attention layers of three heads, with MLPs of 384 channels. */
    private String attentionModel() throws IOException {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", new long[] {8, 6});
        for (int layer = 0; layer < 2; layer++) {
            String prefix = "backbone.layers." + layer + ".";
            shapes.put(prefix + "norm.weight", new long[] {6});
            shapes.put(prefix + "mixer.in_proj.weight", new long[] {18, 6});
            shapes.put(prefix + "mixer.out_proj.weight", new long[] {6, 6});
            shapes.put(prefix + "norm2.weight", new long[] {6});
            shapes.put(prefix + "mlp.fc1.weight", new long[] {768, 6});
            shapes.put(prefix + "mlp.fc2.weight", new long[] {6, 384});
        }
        shapes.put("backbone.norm_f.weight", new long[] {6});
        Path model = folder.resolve("model");
        CountedWeights.write(model.resolve("model.safetensors"), shapes);
        Files.writeString(model.resolve("config.json"), """
                {"d_model": 6, "d_intermediate": 384, "n_layer": 2, "vocab_size": 8, "attn_layer_idx": [0, 1],
                 "attn_cfg": {"num_heads": 3}}""");
        return model.toString();
    }

    private static JsonNode tensor(JsonNode document, String name) {
        for (JsonNode tensor : document.get("tensors")) {
            if (tensor.get("name").asText().equals(name)) {
                return tensor;
            }
        }
        throw new AssertionError(
                "no " + name + " among " + List.of(document.get("tensors").findValuesAsText("name")));
    }
}
