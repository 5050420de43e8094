package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** NemotronH's layers that predict further tokens: Megatron has them in blocks, Hugging Face numbers them through. */
final class NemotronPredictionTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder;

    private String megatron;
    private Path huggingFace;

    @BeforeEach
    void twoBlocksOfThreeLayers() {
        megatron = sample("megatron", "M-M*/*EM/*EM");
        huggingFace = folder.resolve("huggingface");
        run("convert", megatron, huggingFace.toString(), "--to", "huggingface");
    }

    @Test
    void layersAreNumberedThrough() throws IOException {
        // Without its config the file is one of raw names.
        Path bare = Files.createDirectory(folder.resolve("bare"));
        Files.copy(huggingFace.resolve("model.safetensors"), bare.resolve("model.safetensors"));
        Map<String, String> theirs = digests(bare.resolve("model.safetensors").toString());
        Map<String, String> ours = digests(megatron);

        String block = "mtp.layers.1.mtp_model_layer.layers.";
        Map<String, String> pairs = Map.of(
                "mtp.layers.0.eh_proj.weight", "mtp.layers.0.eh_proj.weight",
                "mtp.layers.3.enorm.weight", "mtp.layers.1.enorm.weight",
                "mtp.layers.3.hnorm.weight", "mtp.layers.1.hnorm.weight",
                "mtp.layers.3.mixer.o_proj.weight", block + "0.self_attention.linear_proj.weight",
                "mtp.layers.4.norm.weight", block + "1.pre_mlp_layernorm.weight",
                "mtp.layers.4.mixer.experts.2.up_proj.weight", block + "1.mlp.experts.linear_fc1.weight2",
                "mtp.layers.5.mixer.A_log", block + "2.mixer.A_log",
                "mtp.layers.2.final_layernorm.weight", "mtp.layers.0.final_layernorm.weight",
                "mtp.layers.5.final_layernorm.weight", "mtp.layers.1.final_layernorm.weight");
        pairs.forEach((theirName, ourName) ->
                assertThat(theirs.get(theirName)).as(theirName).isNotNull().isEqualTo(ours.get(ourName)));
        assertThat(theirs.keySet())
                .doesNotContain("mtp.layers.1.enorm.weight", "mtp.layers.0.final_layernorm.weight")
                .allMatch(name -> !name.contains("mtp_model_layer"));

        JsonNode config = JSON.readTree(huggingFace.resolve("config.json").toFile());
        assertThat(config.get("hybrid_override_pattern").asText()).isEqualTo("M-M*");
        assertThat(config.get("num_hidden_layers").asInt()).isEqualTo(4);
        assertThat(config.get("mtp_hybrid_override_pattern").asText()).isEqualTo("*EM");
        assertThat(config.get("num_nextn_predict_layers").asInt()).isEqualTo(2);
        assertThat(config.get("mtp_layers_block_type").toString())
                .isEqualTo("[\"full_attention\",\"moe\",\"linear_attention\"]");
    }

    /** With Megatron's saved options beside it, and from the config alone. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theyComeBack(boolean saved) throws IOException {
        if (!saved) {
            Files.delete(huggingFace.resolve("megatron_state.pt"));
        }
        String back = folder.resolve("back").toString();
        run("convert", huggingFace.toString(), back, "--to", "torch_dist", "--tp", "1");
        assertThat(CommandRun.of("diff", megatron, back).exit()).isEqualTo(ExitCode.OK);
        JsonNode inspect = CommandRun.of("inspect", back, "--json").json();
        assertThat(inspect.get("pattern").asText()).isEqualTo("M-M*/*EM/*EM");
        assertThat(argument(back, "mtp_num_layers")).isEqualTo("2");
        assertThat(CommandRun.of("validate", huggingFace.toString()).exit()).isEqualTo(ExitCode.OK);
    }

    /** One stored block that serves two depths. */
    @Test
    void aBlockMayServeSeveralDepths() throws IOException {
        String one = sample("one", "M-/*E");
        Path model = folder.resolve("model");
        run("convert", one, model.toString(), "--to", "huggingface");
        Files.delete(model.resolve("megatron_state.pt"));
        change(model, "num_nextn_predict_layers", 2);
        String back = folder.resolve("back").toString();
        run("convert", model.toString(), back, "--to", "megatron");
        assertThat(CommandRun.of("inspect", back, "--json")
                        .json()
                        .get("pattern")
                        .asText())
                .isEqualTo("M-/*E/*E");
        assertThat(argument(back, "mtp_use_repeated_layer")).isEqualTo("True");
    }

    /** What transformers saves has no such tensors any more, whatever its config says. */
    @Test
    void aModelThatLostThemHasNone() throws IOException {
        String plain = sample("plain", "M-M*");
        Path model = folder.resolve("model");
        run("convert", plain, model.toString(), "--to", "huggingface");
        Files.delete(model.resolve("megatron_state.pt"));
        change(model, "num_nextn_predict_layers", 1);
        String back = folder.resolve("back").toString();
        run("convert", model.toString(), back, "--to", "megatron");
        assertThat(CommandRun.of("diff", plain, back).exit()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("inspect", back, "--json")
                        .json()
                        .get("pattern")
                        .asText())
                .isEqualTo("M-M*");
    }

    @Test
    void theyComputeTheSame() {
        JsonNode report = CommandRun.of("verify", megatron, huggingFace.toString(), "--json")
                .json();
        Map<String, Boolean> results = new LinkedHashMap<>();
        report.get("layers").forEach(layer -> {
            if (layer.has("layer")) {
                results.put(
                        layer.get("layer") + " " + layer.get("kind").asText(),
                        layer.get("ok").asBoolean());
            }
        });
        assertThat(results.keySet()).contains("4 mtp join", "7 mtp mamba", "8 mtp norm", "12 mtp mamba", "13 mtp norm");
        // The sample's experts are scored by softmax in Megatron, by sigmoid in NemotronH, and the conversion says so.
        results.forEach((layer, ok) -> assertThat(ok).as(layer).isEqualTo(!layer.endsWith("moe")));
    }

    /** A folder remembers the run that it comes from; another number of ranks is written into the options all the same. */
    @ParameterizedTest
    @ValueSource(strings = {"megatron", "torch_dist"})
    void optionsHaveTheSizesThatAreWritten(String layout) {
        String back = folder.resolve("back").toString();
        run("convert", huggingFace.toString(), back, "--to", layout, "--tp", "1", "--pp", "1");
        JsonNode inspect = CommandRun.of("inspect", back, "--json").json();
        assertThat(inspect.get("parallel").get("tp").asInt()).isEqualTo(1);
        assertThat(argument(back, "tensor_model_parallel_size")).isEqualTo("1");
        assertThat(argument(back, "world_size")).isEqualTo("1");
    }

    private String sample(String name, String pattern) {
        String path = folder.resolve(name).toString();
        run("sample", path, "--pattern", pattern, "--hidden", "32", "--heads", "2", "--experts", "3", "--tp", "2");
        return path;
    }

    private static void run(String... words) {
        CommandRun run = CommandRun.of(words);
        assertThat(run.exit()).as(String.join(" ", words) + run.err()).isEqualTo(ExitCode.OK);
    }

    private static void change(Path model, String field, int value) throws IOException {
        Path path = model.resolve("config.json");
        ObjectNode config = (ObjectNode) JSON.readTree(path.toFile());
        Files.writeString(path, config.put(field, value).toString());
    }

    private static String argument(String checkpoint, String name) {
        CommandRun run = CommandRun.of("inspect", checkpoint, "--objects", "args." + name);
        return run.out().substring(run.out().lastIndexOf('=') + 1).strip();
    }

    private static Map<String, String> digests(String checkpoint) {
        Map<String, String> digests = new LinkedHashMap<>();
        JsonNode manifest = CommandRun.of("manifest", checkpoint, "--json").json();
        manifest.get("tensors")
                .forEach(tensor -> digests.put(
                        tensor.get("name").asText(), tensor.get("sha256").asText()));
        return digests;
    }
}
