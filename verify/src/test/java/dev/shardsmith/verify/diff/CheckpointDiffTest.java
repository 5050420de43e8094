package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.Golden;
import dev.shardsmith.verify.diff.TensorDiff.Status;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CheckpointDiffTest {
    private static DiffResult diff(ModelView left, ModelView right, DiffOptions options) throws IOException {
        return new CheckpointDiff(options, bytes -> {}).compare(left, right);
    }

    private static ModelViewBuilder model() {
        return new ModelViewBuilder(Path.of("memory"), new FilePool(), ModelView.Layout.PT);
    }

    private static LogicalTensor floats(String name, float... values) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return LogicalTensor.whole(
                name,
                StoredTensor.contiguous(
                        name, DType.F32, Shape.of(values.length), ByteSource.of(name, bytes.array()), 0));
    }

    private static LogicalTensor rows(String name, int rows, byte seed) throws IOException {
        byte[] bytes = new byte[rows * 8];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) (i * 7 + seed);
        }
        return LogicalTensor.whole(
                name, StoredTensor.contiguous(name, DType.F32, Shape.of(rows, 2), ByteSource.of(name, bytes), 0));
    }

    private static TensorDiff only(DiffResult result) {
        assertThat(result.tensors()).hasSize(1);
        return result.tensors().get(0);
    }

    @Test
    void oneModelIsTheSameInAllLayouts() throws IOException {
        List<Path> layouts = List.of(
                TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1"),
                TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2"),
                TestData.path("megatron-torch-dist", "plain_bf16_tp2pp1dp2"));
        for (Path left : layouts) {
            for (Path right : layouts) {
                try (ModelView a = Golden.open(left);
                        ModelView b = Golden.open(right)) {
                    DiffResult result = diff(a, b, DiffOptions.exact());
                    assertThat(result.same()).as("%s %s", left, right).isTrue();
                    assertThat(result.count(Status.SAME)).isEqualTo(a.tensors().size());
                }
            }
        }
    }

    @Test
    void aFlippedBitIsLocatedInBothCheckpoints(@TempDir Path folder) throws IOException {
        Path intact = TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1");
        try (ModelView left = Golden.open(intact)) {
            List<LogicalTensor> tensors = List.copyOf(left.tensors().values());
            Cases.forAll(12, random -> {
                Path copy = Golden.copy(
                        folder.resolve("c" + random.nextLong()), "megatron-legacy", "current_plain_bf16", "tp2pp2");
                LogicalTensor tensor = tensors.get(random.nextInt(tensors.size()));
                long element = random.nextLong(tensor.shape().elements());
                ElementPlace damaged;
                try (ModelView before = Golden.open(copy)) {
                    damaged = ElementPlace.of(before.tensors().get(tensor.name()), element)
                            .orElseThrow();
                }
                Golden.flip(
                        damaged.file(),
                        damaged.offset() + random.nextInt(tensor.dtype().byteSize()),
                        random.nextInt(8));
                try (ModelView right = Golden.open(copy)) {
                    DiffResult result = diff(left, right, DiffOptions.exact());
                    assertThat(result.same()).isFalse();
                    assertThat(result.count(Status.DIFFERENT)).isEqualTo(1);
                    TensorDiff found = result.tensors().stream()
                            .filter(diff -> diff.status() == Status.DIFFERENT)
                            .findFirst()
                            .orElseThrow();
                    assertThat(found.name()).isEqualTo(tensor.name());
                    WorstElement worst =
                            found.comparison().orElseThrow().worst().get(0);
                    assertThat(worst.index()).isEqualTo(element);
                    ElementPlace there = ElementPlace.of(found.right().orElseThrow(), worst.index())
                            .orElseThrow();
                    assertThat(there.file()).isEqualTo(damaged.file());
                    assertThat(there.offset()).isEqualTo(damaged.offset());
                }
            });
        }
    }

    @Test
    void statesAreComparedAsTrees() throws IOException {
        try (ModelView left = Golden.open("megatron-legacy", "current_plain_bf16", "tp1pp1");
                ModelView right = Golden.open("megatron-legacy", "current_plain_bf16", "tp2pp1")) {
            List<StateDifference> state = diff(left, right, DiffOptions.exact()).state();
            assertThat(state).contains(new StateDifference("args.tensor_model_parallel_size", "1", "2"));
            assertThat(state).noneMatch(difference -> difference.path().equals("args.hidden_size"));
        }
    }

    @Test
    void missingExtraAndRenamedTensorsAreTold() throws IOException {
        ModelView left = model().add(floats("a", 1, 2))
                .add(floats("gone", 3))
                .add(floats("old", 4, 5))
                .build();
        ModelView right = model().add(floats("new", 4, 5))
                .add(floats("a", 1, 2))
                .add(floats("more", 9))
                .build();
        DiffResult result = diff(left, right, DiffOptions.exact());
        assertThat(result.tensors())
                .extracting(TensorDiff::name, TensorDiff::status)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple("a", Status.SAME),
                        org.assertj.core.groups.Tuple.tuple("gone", Status.MISSING),
                        org.assertj.core.groups.Tuple.tuple("old", Status.RENAMED),
                        org.assertj.core.groups.Tuple.tuple("more", Status.EXTRA));
        assertThat(result.tensors().get(2).newName()).contains("new");
        assertThat(result.same()).isFalse();
    }

    @Test
    void namesCanBeChosenAndLeftOut() throws IOException {
        ModelView left = model().add(floats("a.x", 1)).add(floats("b.x", 1)).build();
        ModelView right = model().add(floats("a.x", 2)).add(floats("b.x", 1)).build();
        DiffOptions onlyB =
                new DiffOptions(Tolerance.EXACT, List.of(Glob.of("b.*")), List.of(), OptionalLong.empty(), 1);
        assertThat(diff(left, right, onlyB).same()).isTrue();
        DiffOptions withoutA =
                new DiffOptions(Tolerance.EXACT, List.of(), List.of(Glob.of("a.*")), OptionalLong.empty(), 1);
        DiffResult result = diff(left, right, withoutA);
        assertThat(only(result).name()).isEqualTo("b.x");
        assertThat(result.ignored()).containsExactly("1 tensors by name");
        assertThat(diff(left, right, DiffOptions.exact()).same()).isFalse();
    }

    @Test
    void otherNumbersOfTokensPointToTheOptionForPadding() throws IOException {
        ModelView left = model().add(rows("embedding.word_embeddings.weight", 8, (byte) 0))
                .add(rows("decoder.final_norm.weight", 8, (byte) 0))
                .build();
        ModelView right = model().add(rows("embedding.word_embeddings.weight", 12, (byte) 0))
                .add(rows("decoder.final_norm.weight", 12, (byte) 0))
                .build();
        assertThat(diff(left, right, DiffOptions.exact()).tensors())
                .extracting(TensorDiff::note)
                .containsExactly(
                        "shape [8, 2] against [12, 2]; if the rows differ in padding alone, give the size of the "
                                + "vocabulary: --true-vocab N",
                        "shape [8, 2] against [12, 2]");
    }

    @Test
    void paddingOfTheVocabularyIsLeftOutOnRequest() throws IOException {
        String name = "embedding.word_embeddings.weight";
        ModelView left = model().add(rows(name, 8, (byte) 0)).build();
        ModelView right = model().add(rows(name, 12, (byte) 0)).build();
        assertThat(only(diff(left, right, DiffOptions.exact())).reshaped()).isTrue();
        DiffOptions five = new DiffOptions(Tolerance.EXACT, List.of(), List.of(), OptionalLong.of(5), 1);
        TensorDiff cut = only(diff(left, right, five));
        assertThat(cut.status()).isEqualTo(Status.SAME);
        assertThat(cut.note()).isEqualTo("padding left out: 3 and 7 rows");
        DiffOptions ten = new DiffOptions(Tolerance.EXACT, List.of(), List.of(), OptionalLong.of(10), 1);
        assertThat(only(diff(left, right, ten)).status()).isEqualTo(Status.DIFFERENT);
        assertThat(diff(left, right, five).notes()).isEmpty();
        assertThat(diff(left, right, ten).notes())
                .containsExactly(
                        "no padding of a vocabulary is left out: no tensor has a row for each token and at least"
                                + " 10 of them");
    }

    @Test
    void aTieIsUnderstoodOnlyWhereItIsDeclared() throws IOException {
        LogicalTensor embedding = rows("embedding.word_embeddings.weight", 4, (byte) 0);
        LogicalTensor output = rows("output_layer.weight", 4, (byte) 0);
        ModelView both = model().add(embedding).add(output).build();
        ModelView tied = model().add(embedding)
                .config(Map.of("tie_word_embeddings", true))
                .build();
        ModelView lost = model().add(embedding).build();
        DiffResult result = diff(tied, both, DiffOptions.exact());
        assertThat(result.same()).isTrue();
        assertThat(result.tensors().get(1).note()).startsWith("tied to the embedding");
        assertThat(diff(both, tied, DiffOptions.exact()).same()).isTrue();
        assertThat(diff(lost, both, DiffOptions.exact()).same()).isFalse();
        ModelView other = model().add(embedding)
                .add(rows("output_layer.weight", 4, (byte) 1))
                .build();
        assertThat(diff(tied, other, DiffOptions.exact()).same()).isFalse();
    }

    @Test
    void typesMayDifferWhereValuesAreEqual() throws IOException {
        byte[] halves = {0, 0x3c, 0, (byte) 0xc0};
        LogicalTensor half = LogicalTensor.whole(
                "t", StoredTensor.contiguous("t", DType.F16, Shape.of(2), ByteSource.of("t", halves), 0));
        TensorDiff equal = only(
                diff(model().add(half).build(), model().add(floats("t", 1, -2)).build(), DiffOptions.exact()));
        assertThat(equal.status()).isEqualTo(Status.SAME);
        assertThat(equal.retyped()).isTrue();
        assertThat(equal.note()).isEqualTo("type F16 against F32: equal after cast, every value is exact in both");
        TensorDiff rounded = only(diff(
                model().add(half).build(), model().add(floats("t", 1.0001f, -2)).build(), DiffOptions.exact()));
        assertThat(rounded.status()).isEqualTo(Status.DIFFERENT);
        assertThat(rounded.note()).isEqualTo("type F16 against F32: equal after cast to F16, which rounds");
    }

    @Test
    void tensorsOfOtherShapesAreDifferent() throws IOException {
        TensorDiff diff = only(diff(
                model().add(floats("t", 1, 2)).build(),
                model().add(floats("t", 1)).build(),
                DiffOptions.exact()));
        assertThat(diff.status()).isEqualTo(Status.DIFFERENT);
        assertThat(diff.note()).isEqualTo("shape [2] against [1]");
    }
}
