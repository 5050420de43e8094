package dev.shardsmith.reshard.layout;

import static dev.shardsmith.reshard.layout.MambaConversions.convert;
import static dev.shardsmith.reshard.layout.MambaConversions.digests;
import static dev.shardsmith.reshard.layout.MambaConversions.json;
import static dev.shardsmith.reshard.layout.MambaConversions.types;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.testdata.CountedWeights;
import dev.shardsmith.testdata.TestData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class MambaConversionTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"mamba2_as_mamba_ssm,mamba2", "mamba2_tied_as_mamba_ssm,mamba2_tied"})
    void isTheSameModelAsItsHuggingFaceForm(String reference, String huggingFace) throws Exception {
        assertThat(digests(TestData.path("hf", reference)))
                .isEqualTo(digests(TestData.path("hf", huggingFace, "safetensors")));
    }

    @Test
    void goesToTwoRanksAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba2_as_mamba_ssm");
        Path ranks = folder.resolve("ranks");
        Path back = folder.resolve("back");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        assertThat(ranks.resolve("rank_0.pt")).exists();
        assertThat(ranks.resolve("rank_1.pt")).exists();
        assertThat(digests(ranks)).isEqualTo(digests(source));
        convert(ranks, back, Layout.MAMBA_SSM, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
        assertThat(back.resolve("pytorch_model.bin")).exists();
        assertThat(Files.readString(back.resolve("config.json"))).contains("\"ngroups\": 2");
    }

    @Test
    void goesToHuggingFaceAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba2_tied_as_mamba_ssm");
        Path huggingFace = folder.resolve("hf");
        Path back = folder.resolve("back");
        convert(source, huggingFace, Layout.HUGGINGFACE, 1);
        assertThat(digests(huggingFace)).isEqualTo(digests(source));
        convert(huggingFace, back, Layout.MAMBA_SSM, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
        // Both names are there again, on one storage.
        try (FilePool pool = new FilePool()) {
            List<NamedTensor> tensors =
                    TorchFile.open(pool, back.resolve("pytorch_model.bin")).tensors();
            assertThat(tensors).extracting(NamedTensor::name).contains("backbone.embedding.weight", "lm_head.weight");
            assertThat(TorchFile.open(pool, back.resolve("pytorch_model.bin")).storages())
                    .hasSize(tensors.size() - 1);
        }
    }

    @Test
    void mamba1GoesToHuggingFaceAndBack() throws Exception {
        Path source = TestData.path("hf", "mamba", "bin");
        Path ranks = folder.resolve("ranks");
        Path back = folder.resolve("back");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        convert(ranks, back, Layout.HUGGINGFACE, 1);
        assertThat(digests(back)).isEqualTo(digests(source));
    }

    @ParameterizedTest
    @CsvSource({"MEGATRON", "TORCH_DIST", "HUGGINGFACE", "SAFETENSORS"})
    void aCastOfAHybridLeavesSensitiveParametersAlone(Layout layout) throws Exception {
        Path source = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Map<String, DType> before = types(source);
        assertThat(before).containsEntry("decoder.layers.0.mixer.A_log", DType.F32);
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.dtype = Optional.of(DType.F16);
        convert(source, folder.resolve("kept"), options);
        Map<String, DType> after = types(folder.resolve("kept"));
        assertThat(after).hasSameSizeAs(before);
        // Parameters that are in bfloat16 already are sensitive no more: dt_bias is cast.
        after.forEach((name, type) ->
                assertThat(type).as(name).isEqualTo(name.matches(".*\\.(A_log|D)") ? DType.F32 : DType.F16));
        options.castSensitive = true;
        convert(source, folder.resolve("cast"), options);
        assertThat(types(folder.resolve("cast")).values()).containsOnly(DType.F16);
    }

    @ParameterizedTest
    @CsvSource({"MAMBA_SSM", "HUGGINGFACE", "SAFETENSORS", "PT"})
    void aCastLeavesSensitiveParametersAloneUnlessAsked(Layout layout) throws Exception {
        Path source = TestData.path("hf", "mamba2_as_mamba_ssm");
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.dtype = Optional.of(DType.BF16);
        Path kept = folder.resolve("kept");
        assertThat(convert(source, kept, options)).anyMatch(note -> note.contains("--cast-sensitive casts them too"));
        Map<String, DType> types = types(kept);
        String layer = layout == Layout.MAMBA_SSM || layout == Layout.HUGGINGFACE ? "backbone.layers.0." : "";
        types.forEach((name, type) -> {
            boolean sensitive = name.matches(".*\\.(A_log|D|dt_bias)");
            assertThat(type).as(name).isEqualTo(sensitive ? DType.F32 : DType.BF16);
        });
        assertThat(types.keySet()).anyMatch(name -> name.startsWith(layer) && name.endsWith("mixer.dt_bias"));
        options.castSensitive = true;
        Path cast = folder.resolve("cast");
        assertThat(convert(source, cast, options)).noneMatch(note -> note.contains("cast-sensitive"));
        assertThat(types(cast).values()).containsOnly(DType.BF16);
    }

    /** Eight groups, an untied head, options that Hugging Face has no field for: all of it comes back. */
    @Test
    void configsComeBackAsTheyWere() throws Exception {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", new long[] {24, 16});
        shapes.put("backbone.layers.0.norm.weight", new long[] {16});
        String mixer = "backbone.layers.0.mixer.";
        shapes.put(mixer + "dt_bias", new long[] {8});
        shapes.put(mixer + "A_log", new long[] {8});
        shapes.put(mixer + "D", new long[] {8});
        shapes.put(mixer + "in_proj.weight", new long[] {32 + 32 + 2 * 32 + 8, 16});
        shapes.put(mixer + "conv1d.weight", new long[] {32 + 2 * 32, 1, 4});
        shapes.put(mixer + "conv1d.bias", new long[] {32 + 2 * 32});
        shapes.put(mixer + "norm.weight", new long[] {32});
        shapes.put(mixer + "out_proj.weight", new long[] {16, 32});
        shapes.put("backbone.norm_f.weight", new long[] {16});
        shapes.put("lm_head.weight", new long[] {24, 16});
        Path source = folder.resolve("source");
        CountedWeights.write(source.resolve("model.safetensors"), shapes);
        String config = """
                {"d_model": 16, "d_intermediate": 0, "n_layer": 1, "vocab_size": 21,
                 "ssm_cfg": {"layer": "Mamba2", "ngroups": 8, "d_state": 4, "headdim": 4, "dt_limit": [0.0, Infinity],
                             "A_init_range": [1, 16]},
                 "attn_layer_idx": [], "attn_cfg": {}, "rms_norm": true, "residual_in_fp32": true,
                 "fused_add_norm": true, "pad_vocab_size_multiple": 8, "tie_embeddings": false}""";
        Files.writeString(source.resolve("config.json"), config);
        Path huggingFace = folder.resolve("hf");
        Path ranks = folder.resolve("ranks");
        Path back = folder.resolve("back");
        convert(source, huggingFace, Layout.HUGGINGFACE, 1);
        Map<String, Object> made = json(huggingFace.resolve("config.json"));
        assertThat(made)
                .containsEntry("n_groups", 8L)
                .containsEntry("vocab_size", 24L)
                .containsEntry("num_heads", 8L)
                .containsEntry("tie_word_embeddings", false);
        convert(huggingFace, ranks, Layout.MAMBA_SSM, 8);
        assertThat(json(ranks.resolve("config.json"))).isEqualTo(json(source.resolve("config.json")));
        convert(ranks, back, Layout.HUGGINGFACE, 1);
        assertThat(json(back.resolve("config.json"))).isEqualTo(made);
        assertThat(digests(back)).isEqualTo(digests(source));
    }

    @ParameterizedTest
    @CsvSource({"mamba2,safetensors,2", "mamba,bin,5", "mamba2_tied,safetensors,1"})
    void configsOfHuggingFaceComeBackAsTheyWere(String model, String form, int world) throws Exception {
        Path source = TestData.path("hf", model, form);
        Path ranks = folder.resolve("ranks");
        Path whole = folder.resolve("whole");
        Path back = folder.resolve("back");
        convert(source, ranks, Layout.MAMBA_SSM, world);
        convert(ranks, whole, Layout.MAMBA_SSM, 1);
        convert(whole, back, Layout.HUGGINGFACE, 1);
        assertThat(json(back.resolve("config.json"))).isEqualTo(json(source.resolve("config.json")));
        assertThat(digests(back)).isEqualTo(digests(source));
        // A config that was changed since is not overruled by what was kept.
        String changed = Files.readString(whole.resolve("config.json")).replace("\"d_conv\": 4", "\"d_conv\": 3");
        Files.writeString(whole.resolve("config.json"), changed);
        convert(whole, folder.resolve("other"), Layout.HUGGINGFACE, 1);
        assertThat(json(folder.resolve("other").resolve("config.json"))).containsEntry("conv_kernel", 3L);
    }

    @Test
    void refusesMoreRanksThanGroups() {
        assertThatThrownBy(() ->
                        convert(TestData.path("hf", "mamba2_as_mamba_ssm"), folder.resolve("out"), Layout.MAMBA_SSM, 4))
                .hasMessageContaining("2 groups of heads (ngroups) do not divide evenly by 4")
                .hasMessageContaining("sizes that divide it: 1, 2");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @ParameterizedTest
    @CsvSource({"SAFETENSORS", "PT"})
    void anyModelGoesIntoOneFile(Layout layout) throws Exception {
        Path source = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Path file = folder.resolve("model.any");
        convert(source, file, layout, 1);
        assertThat(file).isRegularFile();
        assertThat(digests(file)).isEqualTo(digests(source));
    }
}
