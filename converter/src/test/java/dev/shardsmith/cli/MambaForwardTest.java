package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.params.provider.Arguments.arguments;

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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** What models of the reference implementation and their tensor-parallel shards compute, on the command line. */
final class MambaForwardTest {
    private static final String MAMBA2 = TestData.path("hf/mamba2_as_mamba_ssm").toString();

    @TempDir
    Path folder;

    static Stream<Arguments> modules() {
        String two = "\"d_model\": 8, \"n_layer\": 1, \"vocab_size\": 24, \"pad_vocab_size_multiple\": 1, ";
        String heads = two + "\"attn_layer_idx\": [0], \"attn_cfg\": {\"causal\": true, \"head_dim\": 4, ";
        return Stream.of(
                arguments("Mamba-1", two + "\"ssm_cfg\": {\"d_state\": 4, \"dt_rank\": 2}", 3, """
                        A_log 16 4;D 16;in_proj.weight 32 8;conv1d.weight 16 1 4;conv1d.bias 16;x_proj.weight 10 16
                        dt_proj.weight 16 2;dt_proj.bias 16;out_proj.weight 8 16"""),
                arguments(
                        "Mamba-2 with bypass and biases",
                        two + "\"ssm_cfg\": {\"layer\": \"Mamba2\", \"d_state\": 4, \"headdim\": 2, \"d_ssm\": 8,"
                                + "\"ngroups\": 2, \"bias\": true}",
                        2,
                        """
                        dt_bias 4;A_log 4;D 4;in_proj.weight 52 8;in_proj.bias 52;conv1d.weight 24 1 4;conv1d.bias 24
                        norm.weight 8;out_proj.weight 8 16;out_proj.bias 8"""),
                arguments(
                        "Mamba-3",
                        two + "\"ssm_cfg\": {\"layer\": \"Mamba3\", \"d_state\": 8, \"headdim\": 2}",
                        3,
                        """
                        dt_bias 8;B_bias 8 1 8;C_bias 8 1 8;D 8;in_proj.weight 74 8;B_norm.weight 8;C_norm.weight 8
                        out_proj.weight 8 16"""),
                arguments(
                        "Mamba-3 of several ranks",
                        two + "\"ssm_cfg\": {\"layer\": \"Mamba3\", \"d_state\": 8, \"headdim\": 2, \"is_mimo\": true,"
                                + "\"mimo_rank\": 2, \"is_outproj_norm\": true, \"ngroups\": 2, \"rope_fraction\": 1.0}",
                        2,
                        """
                        dt_bias 8;B_bias 8 2 8;C_bias 8 2 8;mimo_x 8 2 2;mimo_z 8 2 2;mimo_o 8 2 2;D 8
                        in_proj.weight 124 8;B_norm.weight 8;C_norm.weight 8;norm.weight 16;out_proj.weight 8 16"""),
                arguments("attention", heads + "\"num_heads\": 5}", 3, """
                        in_proj.weight 60 8;in_proj.bias 60;out_proj.weight 8 20;out_proj.bias 8"""),
                arguments("grouped attention", heads + "\"num_heads\": 9, \"num_heads_kv\": 3}", 2, """
                        in_proj.weight 60 8;out_proj.weight 8 36"""),
                arguments("attention with a convolution", heads + "\"num_heads\": 5, \"d_conv\": 4}", 3, """
                        in_proj.weight 60 8;in_proj.bias 60;conv1d.weight 60 1 4;conv1d.bias 60;out_proj.weight 8 20
                        out_proj.bias 8"""),
                arguments("attention with an MLP", heads + "\"num_heads\": 5, \"mlp_dim\": 256}", 3, """
                        in_proj.weight 316 8;in_proj.bias 316;out_proj.weight 8 148;out_proj.bias 8"""),
                arguments(
                        "two query heads for each key and an MLP",
                        heads + "\"num_heads\": 10, \"num_heads_kv\": 5, \"mlp_dim\": 256}",
                        3,
                        """
                        in_proj.weight 336 8;out_proj.weight 8 168;out_proj.bias 8"""));
    }

    /** The same weights, of which the configs say different things: the mistake is named, and every layer has its own row. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "\"norm_before_gate\": true | the gate comes on the other side of the norm",
                "\"dt_limit\": [0.0, 0.01] | time steps are limited to [0.0, 0.01]"
            })
    void sameWeightsOfDifferentConfigsAreTold(String option, String hypothesis) throws IOException {
        Path other = Files.createDirectory(folder.resolve("other"));
        Files.copy(Path.of(MAMBA2, "pytorch_model.bin"), other.resolve("pytorch_model.bin"));
        String config = Files.readString(Path.of(MAMBA2, "config.json"));
        Files.writeString(
                other.resolve("config.json"), config.replace("\"ssm_cfg\": {", "\"ssm_cfg\": {" + option + ","));
        CommandRun run = CommandRun.of("verify", MAMBA2, other.toString(), "--json");
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.NO);
        JsonNode layers = run.json().get("layers");
        // Embedding and head agree, the three layers between do not.
        assertThat(layers.findValuesAsText("hypothesis"))
                .containsExactly("null", hypothesis, hypothesis, hypothesis, "null");
    }

    /** D of one number a head, and the same numbers for each channel of it: another shape, the same model. */
    @Test
    void theShapeOfDChangesNothingWhereItsValuesAreTheSame() throws IOException {
        String config = "{\"d_model\": 8, \"n_layer\": 1, \"vocab_size\": 8, \"ssm_cfg\": {\"layer\": \"Mamba2\", "
                + "\"d_state\": 4, \"headdim\": 2%s}}";
        Path heads = folder.resolve("heads");
        Path channels = folder.resolve("channels");
        for (Path model : List.of(heads, channels)) {
            boolean wide = model.equals(channels);
            Map<String, long[]> shapes = new LinkedHashMap<>();
            String mixer = "backbone.layers.0.mixer.";
            // D is the last: only then do the other elements keep their numbers, and so their values.
            shapes.put("backbone.embedding.weight", new long[] {8, 8});
            shapes.put("backbone.layers.0.norm.weight", new long[] {8});
            shapes.put(mixer + "A_log", new long[] {8});
            shapes.put(mixer + "dt_bias", new long[] {8});
            shapes.put(mixer + "in_proj.weight", new long[] {48, 8});
            shapes.put(mixer + "conv1d.weight", new long[] {24, 1, 4});
            shapes.put(mixer + "norm.weight", new long[] {16});
            shapes.put(mixer + "out_proj.weight", new long[] {8, 16});
            shapes.put("backbone.norm_f.weight", new long[] {8});
            int before = 64 + 8 + 8 + 8 + 48 * 8 + 24 * 4 + 16 + 8 * 16 + 8;
            shapes.put(mixer + "D", new long[] {wide ? 16 : 8});
            CountedWeights.write(
                    model.resolve("model.safetensors"),
                    shapes,
                    i -> 0.5 * Math.sin(1.7 * (i < before || !wide ? i : before + (i - before) / 2)));
            Files.writeString(model.resolve("config.json"), config.formatted(wide ? ", \"D_has_hdim\": true" : ""));
        }
        CommandRun run = CommandRun.of("verify", heads.toString(), channels.toString());
        assertThat(run.exit()).as(run.out() + run.err()).isEqualTo(ExitCode.OK);
        CommandRun diff = CommandRun.of("diff", heads.toString(), channels.toString());
        assertThat(diff.exit()).isEqualTo(ExitCode.NO);
        assertThat(diff.out()).contains("mixer.D");
    }

    /** The exponential is of a number in float32, whatever it is stored in. */
    @Test
    void halfPrecisionIsWidenedBeforeTheExponential() {
        String half = folder.resolve("half").toString();
        String wide = folder.resolve("wide").toString();
        CommandRun.of("convert", MAMBA2, half, "--dtype", "bf16", "--cast-sensitive");
        CommandRun.of("convert", half, wide, "--dtype", "fp32");
        CommandRun run = CommandRun.of("verify", half, wide, "--json");
        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.json().get("layers").findValues("maxAbs"))
                .hasSizeGreaterThan(2)
                .allMatch(value -> value.asDouble() == 0);
    }

    /** The whole model and its shards, each run as its framework would, give the same; so does the model merged again. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("modules")
    void shardsComputeWhatTheWholeModelComputes(String name, String config, int world, String mixer)
            throws IOException {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", new long[] {24, 8});
        shapes.put("backbone.layers.0.norm.weight", new long[] {8});
        for (String parameter : mixer.split("[;\n]")) {
            String[] words = parameter.trim().split(" ");
            shapes.put(
                    "backbone.layers.0.mixer." + words[0],
                    Stream.of(words).skip(1).mapToLong(Long::parseLong).toArray());
        }
        shapes.put("backbone.norm_f.weight", new long[] {8});
        Path whole = folder.resolve("whole");
        CountedWeights.write(whole.resolve("model.safetensors"), shapes, i -> 0.6 * Math.sin(1.7 * i));
        Files.writeString(whole.resolve("config.json"), "{" + config + "}}");
        String ranks = folder.resolve("ranks").toString();
        String merged = folder.resolve("merged").toString();
        CommandRun divide = CommandRun.of("convert", whole.toString(), ranks, "--tp", "" + world);
        assertThat(divide.exit()).as(divide.err()).isEqualTo(ExitCode.OK);
        assertThat(divide.err()).doesNotContain("warning");

        CommandRun verify = CommandRun.of("verify", whole.toString(), ranks, "--json");
        assertThat(verify.exit()).as(verify.out() + verify.err()).isEqualTo(ExitCode.OK);
        assertThat(verify.json().get("layers")).isNotEmpty();
        CommandRun merge = CommandRun.of("convert", ranks, merged, "--tp", "1");
        assertThat(merge.exit()).as(merge.err()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", whole.toString(), merged).exit()).isEqualTo(ExitCode.OK);
    }
}
