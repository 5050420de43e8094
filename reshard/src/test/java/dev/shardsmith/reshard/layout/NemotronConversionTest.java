package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.testdata.CountedWeights;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NemotronConversionTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "nemotron_h,safetensors,1,1", "nemotron_h,bin,2,1", "nemotron_h,safetensors_single,2,2",
        "nemotron_h_nomoe,safetensors,2,2", "nemotron_h_nomoe,bin,4,2", "nemotron_h_nomoe_bf16,safetensors,2,1"
    })
    void goesToMegatronAndBack(String model, String form, int tensor, int pipeline) throws Exception {
        Path source = TestData.path("hf", model, form);
        Path megatron = folder.resolve("megatron");
        Path back = folder.resolve("back");
        ConversionOptions.Builder sizes = new ConversionOptions.Builder();
        sizes.to = Optional.of(Layout.MEGATRON);
        sizes.tensor = OptionalInt.of(tensor);
        sizes.pipeline = OptionalInt.of(pipeline);
        convert(source, megatron, sizes);
        try (ModelView view = Checkpoints.open(megatron, OpenOptions.defaults())) {
            // No padding is made up where the vocabulary divides without.
            long rows = view.state().args().orElseThrow().integer("vocab_size").orElseThrow();
            assertThat(view.tensors()
                            .get("embedding.word_embeddings.weight")
                            .shape()
                            .size(0))
                    .isEqualTo(rows);
        }
        ConversionOptions.Builder huggingFace = new ConversionOptions.Builder();
        huggingFace.to = Optional.of(Layout.HUGGINGFACE);
        huggingFace.maxShardSize = OptionalLong.of(4096);
        convert(megatron, back, huggingFace);

        Map<String, String> expected = new TreeMap<>();
        for (Map.Entry<String, JsonNode> entry : TestData.expected(source.getParent())
                .get("tensors_in_safetensors")
                .properties()) {
            expected.put(
                    entry.getKey(),
                    entry.getValue().get("shape")
                            + entry.getValue().get("sha256").asText());
        }
        assertThat(weights(back)).isEqualTo(expected);
    }

    /** Every element of the source is its own number, so that each component's rows can be told apart on each rank. */
    @ParameterizedTest
    @CsvSource({"1", "2", "4"})
    void everyRankGetsItsRowsOfEachComponent(int world) throws Exception {
        Path fixture = TestData.path("hf", "nemotron_h_nomoe", "safetensors");
        Map<String, long[]> shapes = new TreeMap<>();
        try (ModelView view = Checkpoints.open(fixture, OpenOptions.defaults());
                FilePool pool = new FilePool()) {
            for (Path file : view.files().files()) {
                if (file.toString().endsWith(".safetensors")) {
                    WeightFiles.open(pool, List.of(file))
                            .tensors()
                            .forEach((name, tensor) ->
                                    shapes.put(name, tensor.shape().toArray()));
                }
            }
        }
        Path source = folder.resolve("source");
        CountedWeights.write(source.resolve("model.safetensors"), shapes);
        Files.copy(fixture.resolve("config.json"), source.resolve("config.json"));
        ConversionOptions.Builder sizes = new ConversionOptions.Builder();
        sizes.to = Optional.of(Layout.MEGATRON);
        sizes.tensor = OptionalInt.of(world);
        convert(source, folder.resolve("megatron"), sizes);

        JsonNode config =
                new ObjectMapper().readTree(source.resolve("config.json").toFile());
        int heads = config.get("mamba_num_heads").asInt();
        int inner = heads * config.get("mamba_head_dim").asInt();
        int shared =
                config.get("n_groups").asInt() * config.get("ssm_state_size").asInt();
        try (ModelView view = Checkpoints.open(folder.resolve("megatron"), OpenOptions.defaults())) {
            assertThat(view.ranks()).hasSize(world);
            for (RankShard rank : view.ranks()) {
                String mixer = "decoder.layers.0.mixer.";
                check(shapes, rank, world, mixer + "in_proj.weight", inner, inner, shared, shared, heads);
                check(shapes, rank, world, mixer + "conv1d_weight", inner, shared, shared);
                check(shapes, rank, world, mixer + "conv1d_bias", inner, shared, shared);
                check(shapes, rank, world, mixer + "A_log", heads);
                check(shapes, rank, world, mixer + "norm.weight", inner);
            }
        }
    }

    /** The numbers of a rank's rows are those of its share of each component. */
    private static void check(Map<String, long[]> shapes, RankShard rank, int world, String name, int... components)
            throws IOException {
        String stored = name.replace("decoder.", "backbone.").replace("conv1d_", "conv1d.");
        long start = 0;
        for (Map.Entry<String, long[]> entry : shapes.entrySet()) {
            if (entry.getKey().equals(stored)) {
                break;
            }
            start += Shape.of(entry.getValue()).elements();
        }
        long width = Shape.of(shapes.get(stored)).elements() / shapes.get(stored)[0];
        List<Float> expected = new ArrayList<>();
        int base = 0;
        for (int component : components) {
            int own = component / world;
            for (long element = 0; element < own * width; element++) {
                expected.add((float) (start + (base + rank.tensor() * own) * width + element));
            }
            base += component;
        }
        assertThat(base).isEqualTo((int) shapes.get(stored)[0]);
        FloatBuffer found = ByteBuffer.wrap(Tensors.bytes(rank.tensors().get(name)))
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
        for (float number : expected) {
            assertThat(found.get()).as(name + " on rank " + rank.tensor()).isEqualTo(number);
        }
        assertThat(found.hasRemaining()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"current_plain_bf16,tp2pp2,2,2", "current_plain_bf16,tp1pp1,1,1", "older_plain_fp32,tp2pp1,2,1"})
    void restoresAMegatronCheckpointFromHuggingFace(String model, String tree, int tensor, int pipeline)
            throws Exception {
        Path source = TestData.path("megatron-legacy", model, tree);
        Path huggingFace = folder.resolve("hf");
        Path back = folder.resolve("back");
        ConversionOptions.Builder to = new ConversionOptions.Builder();
        to.to = Optional.of(Layout.HUGGINGFACE);
        convert(source, huggingFace, to);
        ConversionOptions.Builder sizes = new ConversionOptions.Builder();
        sizes.to = Optional.of(Layout.MEGATRON);
        sizes.tensor = OptionalInt.of(tensor);
        sizes.pipeline = OptionalInt.of(pipeline);
        convert(huggingFace, back, sizes);
        try (ModelView first = Checkpoints.open(source, OpenOptions.defaults());
                ModelView second = Checkpoints.open(back, OpenOptions.defaults())) {
            assertThat(second.order()).isEqualTo(first.order());
            for (LogicalTensor tensorOfFirst : first.tensors().values()) {
                LogicalTensor other = second.tensors().get(tensorOfFirst.name());
                assertThat(Tensors.sha256(other)).as(other.name()).isEqualTo(Tensors.sha256(tensorOfFirst));
            }
            assertThat(second.state().args().orElseThrow().names())
                    .isEqualTo(first.state().args().orElseThrow().names());
            assertThat(second.state().args().orElseThrow().integer("tensor_model_parallel_size"))
                    .hasValue(tensor);
            assertThat(second.state().entries().keySet())
                    .containsExactlyInAnyOrderElementsOf(first.state().entries().keySet());
        }
    }

    @Test
    void refusesGatedMlps() throws Exception {
        Path source = TestData.path("megatron-legacy", "current_swiglu_float16module", "tp1pp1");
        ConversionOptions.Builder to = new ConversionOptions.Builder();
        to.to = Optional.of(Layout.HUGGINGFACE);
        assertThatThrownBy(() -> convert(source, folder.resolve("out"), to)).hasMessageContaining("swiglu");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    private static void convert(Path from, Path to, ConversionOptions.Builder options) throws IOException {
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
        }
    }

    private static Map<String, String> weights(Path folder) throws IOException {
        Map<String, String> found = new TreeMap<>();
        List<Path> files;
        try (Stream<Path> entries = Files.list(folder)) {
            files = entries.filter(file -> file.toString().endsWith(".safetensors"))
                    .sorted()
                    .toList();
        }
        try (FilePool pool = new FilePool()) {
            for (Map.Entry<String, StoredTensor> entry :
                    WeightFiles.open(pool, files).tensors().entrySet()) {
                LogicalTensor tensor = LogicalTensor.whole(entry.getKey(), entry.getValue());
                found.put(entry.getKey(), tensor.shape().toString().replace(" ", "") + Tensors.sha256(tensor));
            }
        }
        return found;
    }
}
