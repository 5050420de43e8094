package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The optimizer's state where it comes along. */
class KeptOptimizerTest {
    private static final String FIRST = "decoder.layers.0.mlp.linear_fc1.weight";

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "optim_fp32main_tp2,1,1",
        "optim_fp32main_tp2,2,1",
        "optim_fp32main_tp2,2,3",
        "optim_distopt_dp2_fully_reshardable,2,1",
        "optim_distopt_dp2_fully_reshardable,1,2",
        "optim_distopt_dp2_fully_reshardable,2,3"
    })
    void everyTensorHasTheValuesAndTheKeyThatMegatronGaveIt(String name, int tensor, int pipeline) throws Exception {
        Path source = TestData.path("megatron-torch-dist", name);

        Path output = keep(source.resolve("iter_0000012"), options -> {
            options.tensor = OptionalInt.of(tensor);
            options.pipeline = OptionalInt.of(pipeline);
        });

        assertThat(StoredChunks.digests(output)).isEqualTo(expected(source));
    }

    @Test
    void theChunksAreThoseOfMegatronAgainAfterAWayThroughOneRank() throws Exception {
        Path source = TestData.path("megatron-torch-dist", "optim_fp32main_tp2", "iter_0000012");

        Path merged = keep(source, options -> options.tensor = OptionalInt.of(1));
        Path divided = keep(merged, options -> options.tensor = OptionalInt.of(2));

        assertThat(StoredChunks.of(merged)).isNotEqualTo(StoredChunks.of(source));
        assertThat(StoredChunks.of(divided)).isEqualTo(StoredChunks.of(source));
        assertThat(StoredChunks.digests(divided)).isEqualTo(StoredChunks.digests(source));
    }

    @ParameterizedTest
    @CsvSource({"optim_fp32main_tp2", "optim_distopt_dp2_fully_reshardable"})
    void groupsStepsAndTheNameOfTheFormStayAsTheyAre(String name) throws Exception {
        Path source = TestData.path("megatron-torch-dist", name, "iter_0000012");

        Path output = keep(source, options -> options.tensor = OptionalInt.of(2));

        try (ModelView before = MegatronRuns.open(source);
                ModelView after = MegatronRuns.open(output)) {
            for (String entry : List.of("optimizer", "content_metadata", "iteration")) {
                assertThat(bytes(after, entry)).as(entry).isEqualTo(bytes(before, entry));
            }
            assertThat(after.optimizerState().encoding())
                    .isEqualTo(before.optimizerState().encoding());
            assertThat(after.optimizer()).isEqualTo(before.optimizer());
            assertThat(stateTensors(after)).isEqualTo(stateTensors(before));
        }
    }

    @Test
    void rowsThatPadTheVocabularyHaveNoMomentsAndTheParametersPadding() throws Exception {
        SampleSpec spec = SampleSpecs.mlp(DType.F32);
        Path small;
        try (ModelView sample = Optimizers.sample(spec, false)) {
            small = write(sample, options -> options.tensor = OptionalInt.of(1));
        }

        Path padded = keep(small, options -> {
            options.vocabulary = OptionalLong.of(10);
            options.padVocabularyTo = OptionalLong.of(24);
            options.padFill = Fill.Mode.REPEAT_LAST;
            options.tensor = OptionalInt.of(2);
        });

        Map<String, byte[]> before = embeddings(small);
        Map<String, byte[]> after = embeddings(padded);
        int row = (int) spec.hidden() * 4;
        for (String state : before.keySet()) {
            byte[] rows = after.get(state);
            assertThat(rows).as(state).hasSize(24 * row).startsWith(Arrays.copyOf(before.get(state), 10 * row));
            byte[] last = Arrays.copyOfRange(rows, 9 * row, 10 * row);
            byte[] padding = Arrays.copyOfRange(rows, 23 * row, 24 * row);
            assertThat(padding).as(state).isEqualTo(state.contains("exp_avg") ? new byte[row] : last);
        }
    }

    @Test
    void rowsThatAreCutOffAreNamed() throws Exception {
        try (ModelView sample = Optimizers.sample(SampleSpecs.mlp(DType.F32), false)) {
            Plan plan = plan(sample, options -> {
                options.vocabulary = OptionalLong.of(10);
                options.stripPadding = true;
            });

            assertThat(plan.ledger().balanced()).isTrue();
            assertThat(plan.dropped().stream().map(Dropped::what))
                    .contains(
                            "embedding.word_embeddings.weight[10:16]",
                            "optimizer.state.exp_avg.embedding.word_embeddings.weight[10:16]",
                            "optimizer.state.param.output_layer.weight[10:16]");
        }
    }

    @Test
    void stateOfLayersThatAreLeftOutIsNamed() throws Exception {
        try (ModelView sample = Optimizers.sample(SampleSpecs.of("-*-", DType.BF16), false)) {
            Plan plan = plan(sample, options -> options.dropLayers = "*");

            assertThat(plan.ledger().balanced()).isTrue();
            assertThat(plan.dropped().stream().map(Dropped::what))
                    .contains("optimizer.state.exp_avg_sq.decoder.layers.1.self_attention.linear_proj.weight");
            assertThat(plan.moves().stream().map(move -> move.tensor()))
                    .contains("optimizer.state.exp_avg_sq.decoder.layers.1.mlp.linear_fc2.weight");
        }
    }

    @Test
    void theStateKeepsItsTypeWhereTheModelIsCast() throws Exception {
        Path source = TestData.path("megatron-torch-dist", "optim_fp32main_tp2");

        Path output = keep(source.resolve("iter_0000012"), options -> options.dtype = Optional.of(DType.F16));

        Map<String, String> expected = expected(source);
        Map<String, String> digests = StoredChunks.digests(output);
        expected.keySet().removeIf(name -> !name.startsWith("optimizer."));
        assertThat(expected).hasSize(78);
        assertThat(digests).containsAllEntriesOf(expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "optimizer.distributed.dp_group_idx_0.gbuf_idx_0.bucket_idx_0.exp_avg | dp_reshardable",
                "optimizer.distributed.dp_group_idx_0.param_state | dp_zero_gather_scatter",
                "chained_1.optimizer.distributed.dp_group_idx_0.param_state | dp_zero_gather_scatter",
                "optimizer.state.module.module.module." + FIRST + ".exp_avg | fsdp_dtensor",
                "optimizer.state.exp_avg.decoder.layers.7.mlp.linear_fc1.weight | belongs to no parameter",
                "optimizer.state.exp_avg | no key of a known form"
            })
    void otherFormsAreRefusedByName(String name, String form) throws Exception {
        Path source = dist(Map.of(name, FIRST));

        assertThatThrownBy(() -> keep(source, options -> {})).isInstanceOfSatisfying(CheckpointException.class, e -> {
            assertThat(e.kind()).isEqualTo(CheckpointException.Kind.REFUSED);
            assertThat(e).hasMessageContaining(form);
            assertThat(e.hint().orElseThrow()).contains("--optimizer drop", "--dist-ckpt-optim-fully-reshardable");
        });
    }

    @Test
    void flattenedRangesAreRefusedWhileTheWeightsStayUsable() throws Exception {
        // One axis more than the parameter, as ranges of its shards have.
        Path source = dist(Map.of("optimizer.state.exp_avg.decoder.final_norm.weight", FIRST));

        assertThatThrownBy(() -> keep(source, options -> {}))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("fully_sharded_model_space")
                .hasMessageContaining("flattened_range")
                .hasMessageContaining("weights are not concerned");
        assertThat(new MegatronRuns(folder).convert(source, options -> {
                    options.tensor = OptionalInt.of(2);
                    options.allowMissing = MegatronRuns.PARTS;
                }))
                .isDirectory();
    }

    @ParameterizedTest
    @CsvSource({"exp_avg,exp_avg_sq", "exp_avg_sq,exp_avg"})
    void oneMomentWithoutTheOtherIsIncomplete(String there, String missing) throws Exception {
        Path source = dist(Map.of("optimizer.state." + there + "." + FIRST, FIRST));

        assertThatThrownBy(() -> keep(source, options -> {}))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.INCOMPLETE))
                .hasMessageContaining("optimizer.state." + missing + "." + FIRST);
    }

    @Test
    void stateOfSomeParametersOnlyIsKept() throws Exception {
        // Parameters that are not trained have none.
        Path source = dist(Map.of(
                "optimizer.state.exp_avg." + FIRST, FIRST,
                "optimizer.state.exp_avg_sq." + FIRST, FIRST));

        Path output = keep(source, options -> options.tensor = OptionalInt.of(2));

        assertThat(StoredChunks.digests(output)).isEqualTo(StoredChunks.digests(source));
        assertThat(StoredChunks.of(output).get("optimizer.state.exp_avg." + FIRST))
                .isEqualTo(StoredChunks.of(output).get(FIRST));
    }

    @ParameterizedTest
    @CsvSource({"MEGATRON", "HUGGINGFACE", "MAMBA_SSM", "SAFETENSORS", "PT"})
    void layoutsWithoutAPlaceForItRefuse(Layout layout) throws Exception {
        Path source = TestData.path("megatron-torch-dist", "optim_fp32main_tp2", "iter_0000012");

        assertThatThrownBy(() -> keep(source, options -> options.to = Optional.of(layout)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(layout.id() + " has no place for it");
    }

    private Path keep(Path source, Consumer<ConversionOptions.Builder> change) throws IOException {
        return new MegatronRuns(folder).convert(source, keeping(change));
    }

    private Path write(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        return new MegatronRuns(folder).write(view, keeping(change));
    }

    private static Plan plan(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        keeping(change).accept(options);
        return Conversion.plan(view, options.build());
    }

    private static Consumer<ConversionOptions.Builder> keeping(Consumer<ConversionOptions.Builder> change) {
        return options -> {
            options.to = Optional.of(Layout.TORCH_DIST);
            options.optimizer = Keep.KEEP;
            options.allowMissing = MegatronRuns.PARTS;
            change.accept(options);
        };
    }

    /** A distributed checkpoint of a small model with further tensors, each with the content of one of the model's. */
    private Path dist(Map<String, String> further) throws IOException {
        try (ModelView model = SampleModel.of(SampleSpecs.mlp(DType.F32));
                FilePool pool = new FilePool()) {
            ModelViewBuilder view =
                    new ModelViewBuilder(Path.of("sample"), pool, Layout.SAFETENSORS).family(ModelView.Family.PLAIN);
            model.tensors().values().forEach(view::add);
            further.forEach(
                    (name, content) -> view.add(model.tensors().get(content).named(name)));
            return new MegatronRuns(folder).write(view.build(), options -> options.to = Optional.of(Layout.TORCH_DIST));
        }
    }

    private static Map<String, byte[]> embeddings(Path root) throws IOException {
        Map<String, byte[]> found = new TreeMap<>();
        try (ModelView view = MegatronRuns.open(root)) {
            for (var tensor : view.optimizerState().tensors()) {
                if (tensor.parameter().equals("embedding.word_embeddings.weight")) {
                    found.put(tensor.tensor().name(), Tensors.bytes(tensor.tensor()));
                }
            }
        }
        assertThat(found).hasSize(3);
        return found;
    }

    private static byte[] bytes(ModelView view, String entry) throws IOException {
        PyValue value = view.state().entries().get(entry);
        return PickleWriter.write(value instanceof PyDict dict ? withoutTensors(dict) : value);
    }

    private static List<String> stateTensors(ModelView view) throws IOException {
        List<String> digests = new ArrayList<>();
        for (StoredTensor tensor : view.state().tensors().values()) {
            digests.add(tensor.dtype() + " " + tensor.shape() + Tensors.sha256(LogicalTensor.whole("step", tensor)));
        }
        return digests;
    }

    /** The step is a tensor, whose storage has another name in each file. */
    private static PyDict withoutTensors(PyDict dict) {
        PyDict copy = new PyDict();
        for (PyEntry entry : dict.entries()) {
            boolean state = entry.key() instanceof PyStr name && name.value().equals("state");
            if (!state) {
                PyValue value = entry.value() instanceof PyDict inner ? withoutTensors(inner) : entry.value();
                copy.entries().add(new PyEntry(entry.key(), value));
            }
        }
        return copy;
    }

    private static Map<String, String> expected(Path source) {
        Map<String, String> digests = new TreeMap<>();
        JsonNode tensors = TestData.expected(source).get("tensors");
        for (Iterator<String> names = tensors.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            digests.put(name, tensors.get(name).get("sha256").asText());
        }
        return digests;
    }
}
