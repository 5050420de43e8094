package dev.shardsmith.reshard.layout;

import static dev.shardsmith.reshard.layout.MambaConversions.convert;
import static dev.shardsmith.reshard.layout.MambaConversions.digests;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Folders of the reference library in all the forms in which they are found. */
final class MambaReadingTest {
    @TempDir
    Path folder;

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
}
