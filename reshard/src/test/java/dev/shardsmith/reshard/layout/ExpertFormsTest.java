package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Experts in every form in which Megatron keeps them, divided among expert ranks and among tensor ranks of their own. */
class ExpertFormsTest {
    private static final int HIDDEN = 3;
    private static final int WIDTH = 4;
    private static final int EXPERTS = 4;

    @TempDir
    Path folder;

    /** Element (out, in) of an expert's first weight; its rows are the gates, then what they gate. */
    private static int first(int expert, int out, int in) {
        return 1000 * expert + 10 * out + in;
    }

    /** Element (out, in) of an expert's second weight. */
    private static int second(int expert, int out, int in) {
        return 5000 + 1000 * expert + 10 * out + in;
    }

    private static PyValue args(int tensor, int expert, boolean flat) {
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(1));
        fields.put("hidden_size", PyInt.of(HIDDEN));
        fields.put("num_experts", PyInt.of(EXPERTS));
        fields.put("swiglu", PyBool.TRUE);
        fields.put("moe_grouped_gemm", PyBool.TRUE);
        fields.put("moe_use_legacy_grouped_gemm", PyBool.of(flat));
        fields.put("tensor_model_parallel_size", PyInt.of(tensor));
        fields.put("expert_model_parallel_size", PyInt.of(expert));
        return MegatronArgs.create(fields).node();
    }

    /** The rows of a gated weight that a rank holds: its gates, then its gated ones. */
    private static int gatedRow(int local, int rank, int world) {
        int own = WIDTH / world;
        return local < own ? rank * own + local : WIDTH + rank * own + local - own;
    }

    /** weight1 and weight2 of a grouped product: the memory of each expert is its transposed weight. */
    private Path writeFlat(int tensor, int expert) throws IOException {
        int held = EXPERTS / expert;
        int own = WIDTH / tensor;
        for (int t = 0; t < tensor; t++) {
            for (int e = 0; e < expert; e++) {
                int[] up = new int[HIDDEN * held * 2 * own];
                int[] down = new int[held * own * HIDDEN];
                int at = 0;
                for (int x = 0; x < held; x++) {
                    for (int in = 0; in < HIDDEN; in++) {
                        for (int out = 0; out < 2 * own; out++) {
                            up[at++] = first(e * held + x, gatedRow(out, t, tensor), in);
                        }
                    }
                }
                at = 0;
                for (int x = 0; x < held; x++) {
                    for (int in = 0; in < own; in++) {
                        for (int out = 0; out < HIDDEN; out++) {
                            down[at++] = second(e * held + x, out, t * own + in);
                        }
                    }
                }
                TestArchive archive = new TestArchive();
                Map<String, PyValue> model = new LinkedHashMap<>();
                String mlp = "decoder.layers.0.mlp.";
                model.put(mlp + "router.weight", archive.tensor(new int[EXPERTS * HIDDEN], EXPERTS, HIDDEN));
                model.put(mlp + "experts.weight1", archive.tensor(up, HIDDEN, (long) held * 2 * own));
                model.put(mlp + "experts.weight2", archive.tensor(down, (long) held * own, HIDDEN));
                Map<String, PyValue> entries = new LinkedHashMap<>();
                entries.put("args", args(tensor, expert, true));
                entries.put("model", TestArchive.dict(model));
                String rank = "mp_rank_%02d".formatted(t) + (expert > 1 ? "_%03d".formatted(e) : "");
                archive.write(
                        folder.resolve("flat/iter_0000001").resolve(rank).resolve("model_optim_rng.pt"),
                        TestArchive.dict(entries));
            }
        }
        Files.writeString(folder.resolve("flat/latest_checkpointed_iteration.txt"), "1");
        return folder.resolve("flat");
    }

    private static void checkExperts(ModelView view) throws IOException {
        for (int expert = 0; expert < EXPERTS; expert++) {
            int[] up = values(view, "decoder.layers.0.mlp.experts.linear_fc1.weight" + expert);
            int[] down = values(view, "decoder.layers.0.mlp.experts.linear_fc2.weight" + expert);
            for (int out = 0; out < 2 * WIDTH; out++) {
                for (int in = 0; in < HIDDEN; in++) {
                    assertThat(up[out * HIDDEN + in]).isEqualTo(first(expert, out, in));
                }
            }
            for (int out = 0; out < HIDDEN; out++) {
                for (int in = 0; in < WIDTH; in++) {
                    assertThat(down[out * WIDTH + in]).isEqualTo(second(expert, out, in));
                }
            }
        }
    }

    @Test
    void flatWeightsOfEveryExpertAreTheTransposedOnes() throws Exception {
        try (ModelView view = Checkpoints.open(writeFlat(2, 2), OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            assertThat(view.expertForm()).hasValue(ExpertForm.FLAT);
            checkExperts(view);
        }
    }

    @ParameterizedTest
    @EnumSource(ExpertForm.class)
    void everyFormBecomesEveryOtherAndComesBackBitForBit(ExpertForm form) throws Exception {
        Path flat = writeFlat(1, 2);
        Path other = convert(flat, o -> {
            o.experts = Optional.of(form);
            o.tensor = OptionalInt.of(2);
            o.expert = OptionalInt.of(4);
        });
        Path back = convert(other, o -> {
            o.experts = Optional.of(ExpertForm.FLAT);
            o.tensor = OptionalInt.of(1);
            o.expert = OptionalInt.of(2);
        });
        for (int rank = 0; rank < 2; rank++) {
            String file = "iter_0000001/mp_rank_00_%03d/model_optim_rng.pt".formatted(rank);
            assertThat(stored(back.resolve(file))).isEqualTo(stored(flat.resolve(file)));
        }
    }

    @Test
    void stackedWeightsHaveALeadingAxis() throws Exception {
        Path stacked = convert(writeFlat(1, 2), o -> o.experts = Optional.of(ExpertForm.STACKED));
        Map<String, List<Integer>> second = stored(stacked.resolve("iter_0000001/mp_rank_00_001/model_optim_rng.pt"));
        List<Integer> down = second.get("decoder.layers.0.mlp.experts.linear_fc2.weight");
        assertThat(down).hasSize(2 * HIDDEN * WIDTH);
        assertThat(down.get(HIDDEN * WIDTH + WIDTH + 2)).isEqualTo(second(3, 1, 2));
        try (ModelView view = Checkpoints.open(stacked, OpenOptions.defaults())) {
            assertThat(view.expertForm()).hasValue(ExpertForm.STACKED);
            assertThat(view.state().args().orElseThrow().flag("moe_use_legacy_grouped_gemm", true))
                    .isFalse();
            checkExperts(view);
        }
    }

    @Test
    void expertsOfSeveralRanksStandInTheirOrder() throws Exception {
        SampleSpec spec = SampleSpec.of("E-", 16, DType.F32, 2);
        for (ExpertForm form : List.of(ExpertForm.GROUPED, ExpertForm.SEQUENTIAL)) {
            Path one = sample(spec, o -> o.experts = Optional.of(form));
            Path four = convert(one, o -> o.expert = OptionalInt.of(4));
            Path back = convert(four, o -> o.expert = OptionalInt.of(1));
            try (FilePool pool = new FilePool()) {
                String file = "iter_0000001/mp_rank_00/model_optim_rng.pt";
                assertThat(RankFile.open(pool, back.resolve(file), "back")
                                .chunk("model")
                                .keySet())
                        .containsExactlyElementsOf(RankFile.open(pool, one.resolve(file), "one")
                                .chunk("model")
                                .keySet());
            }
        }
    }

    @Test
    void flatFormHasNoPlaceForBiases() throws Exception {
        SampleSpec plain = SampleSpec.of("E", 16, DType.F32, 1);
        SampleSpec biased = new SampleSpec(
                "E", 16, 128, 1, 1, 16, 2, 16, 1, 16, 16, true, true, false, true, true, 4, 16, 0, true, DType.F32, 1);
        refused(biased, o -> o.experts = Optional.of(ExpertForm.FLAT), "have no such parameter");
        try (ModelView view = SampleModel.of(plain)) {
            ConversionOptions.Builder options = new ConversionOptions.Builder();
            options.experts = Optional.of(ExpertForm.FLAT);
            assertThat(Conversion.plan(view, options.build()).ledger().balanced())
                    .isTrue();
        }
    }

    /** Process r of a stage is tensor rank r mod 4 for dense layers, and rank r mod 2 of expert group r div 2. */
    @Test
    void expertsOnFewerTensorRanksHaveTheFoldersThatMegatronWrites() throws Exception {
        SampleSpec spec = SampleSpec.of("E-", 16, DType.F32, 2);
        Path out = sample(spec, o -> {
            o.tensor = OptionalInt.of(4);
            o.expert = OptionalInt.of(4);
            o.expertTensor = OptionalInt.of(2);
        });
        try (var folders = Files.list(out.resolve("iter_0000001"))) {
            assertThat(folders.map(path -> path.getFileName().toString()))
                    .containsExactlyInAnyOrder(
                            "mp_rank_00_000",
                            "mp_rank_01_000",
                            "mp_rank_02_001",
                            "mp_rank_03_001",
                            "mp_rank_00_002",
                            "mp_rank_01_002",
                            "mp_rank_02_003",
                            "mp_rank_03_003");
        }
        try (ModelView view = Checkpoints.open(out, OpenOptions.defaults());
                ModelView sample = SampleModel.of(spec)) {
            assertThat(view.parallelism().expertTensor()).isEqualTo(2);
            assertThat(digests(view)).isEqualTo(digests(sample));
        }
        Path dense = convert(out, o -> o.expertTensor = OptionalInt.of(4));
        try (var folders = Files.list(dense.resolve("iter_0000001"))) {
            assertThat(folders).hasSize(16);
        }
    }

    /** The bias of an expert's second layer is one per expert group, which has fewer ranks than the dense layers. */
    @ParameterizedTest
    @CsvSource({"2,2,1,GROUPED,2", "4,2,2,GROUPED,4", "4,4,2,SEQUENTIAL,8", "4,4,1,GROUPED,4"})
    void biasesOfExpertsOnFewerTensorRanksComeBack(
            int tensor, int expert, int expertTensor, ExpertForm form, int processes) throws Exception {
        SampleSpec spec = new SampleSpec(
                "E*", 16, 128, 4, 4, 4, 2, 16, 1, 16, 16, true, true, false, true, true, 4, 16, 0, true, DType.F32, 1);
        Consumer<ConversionOptions.Builder> sizes = o -> {
            o.tensor = OptionalInt.of(tensor);
            o.expert = OptionalInt.of(expert);
            o.expertTensor = OptionalInt.of(expertTensor);
            o.experts = Optional.of(form);
        };
        Path out = sample(spec, sizes);
        Path distributed = convert(out, o -> o.to = Optional.of(ModelView.Layout.TORCH_DIST));
        Path again = convert(distributed, o -> {
            sizes.accept(o);
            o.to = Optional.of(ModelView.Layout.MEGATRON);
        });
        Path one = convert(again, o -> {
            o.tensor = OptionalInt.of(1);
            o.expert = OptionalInt.of(1);
            o.expertTensor = OptionalInt.of(1);
            o.experts = Optional.of(ExpertForm.GROUPED);
        });
        try (ModelView sample = SampleModel.of(spec);
                ModelView view = Checkpoints.open(out, OpenOptions.defaults());
                ModelView back = Checkpoints.open(one, OpenOptions.defaults())) {
            assertThat(view.ranks()).hasSize(processes);
            assertThat(view.state().args().orElseThrow().integer("world_size")).hasValue(processes);
            assertThat(digests(back))
                    .isEqualTo(digests(sample))
                    .containsKey("decoder.layers.0.mlp.experts.linear_fc2.bias3");
        }
    }

    @Test
    void namesOfFoldersCannotExpressEveryDivisionOfExperts() {
        SampleSpec spec = SampleSpec.of("E-", 16, DType.F32, 2);
        refused(
                spec,
                o -> {
                    o.tensor = OptionalInt.of(4);
                    o.expert = OptionalInt.of(1);
                    o.expertTensor = OptionalInt.of(2);
                },
                "the names of rank folders cannot express");
        refused(
                spec,
                o -> {
                    o.tensor = OptionalInt.of(2);
                    o.expert = OptionalInt.of(4);
                    o.expertTensor = OptionalInt.of(4);
                },
                "the names of rank folders cannot express");
    }

    private static Map<String, List<Integer>> stored(Path file) throws IOException {
        Map<String, List<Integer>> tensors = new TreeMap<>();
        try (FilePool pool = new FilePool()) {
            RankFile rank = RankFile.open(pool, file, file.toString());
            for (Map.Entry<String, PyValue> entry : rank.chunk("model").entrySet()) {
                Optional<StoredTensor> tensor = rank.tensor(entry.getValue());
                if (tensor.isPresent()) {
                    int[] values = values(LogicalTensor.whole(entry.getKey(), tensor.get()));
                    tensors.put(entry.getKey(), Arrays.stream(values).boxed().toList());
                }
            }
        }
        return tensors;
    }

    private static int[] values(ModelView view, String name) throws IOException {
        return values(view.tensors().get(name));
    }

    private static int[] values(LogicalTensor tensor) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Tensors.bytes(tensor)).order(ByteOrder.LITTLE_ENDIAN);
        int[] values = new int[bytes.remaining() / 4];
        for (int i = 0; i < values.length; i++) {
            values[i] = (int) bytes.getFloat();
        }
        return values;
    }

    private static Map<String, String> digests(ModelView view) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        for (LogicalTensor tensor : view.tensors().values()) {
            digests.put(tensor.name(), tensor.shape() + Tensors.sha256(tensor));
        }
        return digests;
    }

    private Path sample(SampleSpec spec, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = SampleModel.of(spec)) {
            return write(view, change);
        }
    }

    private Path convert(Path from, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = Checkpoints.open(from, OpenOptions.defaults())) {
            return write(view, change);
        }
    }

    private Path write(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.allowMissing = MegatronRuns.PARTS;
        change.accept(options);
        Path out = Files.createTempDirectory(folder, "case").resolve("out");
        PlanExecutor.execute(Conversion.plan(view, options.build()), out, ExecutionOptions.defaults());
        return out;
    }

    private static void refused(SampleSpec spec, Consumer<ConversionOptions.Builder> change, String problem) {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        change.accept(options);
        assertThatThrownBy(() -> {
                    try (ModelView view = SampleModel.of(spec)) {
                        Conversion.plan(view, options.build());
                    }
                })
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).isEqualTo(Kind.REFUSED);
                    assertThat(e.problem()).contains(problem);
                });
    }

    @Test
    void stagesAndExpertRanksAreToldApart() {
        List<RankGrid.Rank> ranks = RankGrid.of(2, 2, 2, 1);
        assertThat(ranks.stream().map(rank -> rank.folder(2, 2)))
                .containsExactly(
                        "mp_rank_00_000_000", "mp_rank_00_001_000", "mp_rank_01_000_001", "mp_rank_01_001_001");
    }
}
