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
import java.util.stream.Stream;
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

    @Test
    void valuesThatOverflowAreCountedInTheReportAndOnTheTerminal() throws IOException {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", new long[] {11000, 6});
        shapes.put("backbone.norm_f.weight", new long[] {6});
        Path model = folder.resolve("model");
        CountedWeights.write(model.resolve("model.safetensors"), shapes);
        Files.writeString(model.resolve("config.json"), "{\"d_model\": 6, \"n_layer\": 0, \"vocab_size\": 11000}");

        CommandRun run = CommandRun.of(
                "convert", model.toString(), folder.resolve("out").toString(), "--dtype", "fp16", "--json");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        // From 65520 on numbers round to infinity: 480 of the embedding's 66000, and the norm's six.
        assertThat(run.json().get("overflows").toString())
                .isEqualTo("{\"backbone.embedding.weight\":480,\"backbone.norm_f.weight\":6}");
        assertThat(run.err()).contains("backbone.embedding.weight: 480 values are too large for the new element type");
    }

    @Test
    void castSensitiveNeedsACast() {
        CommandRun run = CommandRun.of("convert", MAMBA2, folder.resolve("out").toString(), "--cast-sensitive");
        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("--cast-sensitive casts nothing without --dtype");
    }

    /** A block with a scan and one with attention, each with an MLP, and biases wherever the reference has them. */
    private Path hybrid() throws IOException {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", new long[] {24, 8});
        for (String parameter : """
                0.norm.weight 8;0.mixer.dt_bias 8;0.mixer.A_log 8;0.mixer.D 8;0.mixer.in_proj.weight 56 8
                0.mixer.in_proj.bias 56;0.mixer.conv1d.weight 32 1 4;0.mixer.conv1d.bias 32;0.mixer.norm.weight 16
                0.mixer.out_proj.weight 8 16;0.mixer.out_proj.bias 8;1.norm.weight 8;1.mixer.in_proj.weight 32 8
                1.mixer.in_proj.bias 32;1.mixer.out_proj.weight 8 16;1.mixer.out_proj.bias 8
                0.norm2.weight 8;0.mlp.fc1.weight 512 8;0.mlp.fc2.weight 8 256
                1.norm2.weight 8;1.mlp.fc1.weight 512 8;1.mlp.fc2.weight 8 256""".split("[;\n]")) {
            String[] words = parameter.trim().split(" ");
            shapes.put(
                    "backbone.layers." + words[0],
                    Stream.of(words).skip(1).mapToLong(Long::parseLong).toArray());
        }
        shapes.put("backbone.norm_f.weight", new long[] {8});
        shapes.put("lm_head.weight", new long[] {24, 8});
        Path model = folder.resolve("hybrid");
        CountedWeights.write(model.resolve("model.safetensors"), shapes, i -> 0.6 * Math.sin(1.7 * i));
        Files.writeString(model.resolve("config.json"), """
                {"d_model": 8, "d_intermediate": 256, "n_layer": 2, "vocab_size": 24, "attn_layer_idx": [1],
                 "attn_cfg": {"num_heads": 4, "num_heads_kv": 2, "head_dim": 4, "causal": true},
                 "ssm_cfg": {"layer": "Mamba2", "d_state": 4, "headdim": 2, "ngroups": 2, "bias": true},
                 "tie_embeddings": false}""");
        return model;
    }

    /** Megatron has a row-parallel bias on every rank, the reference on the first: each family gets its own form. */
    @Test
    void hybridsGoToMegatronAndBackAndComputeTheSame() throws IOException {
        String source = hybrid().toString();
        String megatron = folder.resolve("megatron").toString();
        String ranks = folder.resolve("ranks").toString();
        CommandRun there = CommandRun.of("convert", source, megatron, "--to", "megatron", "--tp", "2", "--pp", "2");
        assertThat(there.exit()).as(there.err()).isEqualTo(ExitCode.OK);
        JsonNode inspect = CommandRun.of("inspect", megatron, "--json").json();
        assertThat(inspect.get("pattern").asText()).isEqualTo("M-*-");
        JsonNode bias = tensor(inspect, "decoder.layers.2.self_attention.linear_proj.bias")
                .get("held");
        assertThat(bias.get("by").findValuesAsText("tp")).containsExactly("0", "1");
        assertThat(bias.get("axis").isNull()).isTrue();
        CommandRun verify = CommandRun.of("verify", source, megatron);
        assertThat(verify.exit()).as(verify.out() + verify.err()).isEqualTo(ExitCode.OK);

        CommandRun back = CommandRun.of("convert", megatron, ranks, "--to", "mamba_ssm", "--tp", "2");
        assertThat(back.exit()).as(back.err()).isEqualTo(ExitCode.OK);
        // Megatron has one option for the biases of attention and of MLPs; this model has those of attention alone.
        assertThat(back.err().lines()).hasSize(1).allMatch(line -> line.contains("add_bias_linear"));
        JsonNode shards = CommandRun.of("inspect", ranks, "--json").json();
        assertThat(tensor(shards, "backbone.layers.1.mixer.out_proj.bias")
                        .get("held")
                        .get("by")
                        .findValuesAsText("tp"))
                .containsExactly("0");
        CommandRun diff = CommandRun.of("diff", source, ranks);
        assertThat(diff.exit()).as(diff.out() + diff.err()).isEqualTo(ExitCode.OK);
        CommandRun equal = CommandRun.of("verify", megatron, ranks);
        assertThat(equal.exit()).as(equal.out() + equal.err()).isEqualTo(ExitCode.OK);
    }

    @Test
    void anMlpOfFewBlocksIsDividedInSmallerOnesIfAsked() throws IOException {
        String source = hybrid().toString();
        String out = folder.resolve("out").toString();
        CommandRun refused = CommandRun.of("convert", source, out, "--tp", "4");
        assertThat(refused.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(refused.err())
                .contains("2 groups of heads (ngroups) do not divide evenly by 4")
                .contains(
                        "2 blocks of 128 MLP channels are fewer than 4 ranks (backbone.layers.0.mlp.fc1.weight and 3 more)")
                .contains("try: --tp 2; sizes that divide it: 1, 2; --multiple-of N divides MLPs in other blocks");
        CommandRun run = CommandRun.of("convert", source, out, "--tp", "2", "--multiple-of", "32", "--dry-run");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        CommandRun wrong = CommandRun.of("convert", source, out, "--to", "huggingface", "--multiple-of", "32");
        assertThat(wrong.err()).contains("cannot do --multiple-of");
    }

    @Test
    void whatTheOtherFamilyDoesNotHaveIsNamed() {
        String plain =
                TestData.path("megatron-legacy/current_plain_bf16/tp2pp2").toString();
        CommandRun run = CommandRun.of("convert", plain, folder.resolve("out").toString(), "--to", "mamba_ssm");
        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err())
                .contains("mamba_ssm has no equivalent of: the pattern M-*M")
                .contains("MLPs without a gate (no swiglu)");
        String mamba1 = TestData.path("hf/mamba/bin").toString();
        CommandRun other =
                CommandRun.of("convert", mamba1, folder.resolve("out").toString(), "--to", "megatron");
        assertThat(other.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(other.err()).contains("Megatron has no equivalent of: Mamba-1 layers");
        assertThat(folder.resolve("out")).doesNotExist();
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
