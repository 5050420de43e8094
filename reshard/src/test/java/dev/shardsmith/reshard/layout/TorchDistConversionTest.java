package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TorchDistConversionTest {
    /** Options that tell how the ranks are arranged: only these may change. */
    private static final List<String> OF_THE_RANKS = List.of(
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "overlap_p2p_comm",
            "align_param_gather",
            "world_size");

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({
        "plain_bf16_tp1pp1,current_plain_bf16",
        "plain_bf16_tp2pp1,current_plain_bf16",
        "plain_bf16_tp2pp1dp2,current_plain_bf16",
        "plain_bf16_tp2pp2,current_plain_bf16",
        "swiglu_float16module_tp2pp1,current_swiglu_float16module",
        "moe_swiglu_tied_tp2pp1,current_moe_swiglu_tied"
    })
    void isTheSameModelAsTheLegacyCheckpoint(String dist, String legacy) throws Exception {
        assertThat(digests(TestData.path("megatron-torch-dist", dist).resolve(checkpoint(dist))))
                .isEqualTo(digests(TestData.path("megatron-legacy", legacy, "tp1pp1")));
    }

    private static String checkpoint(String dist) throws IOException {
        try (var entries = Files.list(TestData.path("megatron-torch-dist", dist))) {
            return entries.filter(Files::isDirectory)
                    .findFirst()
                    .orElseThrow()
                    .getFileName()
                    .toString();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "current_plain_bf16,tp2pp2,2,2",
        "current_plain_bf16,tp1pp1,4,1",
        "older_plain_fp32,tp2pp1,1,2",
        "current_swiglu_float16module,tp2pp1,4,2",
        "current_moe_swiglu_tied,tp1pp1,2,1"
    })
    void goesFromLegacyToDistributedAndBack(String model, String tree, int tensor, int pipeline) throws Exception {
        Path source = TestData.path("megatron-legacy", model, tree);
        Path dist = folder.resolve("dist");
        Path back = folder.resolve("back");
        convert(source, dist, Layout.TORCH_DIST, tensor, pipeline);
        assertThat(digests(dist)).isEqualTo(digests(source));
        try (ModelView first = Checkpoints.open(source, OpenOptions.defaults())) {
            convert(
                    dist,
                    back,
                    Layout.MEGATRON,
                    first.parallelism().tensor(),
                    first.parallelism().pipeline());
            assertThat(digests(back)).isEqualTo(digests(source));
            try (ModelView second = Checkpoints.open(back, OpenOptions.defaults())) {
                assertThat(second.state().entries().keySet())
                        .containsExactlyInAnyOrderElementsOf(
                                first.state().entries().keySet());
                assertThat(second.state().args().orElseThrow().names())
                        .isEqualTo(first.state().args().orElseThrow().names());
                assertThat(second.extraStates()).hasSameSizeAs(first.extraStates());
                assertThat(changedOptions(first, second)).isSubsetOf(OF_THE_RANKS);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"plain_bf16_tp2pp2,4,1", "plain_bf16_tp2pp1,1,4", "moe_swiglu_tied_tp2pp1,1,1"})
    void changesTheChunksOfADistributedCheckpoint(String dist, int tensor, int pipeline) throws Exception {
        Path source = TestData.path("megatron-torch-dist", dist).resolve(checkpoint(dist));
        Path output = folder.resolve("out");
        convert(source, output, Layout.TORCH_DIST, tensor, pipeline);
        assertThat(digests(output)).isEqualTo(digests(source));
    }

    @ParameterizedTest
    @CsvSource({
        "current_plain_bf16,plain_bf16_tp2pp2,2,2",
        "current_moe_swiglu_tied,moe_swiglu_tied_tp2pp1,2,1",
        "current_swiglu_float16module,swiglu_float16module_tp2pp1,2,1"
    })
    void writesTheKeysAndChunksThatMegatronWrites(String model, String dist, int tensor, int pipeline)
            throws Exception {
        Path output = folder.resolve("out");
        convert(TestData.path("megatron-legacy", model, "tp1pp1"), output, Layout.TORCH_DIST, tensor, pipeline);
        Path golden = TestData.path("megatron-torch-dist", dist).resolve(checkpoint(dist));
        assertThat(chunks(output)).isEqualTo(chunks(golden));
    }

    /** Names of saved options whose values are not the same, byte for byte as pickled. */
    private static List<String> changedOptions(ModelView first, ModelView second) throws IOException {
        MegatronArgs before = first.state().args().orElseThrow();
        MegatronArgs after = second.state().args().orElseThrow();
        List<String> changed = new ArrayList<>();
        for (String name : before.names()) {
            PyValue value = before.value(name).orElse(PyNone.NONE);
            if (!Arrays.equals(
                    PickleWriter.write(value),
                    PickleWriter.write(after.value(name).orElse(PyNone.NONE)))) {
                changed.add(name);
            }
        }
        return changed;
    }

    @Test
    void enumsAndElementTypesAmongTheSavedOptionsStayWhatTheyAre() throws Exception {
        Path source = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Path dist = folder.resolve("dist");
        Path output = folder.resolve("out");
        convert(source, dist, Layout.TORCH_DIST, 4, 1);
        convert(dist, output, Layout.MEGATRON, 1, 1);

        try (ModelView first = Checkpoints.open(source, OpenOptions.defaults());
                ModelView second = Checkpoints.open(output, OpenOptions.defaults())) {
            MegatronArgs args = second.state().args().orElseThrow();
            assertThat(args.value("params_dtype")).contains(new PyGlobal("torch", "bfloat16"));
            PyObject backend = (PyObject) args.value("attention_backend").orElseThrow();
            assertThat(backend.callable()).isInstanceOf(PyGlobal.class);
            assertThat(changedOptions(first, second)).containsExactlyInAnyOrderElementsOf(OF_THE_RANKS);
        }
    }

    private static Map<String, String> chunks(Path root) throws IOException {
        Map<String, String> chunks = new TreeMap<>();
        try (FilePool pool = new FilePool()) {
            Path iteration = root;
            try (var entries = Files.list(root)) {
                iteration = entries.filter(path -> path.getFileName().toString().startsWith("iter_"))
                        .findFirst()
                        .orElse(root);
            }
            DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, iteration);
            for (DcpTensor tensor : checkpoint.tensors()) {
                List<String> boxes = new ArrayList<>();
                tensor.chunks()
                        .forEach(chunk -> boxes.add(Arrays.toString(chunk.offsets()) + Arrays.toString(chunk.sizes())));
                boxes.sort(null);
                chunks.put(tensor.name(), tensor.dtypeName() + " " + tensor.shape() + " " + boxes);
            }
            checkpoint.objects().forEach(object -> chunks.put(object, "object"));
        }
        return chunks;
    }

    private static Map<String, String> digests(Path path) throws IOException {
        Map<String, String> digests = new LinkedHashMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            for (LogicalTensor tensor : view.tensors().values()) {
                digests.put(tensor.name(), tensor.dtype() + " " + tensor.shape() + " " + Tensors.sha256(tensor));
            }
        }
        return digests;
    }

    private static void convert(Path from, Path to, Layout layout, int tensor, int pipeline) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.tensor = OptionalInt.of(tensor);
        options.pipeline = OptionalInt.of(pipeline);
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
        }
    }
}
