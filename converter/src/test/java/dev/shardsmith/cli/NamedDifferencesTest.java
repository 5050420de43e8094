package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * What another framework computes differently from a Hugging Face model is named when the model is converted for it, and nothing
 * is named if it computes the same. Forward passes tell which of the two it is.
 */
final class NamedDifferencesTest {
    /** Fields of config.json by which transformers runs NemotronH. */
    private static final List<String> FIELDS = List.of(
            "hidden_size",
            "intermediate_size",
            "mlp_hidden_act",
            "layer_norm_epsilon",
            "tie_word_embeddings",
            "vocab_size",
            "num_attention_heads",
            "num_key_value_heads",
            "head_dim",
            "mlp_bias",
            "mamba_proj_bias",
            "ssm_state_size",
            "mamba_head_dim",
            "mamba_num_heads",
            "n_groups",
            "conv_kernel",
            "use_conv_bias",
            "chunk_size",
            "layers_block_type");
    /** The same, of models with experts. */
    private static final List<String> ROUTING = List.of(
            "n_routed_experts",
            "num_experts_per_tok",
            "n_group",
            "topk_group",
            "routed_scaling_factor",
            "moe_latent_size",
            "moe_intermediate_size",
            "moe_shared_expert_intermediate_size");

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "nemotron_h_latent, megatron, time_step_min 0.001",
        "nemotron_h_bias, megatron, time_step_min 0.001;biases in the projections of Mamba layers;convolutions without a bias;biases in MLPs alone",
        "nemotron_h_groups, megatron, time_step_min 0.001;norm_topk_prob false",
        "nemotron_h_shared2, megatron, layer_norm_epsilon 0.001;time_step_min 0.001;mlp_hidden_act silu",
        "mamba_untied, mamba_ssm, ''",
        "mamba_bias, mamba_ssm, ''",
        "mamba2_one_head, mamba_ssm, ''",
        "mamba2_bias, mamba_ssm, within each of 2 groups;layer_norm_epsilon 0.001",
        "mamba2_limit, mamba_ssm, within each of 2 groups",
        "mamba2_inner, mamba_ssm, within each of 3 groups",
    })
    void areThoseThatForwardPassesSee(String name, String layout, String expected) throws Exception {
        String source = TestData.path("hf-options", name, "safetensors").toString();
        String target = folder.resolve("target").toString();

        CommandRun converted = CommandRun.of("convert", source, target, "--to", layout, "--json");

        assertThat(converted.exit()).isEqualTo(ExitCode.OK);
        List<String> differences = notes(converted);
        List<String> words = expected.isEmpty() ? List.of() : List.of(expected.split(";"));
        assertThat(differences).hasSameSizeAs(words);
        for (int i = 0; i < words.size(); i++) {
            assertThat(differences.get(i)).contains(words.get(i));
        }
        // A layer that Megatron cannot load as it is computes the same where it is run as it is.
        boolean loadable = name.equals("nemotron_h_bias");
        // Layers are compared without the least time step, and the comparison names it too.
        boolean named = words.stream().anyMatch(word -> word.startsWith("time_step_min"));
        boolean same = loadable || words.size() == (named ? 1 : 0);
        CommandRun verified = CommandRun.of("verify", source, target, "--device", "cpu");
        assertThat(verified.exit()).isEqualTo(same ? ExitCode.OK : ExitCode.NO);
        assertThat(verified.out().contains("without time_step_min 0.001")).isEqualTo(named);
    }

    /** What Megatron trained without a least time step is told of the one that a new config.json has by default; 0 is none. */
    @Test
    void theLeastTimeStepIsNamedWhereMegatronIsLeft() {
        String source =
                TestData.path("hf-options", "nemotron_h_latent", "safetensors").toString();
        String megatron = folder.resolve("megatron").toString();
        CommandRun.of("convert", source, megatron, "--to", "megatron");

        CommandRun left =
                CommandRun.of("convert", megatron, folder.resolve("new").toString(), "--to", "huggingface", "--json");
        CommandRun kept =
                CommandRun.of("convert", source, folder.resolve("kept").toString(), "--to", "huggingface", "--json");

        assertThat(notes(left))
                .anySatisfy(note -> assertThat(note).contains("not the same in NemotronH: time_step_min 0.001"));
        assertThat(kept.exit()).as(kept.err()).isEqualTo(ExitCode.OK);
        assertThat(notes(kept)).noneSatisfy(note -> assertThat(note).contains("time_step"));
    }

    /** Steps without a least one compute the same in both, and a limit that transformers does not read is no difference. */
    @Test
    void noTimeStepIsNamedWhereThereIsNoLeastOne() throws IOException {
        Path source = ConfigurationFolders.copy("hf-options/nemotron_h_latent", folder.resolve("source"));
        ConfigurationFolders.set(source, "time_step_min", "0.0");
        ConfigurationFolders.set(source, "time_step_limit", "[0.05, 0.3]");

        CommandRun converted = CommandRun.of(
                "convert", source.toString(), folder.resolve("target").toString(), "--to", "megatron", "--json");

        assertThat(notes(converted)).noneSatisfy(note -> assertThat(note).contains("time_step"));
    }

    /** With what was named on the way there, the way back gives other logits; without, the same. */
    @ParameterizedTest
    @CsvSource({
        "nemotron_h_latent, ''",
        "nemotron_h_bias, ''",
        "nemotron_h_groups, norm_topk_prob",
        "nemotron_h_shared2, mlp_hidden_act"
    })
    void fieldsComeBackByWayOfMegatron(String name, String lost) throws Exception {
        Path source = TestData.path("hf-options", name, "safetensors");
        String there = folder.resolve("there").toString();
        Path back = folder.resolve("back");

        assertThat(CommandRun.of("convert", source.toString(), there, "--to", "megatron", "--tp", "2")
                        .exit())
                .isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("convert", there, back.toString(), "--to", "huggingface")
                        .exit())
                .isEqualTo(ExitCode.OK);

        JsonNode given = config(source);
        JsonNode made = config(back);
        List<String> fields = new ArrayList<>(FIELDS);
        if (given.get("layers_block_type").toString().contains("moe")) {
            fields.addAll(ROUTING);
        }
        fields.remove(lost);
        for (String field : fields) {
            assertThat(made.get(field)).as(field).isEqualTo(given.get(field));
        }
        assertThat(CommandRun.of("verify", source.toString(), back.toString(), "--device", "cpu")
                        .exit())
                .isEqualTo(lost.isEmpty() ? ExitCode.OK : ExitCode.NO);
    }

    private static JsonNode config(Path folder) throws IOException {
        return new ObjectMapper().readTree(folder.resolve("config.json").toFile());
    }

    private static List<String> notes(CommandRun run) {
        List<String> notes = new ArrayList<>();
        run.json().get("plan").get("notes").forEach(note -> notes.add(note.asText()));
        return notes;
    }
}
