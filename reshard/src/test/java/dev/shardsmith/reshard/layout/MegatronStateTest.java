package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes with the weights: saved options, counters, opaque states, names; and tensors that nobody knows. */
class MegatronStateTest {
    private static final Path PLAIN = TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1");

    @TempDir
    Path folder;

    private MegatronRuns runs;

    @BeforeEach
    void setRuns() {
        runs = new MegatronRuns(folder);
    }

    private static Map<String, String> fields(Path root) throws IOException {
        try (ModelView view = MegatronRuns.open(root)) {
            MegatronArgs args = view.state().args().orElseThrow();
            Map<String, String> fields = new TreeMap<>();
            for (String name : args.names()) {
                fields.put(name, args.value(name).map(MegatronStateTest::text).orElse("None"));
            }
            return fields;
        }
    }

    private static String text(PyValue value) {
        return value instanceof PyInt || value instanceof PyFloat
                ? value.toString()
                : value.getClass().getSimpleName();
    }

    @Test
    void onlyOptionsThatDescribeTheRanksChange() throws Exception {
        Path out = runs.convert(PLAIN, o -> {
            o.tensor = OptionalInt.of(2);
            o.pipeline = OptionalInt.of(2);
        });
        Map<String, String> before = fields(PLAIN);
        Map<String, String> after = fields(out);
        TreeSet<String> changed = new TreeSet<>();
        after.forEach((name, value) -> {
            if (!value.equals(before.get(name))) {
                changed.add(name);
            }
        });
        assertThat(after.keySet()).isEqualTo(before.keySet());
        assertThat(changed)
                .isSubsetOf(
                        "tensor_model_parallel_size",
                        "pipeline_model_parallel_size",
                        "transformer_pipeline_model_parallel_size",
                        "world_size",
                        "data_parallel_size",
                        "expert_tensor_parallel_size",
                        "align_param_gather",
                        "overlap_p2p_comm")
                .contains("tensor_model_parallel_size", "pipeline_model_parallel_size", "world_size");
        try (ModelView view = MegatronRuns.open(out)) {
            MegatronArgs args = view.state().args().orElseThrow();
            assertThat(args.integer("tensor_model_parallel_size")).hasValue(2);
            assertThat(args.integer("world_size")).hasValue(4);
        }
    }

    @Test
    void foldersHaveThePipelinesNumberOnlyWhereThereIsAPipeline() throws Exception {
        Path out = runs.sample(SampleSpec.of("MMMM", 64, DType.BF16, 1), o -> {
            o.tensor = OptionalInt.of(2);
            o.pipeline = OptionalInt.of(2);
        });
        assertThat(names(out)).containsExactly("mp_rank_00_000", "mp_rank_00_001", "mp_rank_01_000", "mp_rank_01_001");
        Path one = runs.convert(out, o -> o.pipeline = OptionalInt.of(1));
        assertThat(names(one)).containsExactly("mp_rank_00", "mp_rank_01");
        assertThat(MegatronRuns.digests(one)).isEqualTo(MegatronRuns.digests(out));
    }

    private static List<String> names(Path root) throws IOException {
        try (var folders = Files.list(root.resolve("iter_0000001"))) {
            return folders.map(path -> path.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void countersAreSetToZeroOnlyOnRequest() throws Exception {
        Path counted = runs.convert(PLAIN, o -> {
            o.set.put("consumed_train_samples", "640");
            o.set.put("train_iters", "1000");
        });
        Path out = runs.convert(counted, o -> o.resetIterations = true);
        assertThat(Files.readString(out.resolve("latest_checkpointed_iteration.txt")))
                .isEqualTo("0");
        try (ModelView view = MegatronRuns.open(out);
                ModelView before = MegatronRuns.open(counted)) {
            assertThat(view.iterationFolder()).hasValue("iter_0000000");
            assertThat(view.state().entries().get("iteration")).isEqualTo(PyInt.of(0));
            assertThat(view.state().args().orElseThrow().integer("consumed_train_samples"))
                    .hasValue(0);
            assertThat(view.state().args().orElseThrow().integer("train_iters")).hasValue(1000);
            assertThat(before.state().args().orElseThrow().integer("consumed_train_samples"))
                    .hasValue(640);
        }
    }

    @Test
    void opaqueStatesAreKeptDroppedOrEmptied() throws Exception {
        try (ModelView kept = MegatronRuns.open(runs.convert(PLAIN, o -> {}));
                ModelView dropped = MegatronRuns.open(runs.convert(PLAIN, o -> o.extraState = Keep.DROP));
                ModelView emptied = MegatronRuns.open(runs.convert(PLAIN, o -> o.extraState = Keep.EMPTY));
                ModelView source = MegatronRuns.open(PLAIN)) {
            assertThat(source.extraStates()).anyMatch(extra -> extra.tensor().isPresent());
            assertThat(kept.extraStates()).hasSameSizeAs(source.extraStates());
            assertThat(kept.extraStates().stream()
                            .filter(extra -> extra.tensor().isPresent()))
                    .hasSameSizeAs(source.extraStates().stream()
                            .filter(extra -> extra.tensor().isPresent())
                            .toList());
            assertThat(dropped.extraStates()).isEmpty();
            assertThat(emptied.extraStates())
                    .hasSameSizeAs(source.extraStates())
                    .allMatch(extra -> extra.value() == PyNone.NONE);
        }
    }

    @Test
    void normsGetTheNamesOfEitherImplementationAndComeBack() throws Exception {
        for (String pattern : List.of("M*-EG", "M+D-EG")) {
            Path fused = runs.sample(SampleSpec.of(pattern, 64, DType.BF16, 2), o -> {});
            Path separate = runs.convert(fused, o -> o.normNaming = NormNaming.SEPARATE);
            Map<String, String> names = MegatronRuns.digests(separate);
            assertThat(names)
                    .containsKeys("decoder.layers.0.norm.weight")
                    .doesNotContainKey("decoder.layers.0.mixer.in_proj.layer_norm_weight");
            assertThat(names.keySet()).noneMatch(name -> name.contains("linear_fc1.layer_norm"));
            Path back = runs.convert(separate, o -> {
                o.normNaming = NormNaming.FUSED;
                o.to = Optional.of(Layout.TORCH_DIST);
            });
            assertThat(MegatronRuns.digests(back)).isEqualTo(MegatronRuns.digests(fused));
        }
    }

    @Test
    void sensitiveParametersStayFloatWhenWeightsAreCast() throws Exception {
        Path source = runs.sample(SampleSpec.of("M", 64, DType.F32, 1), o -> {});
        try (ModelView view = MegatronRuns.open(runs.convert(source, o -> o.dtype = Optional.of(DType.BF16)))) {
            for (String name : List.of("A_log", "D", "dt_bias")) {
                LogicalTensor tensor = view.tensors().get("decoder.layers.0.mixer." + name);
                assertThat(tensor.dtype()).isEqualTo(DType.F32);
            }
            assertThat(view.tensors()
                            .get("decoder.layers.0.mixer.in_proj.weight")
                            .dtype())
                    .isEqualTo(DType.BF16);
        }
    }

    /** Two ranks of a model of which three tensors are unknown, and of a gated MLP with biases. */
    private Path unknown() throws IOException {
        for (int rank = 0; rank < 2; rank++) {
            TestArchive archive = new TestArchive();
            Map<String, PyValue> model = new LinkedHashMap<>();
            String mlp = "decoder.layers.0.mlp.";
            model.put(mlp + "linear_fc1.weight", archive.tensor(new int[] {10 + rank, 20 + rank}, 2, 1));
            model.put(mlp + "linear_fc1.bias", archive.tensor(new int[] {30 + rank, 40 + rank}, 2));
            model.put(mlp + "linear_fc2.weight", archive.tensor(new int[] {50 + rank}, 1, 1));
            model.put("decoder.layers.0.adapter.up", archive.tensor(new int[] {1 + rank, 3 + rank}, 2, 1));
            model.put("decoder.layers.0.adapter.down", archive.tensor(new int[] {5 + rank, 7 + rank}, 2, 1));
            model.put("decoder.scale", archive.tensor(new int[] {9}, 1));
            Map<String, PyValue> fields = new LinkedHashMap<>();
            fields.put("num_layers", PyInt.of(1));
            fields.put("tensor_model_parallel_size", PyInt.of(2));
            Map<String, PyValue> entries = new LinkedHashMap<>();
            entries.put("args", MegatronArgs.create(fields).node());
            entries.put("model", TestArchive.dict(model));
            archive.write(
                    folder.resolve("unknown/iter_0000001/mp_rank_%02d/model_optim_rng.pt".formatted(rank)),
                    TestArchive.dict(entries));
        }
        Files.writeString(folder.resolve("unknown/latest_checkpointed_iteration.txt"), "1");
        return folder.resolve("unknown");
    }

    private static List<Integer> values(Path root, String name) throws IOException {
        try (ModelView view = MegatronRuns.open(root)) {
            ByteBuffer bytes =
                    ByteBuffer.wrap(Tensors.bytes(view.tensors().get(name))).order(ByteOrder.LITTLE_ENDIAN);
            List<Integer> values = new ArrayList<>();
            while (bytes.hasRemaining()) {
                values.add((int) bytes.getFloat());
            }
            return values;
        }
    }

    @Test
    void unknownTensorsAreAllNamedAtOnce() throws Exception {
        try (ModelView view = MegatronRuns.open(unknown())) {
            assertThat(view.warnings()).anyMatch(text -> text.contains("not shown: decoder.layers.0.adapter.up, "));
        }
        assertThatThrownBy(() -> runs.convert(unknown(), o -> {
                    o.allowMissing = MegatronRuns.PARTS;
                    o.tensor = OptionalInt.of(1);
                }))
                .hasMessageContaining("decoder.layers.0.adapter.up")
                .hasMessageContaining("decoder.layers.0.adapter.down")
                .hasMessageContaining("decoder.scale")
                .hasMessageContaining("--rule");
    }

    @Test
    void aUsersRuleDividesATensorThatTheTableDoesNotKnow() throws Exception {
        List<UserRule> rules = List.of(
                UserRule.parse("*.adapter.up=row"),
                UserRule.parse("*.adapter.*=column"),
                UserRule.parse("decoder.scale=replicate"));
        Path one = runs.convert(unknown(), o -> {
            o.allowMissing = MegatronRuns.PARTS;
            o.rules = rules;
            o.tensor = OptionalInt.of(1);
        });
        assertThat(values(one, "decoder.layers.0.adapter.up")).containsExactly(1, 2, 3, 4);
        assertThat(values(one, "decoder.layers.0.adapter.down")).containsExactly(5, 7, 6, 8);
        assertThat(values(one, "decoder.scale")).containsExactly(9);
        for (Layout layout : List.of(Layout.MEGATRON, Layout.TORCH_DIST)) {
            Path two = runs.convert(one, o -> {
                o.allowMissing = MegatronRuns.PARTS;
                o.rules = rules;
                o.tensor = OptionalInt.of(2);
                o.to = Optional.of(layout);
            });
            Path again = runs.convert(two, o -> {
                o.allowMissing = MegatronRuns.PARTS;
                o.rules = rules;
                o.tensor = OptionalInt.of(1);
                o.to = Optional.of(Layout.MEGATRON);
            });
            assertThat(MegatronRuns.digests(again)).isEqualTo(MegatronRuns.digests(one));
        }
    }

    @Test
    void gatesStandBeforeWhatTheyGateInWeightsAndBiases() throws Exception {
        List<UserRule> rules = List.of(UserRule.parse("*adapter*=column"), UserRule.parse("*scale=replicate"));
        Path one = runs.convert(unknown(), o -> {
            o.allowMissing = MegatronRuns.PARTS;
            o.rules = rules;
            o.tensor = OptionalInt.of(1);
        });
        assertThat(values(one, "decoder.layers.0.mlp.linear_fc1.weight")).containsExactly(10, 11, 20, 21);
        assertThat(values(one, "decoder.layers.0.mlp.linear_fc1.bias")).containsExactly(30, 31, 40, 41);
    }
}
