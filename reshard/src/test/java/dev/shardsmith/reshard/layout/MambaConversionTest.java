package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.CountedWeights;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.Stream;
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

    @ParameterizedTest
    @CsvSource({
        "consolidated.0%d.pth",
        "tp%d.pt",
        "weights-%d.bin",
        "mp_rank_0%d_model_states.pt",
        "mamba2-130m_%d.ckpt",
        "slice%d.safetensors"
    })
    void findsRankFilesOfOddNames(String names) throws Exception {
        Path source = TestData.path("hf", "mamba2_as_mamba_ssm");
        Path ranks = folder.resolve("ranks");
        convert(source, ranks, Layout.MAMBA_SSM, 2);
        for (int rank = 0; rank < 2; rank++) {
            Files.move(ranks.resolve("rank_" + rank + ".pt"), ranks.resolve(names.formatted(rank)));
        }
        assertThat(digests(ranks)).isEqualTo(digests(source));
        // The same without a config: the tensors alone tell that these are ranks.
        Files.delete(ranks.resolve("config.json"));
        try (ModelView view = Checkpoints.open(ranks, OpenOptions.defaults())) {
            assertThat(view.layout()).isEqualTo(Layout.MAMBA_SSM);
            assertThat(view.parallelism().tensor()).isEqualTo(2);
            assertThat(view.description()).contains(names.replaceFirst("0?%d", "{rank}"));
        }
    }

    /** Two of four files that are all there is: the config tells that some are lost, even if one is left. */
    @Test
    void ranksThatAreLessThanTheConfigSaysAreIncomplete() throws Exception {
        Path ranks = folder.resolve("ranks");
        convert(TestData.path("hf", "mamba2_as_mamba_ssm"), ranks, Layout.MAMBA_SSM, 2);
        Files.delete(ranks.resolve("rank_1.pt"));
        assertThatThrownBy(() -> digests(ranks))
                .hasMessageContaining(
                        "the file of the one rank holds 24 rows of the vocabulary where config.json says 48")
                .hasMessageContaining("see whether the file of a rank is missing");
        String config = Files.readString(ranks.resolve("config.json"));
        Files.writeString(ranks.resolve("config.json"), config.replace("\"d_model\": 24", "\"d_model\": 48"));
        assertThatThrownBy(() -> digests(ranks))
                .hasMessageContaining("channels of the model (d_model)")
                .hasMessageContaining("the model of this config.json");
    }

    /** Without a config the files tell whether the head is the embedding: on one storage it is. */
    @ParameterizedTest
    @CsvSource({"mamba2_as_mamba_ssm,2,true", "mamba2_tied_as_mamba_ssm,1,false"})
    void filesWithoutAConfigTellWhetherTheHeadIsTied(String model, int world, boolean head) throws Exception {
        Path source = TestData.path("hf", model);
        Path ranks = folder.resolve("ranks");
        convert(source, ranks, Layout.MAMBA_SSM, world);
        Files.move(
                ranks.resolve(world == 1 ? "pytorch_model.bin" : "rank_0.pt"),
                ranks.resolve("rank_0.pt"),
                StandardCopyOption.REPLACE_EXISTING);
        Files.delete(ranks.resolve("config.json"));
        assertThat(digests(ranks)).isEqualTo(digests(source));
        assertThat(digests(ranks).containsKey("lm_head.weight")).isEqualTo(head);
    }

    @Test
    void partsOfAWholeModelAreNoRanks() throws Exception {
        Path source = TestData.path("hf", "mamba2", "bin");
        Path parts = Files.createDirectory(folder.resolve("parts"));
        for (int part = 1; part <= 8; part++) {
            Files.copy(
                    source.resolve("pytorch_model-0000%d-of-00008.bin".formatted(part)),
                    parts.resolve("part_%d.pt".formatted(part - 1)));
        }
        Files.copy(TestData.path("hf", "mamba2_as_mamba_ssm", "config.json"), parts.resolve("config.json"));
        assertThat(digests(parts)).isEqualTo(digests(TestData.path("hf", "mamba2_as_mamba_ssm")));
    }

    @ParameterizedTest
    @CsvSource({"safetensors", "safetensors_single"})
    void readsSafetensorsBesideAConfigOfTheReference(String form) throws Exception {
        Path copy = Files.createDirectory(folder.resolve("copy"));
        try (var files = Files.list(TestData.path("hf", "mamba2", form))) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        Files.copy(
                TestData.path("hf", "mamba2_as_mamba_ssm", "config.json"),
                copy.resolve("config.json"),
                StandardCopyOption.REPLACE_EXISTING);
        assertThat(digests(copy)).isEqualTo(digests(TestData.path("hf", "mamba2_as_mamba_ssm")));
        Path ranks = folder.resolve("ranks");
        convert(copy, ranks, Layout.MAMBA_SSM, 2);
        assertThat(digests(ranks)).isEqualTo(digests(copy));
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

    /** The same model under other names; each is said in the description. */
    @ParameterizedTest
    @CsvSource({
        "backbone., backbone., ''",
        "model., model., names begin with model.",
        "'', '', names without backbone.",
        "model.backbone., model., names begin with model.backbone.",
        "module.backbone., module., names begin with module.backbone."
    })
    void findsTheModelUnderAnyPrefix(String layers, String head, String remark) throws Exception {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        Map<String, long[]> canonical = new LinkedHashMap<>();
        String[] names = {
            "embedding.weight 24 8",
            "layers.0.norm.weight 8",
            "layers.0.mixer.A_log 16 4",
            "layers.0.mixer.D 16",
            "layers.0.mixer.in_proj.weight 32 8",
            "layers.0.mixer.conv1d.weight 16 1 4",
            "layers.0.mixer.x_proj.weight 9 16",
            "layers.0.mixer.dt_proj.weight 16 1",
            "layers.0.mixer.dt_proj.bias 16",
            "layers.0.mixer.out_proj.weight 8 16",
            "norm_f.weight 8",
            "lm_head.weight 24 8"
        };
        for (String name : names) {
            String[] words = name.split(" ");
            long[] shape = Stream.of(words).skip(1).mapToLong(Long::parseLong).toArray();
            boolean isHead = words[0].startsWith("lm_head");
            String prefix = head.equals("backbone.") ? "" : head;
            shapes.put(isHead ? prefix + words[0] : layers + words[0], shape);
            canonical.put((isHead ? "" : "backbone.") + words[0], shape);
        }
        String config = "{\"d_model\": 8, \"n_layer\": 1, \"ssm_cfg\": {\"d_state\": 4}, \"tie_embeddings\": false}";
        Path odd = folder.resolve("odd");
        Path plain = folder.resolve("plain");
        CountedWeights.write(odd.resolve("model.safetensors"), shapes);
        CountedWeights.write(plain.resolve("model.safetensors"), canonical);
        Files.writeString(odd.resolve("config.json"), config);
        Files.writeString(plain.resolve("config.json"), config);
        assertThat(digests(odd)).isEqualTo(digests(plain)).containsKey("lm_head.weight");
        try (ModelView view = Checkpoints.open(odd, OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            assertThat(view.description()).endsWith(remark);
        }
    }

    private static Map<String, Object> json(Path file) throws IOException {
        try (FilePool pool = new FilePool()) {
            return Json.readObject(pool.file(file));
        }
    }

    /** Ranks, each with one row-parallel bias of two elements. */
    private static List<Map<String, StoredTensor>> biases(float[]... values) throws IOException {
        List<Map<String, StoredTensor>> ranks = new ArrayList<>();
        for (float[] bias : values) {
            Map<String, StoredTensor> own = new LinkedHashMap<>();
            if (bias.length > 0) {
                ByteBuffer bytes = ByteBuffer.allocate(4 * bias.length).order(ByteOrder.LITTLE_ENDIAN);
                for (float value : bias) {
                    bytes.putFloat(value);
                }
                own.put(
                        "backbone.layers.0.mixer.out_proj.bias",
                        StoredTensor.contiguous(
                                "bias", DType.F32, Shape.of(bias.length), ByteSource.of("rank", bytes.array()), 0));
            }
            ranks.add(own);
        }
        return ranks;
    }

    @Test
    void tellsApartWhatOtherRanksHaveAsARowBias() throws Exception {
        float[] none = {};
        float[] one = {1, 2};
        assertThat(RowBiases.check(biases(one, none, none))).isEmpty();
        assertThat(RowBiases.check(biases(one, one, one)))
                .singleElement()
                .asString()
                .contains("the same bias on several ranks, as Megatron saves it");
        assertThat(RowBiases.check(biases(one, new float[2], none)))
                .singleElement()
                .asString()
                .contains("zeros on ranks that should not have this bias");
        assertThatThrownBy(() -> RowBiases.check(biases(one, none, new float[] {1, 3})))
                .hasMessageContaining("rank 2 of 3 has another bias than rank 0 (1 of 2 elements differ)");
        assertThatThrownBy(() -> RowBiases.check(biases(one, new float[3])))
                .hasMessageContaining("another bias than rank 0 (float32 [3] and float32 [2])");
        assertThatThrownBy(() -> RowBiases.check(biases(none, one)))
                .hasMessageContaining("rank 1 of 2 has this bias, but rank 0, which alone should, does not");
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

    private static void convert(Path from, Path to, Layout layout, int world) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.tensor = OptionalInt.of(world);
        convert(from, to, options);
    }

    /** Converts and returns the plan's notes. */
    private static List<String> convert(Path from, Path to, ConversionOptions.Builder options) throws IOException {
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
            return plan.notes();
        }
    }

    private static Map<String, DType> types(Path path) throws IOException {
        Map<String, DType> types = new TreeMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            view.tensors().values().forEach(tensor -> types.put(tensor.name(), tensor.dtype()));
        }
        return types;
    }

    private static Map<String, String> digests(Path path) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            for (LogicalTensor tensor : view.tensors().values()) {
                digests.put(tensor.name(), tensor.dtype() + " " + tensor.shape() + " " + Tensors.sha256(tensor));
            }
        }
        return digests;
    }
}
