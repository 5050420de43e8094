package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Configurations that the weights beside them deny: nothing says that such a checkpoint is fine. */
final class DeniedConfigurationTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "hf/bamba | num_attention_heads | 8 | num_attention_heads 8",
                "hf/bamba | num_key_value_heads | 4 | num_key_value_heads 4",
                "hf/bamba | mamba_n_heads | 4 | mamba_n_heads 4, but the weights say 8",
                "hf/bamba | mamba_d_head | 8 | mamba_d_head 8",
                "hf/bamba | mamba_n_groups | 4 | mamba_n_groups 4",
                "hf/bamba | mamba_d_state | 16 | mamba_d_state 16",
                "hf/bamba | mamba_d_conv | 3 | mamba_d_conv 3, but the weights say 4",
                "hf/bamba | intermediate_size | 32 | intermediate_size 32, but the weights say 24",
                "hf/bamba | vocab_size | 48 | vocab_size 48, but the weights say 40",
                "hf/bamba | hidden_size | 32 | hidden_size 32, but the weights say 16",
                "hf/bamba | num_hidden_layers | 2 | num_hidden_layers 2, but the weights have 3 layers",
                "hf/bamba | attn_layer_indices | [0] | attn_layer_indices makes layer 0 one with self_attn.",
                "hf/bamba | mamba_conv_bias | false | mamba_conv_bias is false, but the weights have model.layers.",
                "hf/bamba | attention_bias | true | attention_bias is true, but the weights have no layers.#.self_attn.q_proj.bias",
                "hf/falcon_h1 | mamba_n_heads | 3 | mamba_n_heads 3, but the weights say 6",
                "hf/falcon_h1 | mamba_d_ssm | 32 | mamba_d_ssm 32, but the weights say 24",
                "hf/falcon_h1 | mamba_n_groups | 1 | mamba_n_groups 1",
                "hf/falcon_h1 | mamba_rms_norm | true | mamba_rms_norm is true, but the weights have no",
                "hf/falcon_h1 | num_attention_heads | 2 | num_attention_heads 2",
                "hf/falcon_h1 | intermediate_size | 48 | intermediate_size 48, but the weights say 24",
                "hf/granitemoehybrid | num_local_experts | 3 | num_local_experts 3, but the weights say 4",
                "hf/granitemoehybrid | num_local_experts | 0 | num_local_experts 0, but the weights say 4",
                "hf/granitemoehybrid | num_experts_per_tok | 5 | 5 is not at most 4",
                "hf/granitemoehybrid | shared_intermediate_size | 24 | shared_intermediate_size 24",
                "hf/granitemoehybrid | intermediate_size | 24 | intermediate_size 24",
                "hf/granitemoehybrid | mamba_d_state | 4 | mamba_d_state 4",
                "hf/granitemoehybrid | num_key_value_heads | 1 | num_key_value_heads 1",
                "hf/granitemoehybrid | num_hidden_layers | 2 | num_hidden_layers 2, but the weights have 3 layers",
                "hf/jamba | num_experts | 8 | num_experts 8, but the weights say 4",
                "hf/jamba | num_attention_heads | 2 | num_attention_heads 2",
                "hf/jamba | mamba_d_state | 8 | mamba_d_state 8, but the weights say 4",
                "hf/jamba | mamba_dt_rank | 4 | mamba_dt_rank 4, but the weights say 2",
                "hf/jamba | intermediate_size | 16 | intermediate_size 16, but the weights say 24",
                "hf/jamba | attn_layer_offset | 1 | attn_layer makes layer 1 one with self_attn.",
                "hf/jamba | expert_layer_period | 4 | expert_layer makes layer 3 one with feed_forward.gate_proj.",
                "hf/zamba2 | num_hidden_layers | 3 | num_hidden_layers 3, but the weights have 4 layers",
                "hf/zamba2 | n_mamba_heads | 4 | n_mamba_heads 4, but the weights say 8",
                "hf/zamba2 | mamba_ngroups | 1 | mamba_ngroups 1",
                "hf/zamba2 | num_attention_heads | 2 | num_attention_heads 2",
                "hf/zamba2 | intermediate_size | 12 | intermediate_size 12",
                "hf/zamba2 | adapter_rank | 8 | adapter_rank 8, but the weights say 4",
                "hf/zamba2 | use_shared_attention_adapter | false | use_shared_attention_adapter is false, but",
                "hf/nemotron_h | mamba_num_heads | 4 | mamba_num_heads 4, but the weights say 8",
                "hf/nemotron_h | mamba_head_dim | 8 | mamba_head_dim 8",
                "hf/nemotron_h | n_groups | 4 | n_groups 4",
                "hf/nemotron_h | ssm_state_size | 16 | ssm_state_size 16",
                "hf/nemotron_h | intermediate_size | 12 | intermediate_size 12, but the weights say 24",
                "hf/nemotron_h | n_routed_experts | 2 | n_routed_experts 2, but the weights say 4",
                "hf/nemotron_h | moe_intermediate_size | 6 | moe_intermediate_size 6, but the weights say 12",
                "hf/nemotron_h | vocab_size | 40 | vocab_size 40, but the weights say 48",
                "hf/mamba2 | num_heads | 6 | num_heads 6, but the weights say 12",
                "hf/mamba2 | head_dim | 8 | head_dim 8",
                "hf/mamba2 | n_groups | 1 | n_groups 1",
                "hf/mamba2 | state_size | 16 | state_size 16",
                "hf/mamba2 | num_hidden_layers | 2 | num_hidden_layers 2, but the weights have 3 layers",
                "hf/mamba | state_size | 8 | state_size 8, but the weights say 4",
                "hf/mamba | intermediate_size | 16 | intermediate_size 16, but the weights say 32",
                "hf/mamba | use_conv_bias | false | use_conv_bias is false, but the weights have",
                "hf/mamba2_as_mamba_ssm | n_layer | 2 | n_layer 2, but the weights have 3 layers",
                "hf/mamba2_as_mamba_ssm | rms_norm | false | rms_norm is false, but the weights have no layers.#.norm.bias",
                "hf/mamba2_as_mamba_ssm | ssm_cfg.layer | \"Mamba1\" | ssm_cfg.layer makes layer 0 one with mamba1.",
                "hf/mamba2_as_mamba_ssm | ssm_cfg.d_state | 16 | ssm_cfg.d_state 16",
                "hf/mamba2_as_mamba_ssm | ssm_cfg.headdim | 8 | ssm_cfg.headdim 8",
                "hf/mamba2_as_mamba_ssm | ssm_cfg.ngroups | 1 | ssm_cfg.ngroups 1",
                "hf/mamba2_as_mamba_ssm | vocab_size | 100 | vocab_size 100",
                "hf/mamba2_as_mamba_ssm | attn_layer_idx | [1] | ssm_cfg.layer makes layer 1 one with attention.",
            })
    void theFieldIsNamedWithBothSides(String golden, String field, String value, String expected) throws IOException {
        Path denied = ConfigurationFolders.copy(golden, folder.resolve("denied"));
        ConfigurationFolders.set(denied, field, value);

        CommandRun validated = CommandRun.of("validate", denied.toString());
        CommandRun verified = CommandRun.of("verify", denied.toString(), denied.toString(), "--device", "cpu");

        assertThat(verified.exit()).as(verified.out() + verified.err()).isEqualTo(ExitCode.INPUT);
        assertThat(flat(verified)).contains(expected);
        // What cannot even be opened is refused alike.
        if (validated.exit() != ExitCode.INPUT) {
            assertThat(validated.exit()).as(validated.out()).isEqualTo(ExitCode.NO);
            assertThat(flat(validated)).contains(expected).contains("config.json, ");
        } else {
            assertThat(flat(validated)).contains(expected);
        }
    }

    private static String flat(CommandRun run) {
        return (run.out() + run.err()).replaceAll("\\s+", " ");
    }

    static Stream<String> goldens() throws IOException {
        try (Stream<Path> options = Files.list(TestData.path("hf-options"));
                Stream<Path> models = Files.list(TestData.path("hf"))) {
            return Stream.concat(
                    options.map(path -> "hf-options/" + path.getFileName()),
                    models.map(path -> "hf/" + path.getFileName()))
                    .sorted()
                    .toList()
                    .stream();
        }
    }

    @ParameterizedTest
    @MethodSource("goldens")
    void whatTheLibrariesWroteIsFine(String golden) {
        String path = ConfigurationFolders.golden(golden).toString();

        CommandRun validated = CommandRun.of("validate", path);
        CommandRun verified = CommandRun.of("verify", path, path, "--device", "cpu", "--seq-len", "16");

        assertThat(validated.exit()).as(validated.out() + validated.err()).isEqualTo(ExitCode.OK);
        assertThat(verified.exit()).as(verified.out() + verified.err()).isEqualTo(ExitCode.OK);
    }

    @Test
    void aTiedHeadWithValuesOfItsOwnIsTwoModels() throws IOException {
        for (String golden : List.of("hf/bamba", "hf/nemotron_h", "hf/mamba2", "hf/mamba2_as_mamba_ssm")) {
            Path tied = ConfigurationFolders.copy(golden, folder.resolve(golden));
            String option = golden.endsWith("mamba_ssm") ? "tie_embeddings" : "tie_word_embeddings";
            ConfigurationFolders.set(tied, option, "true");

            CommandRun validated = CommandRun.of("validate", tied.toString());
            CommandRun verified = CommandRun.of("verify", tied.toString(), tied.toString(), "--device", "cpu");

            assertThat(validated.exit()).as(golden).isEqualTo(ExitCode.NO);
            assertThat(flat(validated)).contains("config.json, " + option, "is stored with other values");
            assertThat(verified.exit()).as(golden + verified.out()).isEqualTo(ExitCode.INPUT);
            assertThat(flat(verified)).contains(option).contains("is stored with other values");
        }
        Path logits = folder.resolve("logits.npy");
        CommandRun forward = CommandRun.of(
                "forward",
                folder.resolve("hf/bamba").toString(),
                "--input",
                TestData.path("hf/bamba/input_ids.npy").toString(),
                "-o",
                logits.toString());
        assertThat(forward.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(flat(forward)).contains("tie_word_embeddings");
        assertThat(logits).doesNotExist();
    }

    @Test
    void aHeadBesideItsEmbeddingIsSurplusWhereTheSavedOptionsTieThem() {
        String plain =
                TestData.path("megatron-legacy/current_plain_bf16/tp1pp1").toString();
        String tied = folder.resolve("tied").toString();
        assertThat(CommandRun.of("convert", plain, tied, "--set", "untie_embeddings_and_output_weights=False")
                        .exit())
                .isEqualTo(ExitCode.OK);

        CommandRun validated = CommandRun.of("validate", tied);
        CommandRun verified = CommandRun.of("verify", plain, tied, "--device", "cpu");

        assertThat(validated.exit()).isEqualTo(ExitCode.NO);
        assertThat(flat(validated)).contains("error keys.surplus: untie_embeddings_and_output_weights is False");
        assertThat(verified.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(flat(verified)).contains("INCONCLUSIVE: output_layer.weight of " + tied);
    }

    @Test
    void whatIsMissingIsToldOnce() throws IOException {
        Path model = ConfigurationFolders.copy("hf/bamba", folder.resolve("model"));
        ConfigurationFolders.set(model, "num_hidden_layers", "4");

        CommandRun run = CommandRun.of("validate", model.toString());

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        assertThat(flat(run).split("model\\.layers\\.3", -1)).hasSize(2);
    }
}
