package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Single files of tensors whose names are not those of any model. */
class PlainFilesTest {
    private final TestArchive archive = new TestArchive();

    @Test
    void twoTensorsOfOneNameAreNotTakenForOne(@TempDir Path folder) throws IOException {
        PyValue dotted = archive.tensor(new int[] {1, 2}, 2);
        PyValue nested = archive.tensor(new int[] {3, 4}, 2);
        try (ModelView view = open(folder, dotted, nested)) {
            assertThat(view.missing()).containsOnlyKeys("a.b");
            assertThat(view.warnings()).singleElement().asString().startsWith("a.b is not unique");
        }
    }

    @Test
    void oneTensorThatIsFoundTwiceUnderItsNameIsNoneTooMany(@TempDir Path folder) throws IOException {
        PyValue tensor = archive.tensor(new int[] {1, 2}, 2);
        try (ModelView view = open(folder, tensor, tensor)) {
            assertThat(view.missing()).isEmpty();
            assertThat(view.warnings()).isEmpty();
            assertThat(view.tensors()).containsOnlyKeys("a.b");
        }
    }

    @Test
    void placesInNestedDictsAreToldFromDotsInKeys(@TempDir Path folder) throws IOException {
        PyValue one = archive.tensor(new int[] {1}, 1);
        PyValue two = archive.tensor(new int[] {2}, 1);
        PyValue three = archive.tensor(new int[] {3}, 1);
        Path file = folder.resolve("nested.pt");
        PyDict model = new PyDict();
        model.put("a.b", one);
        model.put("n", TestArchive.dict(Map.of("w", two)));
        PyDict root = new PyDict();
        root.put("model", model);
        root.put("list", new PyList(List.of(three)));
        archive.write(file, root);
        try (ModelView view = Checkpoints.open(file, OpenOptions.defaults())) {
            assertThat(place(view, "model.a.b")).containsExactly("model", "a.b");
            assertThat(place(view, "model.n.w")).containsExactly("model", "n", "w");
            assertThat(view.path("list[0]")).containsExactly(new PyStr("list"), PyInt.of(0));
        }
    }

    @Test
    void placesAreThoseThatPyTorchRecordsOfTheSameDict() throws IOException {
        Path both = TestData.path("dcp/ws1_from_and_to_torch_save");
        try (ModelView file = Checkpoints.open(both.resolve("source.pt"), OpenOptions.defaults());
                ModelView distributed = Checkpoints.open(both.resolve("ckpt"), OpenOptions.defaults())) {
            assertThat(file.tensors()).hasSameSizeAs(distributed.tensors()).isNotEmpty();
            for (String name : file.tensors().keySet()) {
                assertThat(place(file, name)).hasSize(2).isEqualTo(place(distributed, name));
            }
        }
    }

    @Test
    void nestedStateHasTheKeysOfPyTorchsFlatteningInADistributedCheckpoint(@TempDir Path folder) throws IOException {
        PyDict root = TestArchive.dict(Map.of("a", TestArchive.dict(Map.of("b.c", archive.tensor(new int[] {1}, 1)))));
        PyValue inner = new PyList(List.of(archive.tensor(new int[] {2}, 1), archive.tensor(new int[] {3}, 1)));
        root.put("lst", new PyList(List.of(inner, TestArchive.dict(Map.of("x", archive.tensor(new int[] {4}, 1))))));
        root.put("state", new PyDict(List.of(new PyEntry(PyInt.of(7), archive.tensor(new int[] {5}, 1)))));
        Path file = folder.resolve("nested.pt");
        archive.write(file, root);
        Path made = folder.resolve("made");
        convert(file, made);
        convert(made, folder.resolve("again"));

        for (Path dist : List.of(made, folder.resolve("again"))) {
            try (FilePool pool = new FilePool();
                    ModelView view = Checkpoints.open(dist, OpenOptions.defaults())) {
                DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, dist);
                assertThat(checkpoint.tensors())
                        .extracting(tensor -> tensor.name())
                        .containsExactlyInAnyOrder("a.b.c", "lst.0.0", "lst.0.1", "lst.1.x", "state.7");
                assertThat(checkpoint.path("a.b.c")).containsExactly(new PyStr("a"), new PyStr("b.c"));
                assertThat(checkpoint.path("lst.1.x")).containsExactly(new PyStr("lst"), PyInt.of(1), new PyStr("x"));
                assertThat(view.tensors()).containsOnlyKeys("a.b.c", "lst[0][0]", "lst[0][1]", "lst[1].x", "state.7");
                assertThat(view.tensors()
                                .get("lst[0][1]")
                                .pieces()
                                .get(0)
                                .data()
                                .source()
                                .recordedCrc())
                        .isPresent();
            }
        }
    }

    private static List<String> place(ModelView view, String name) {
        return view.path(name).stream().map(part -> ((PyStr) part).value()).toList();
    }

    @Test
    void twoPlacesOfOneFlattenedKeyAreRefused(@TempDir Path folder) throws IOException {
        PyDict root = TestArchive.dict(Map.of("lst", new PyList(List.of(archive.tensor(new int[] {1}, 1)))));
        root.put("lst.0", archive.tensor(new int[] {2}, 1));
        Path file = folder.resolve("nested.pt");
        archive.write(file, root);
        assertThatThrownBy(() -> convert(file, folder.resolve("made")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("two entries would have the name lst.0");
    }

    @Test
    void keysThatAreNoStringsBecomeWhatPyTorchMakesOfThem(@TempDir Path folder) throws IOException {
        Path golden = TestData.path("dcp-nested");
        Path made = folder.resolve("made");
        convert(golden.resolve("source.pt"), made);
        try (FilePool pool = new FilePool();
                ModelView ours = Checkpoints.open(made, OpenOptions.defaults());
                ModelView theirs = Checkpoints.open(golden.resolve("ckpt"), OpenOptions.defaults())) {
            DcpCheckpoint written = DcpCheckpoint.open(pool, made);
            DcpCheckpoint saved = DcpCheckpoint.open(pool, golden.resolve("ckpt"));
            assertThat(saved.tensors()).hasSize(13);
            assertThat(written.tensors())
                    .extracting(DcpTensor::name)
                    .containsExactlyInAnyOrderElementsOf(
                            saved.tensors().stream().map(DcpTensor::name).toList())
                    .contains("state.0.exp_avg", "state.-3", "mixed.a.1.7", "mixed.(1, 'x')", "mixed.None", "10");
            for (DcpTensor tensor : saved.tensors()) {
                assertThat(written.path(tensor.name())).isEqualTo(saved.path(tensor.name()));
            }
            assertThat(ours.tensors().keySet())
                    .containsExactlyInAnyOrderElementsOf(theirs.tensors().keySet());
            for (String name : theirs.tensors().keySet()) {
                assertThat(bytes(ours, name)).as(name).isEqualTo(bytes(theirs, name));
            }
        }
    }

    private static byte[] bytes(ModelView view, String name) throws IOException {
        StoredTensor data = view.tensors().get(name).pieces().get(0).data();
        return data.source().readBytes(data.offset(), Math.toIntExact(data.bytes()));
    }

    @Test
    void aStringAndANumberThatFlattenToOneKeyAreRefused(@TempDir Path folder) throws IOException {
        PyDict state = new PyDict(List.of(
                new PyEntry(new PyStr("0"), archive.tensor(new int[] {1}, 1)),
                new PyEntry(PyInt.of(0), archive.tensor(new int[] {2}, 1))));
        Path file = folder.resolve("nested.pt");
        archive.write(file, TestArchive.dict(Map.of("state", state)));
        assertThatThrownBy(() -> convert(file, folder.resolve("made")))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("two entries would have the name state.0");
        assertThat(folder.resolve("made")).doesNotExist();
    }

    private static void convert(Path from, Path to) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(ModelView.Layout.TORCH_DIST);
        try (ModelView view = Checkpoints.open(from, OpenOptions.defaults())) {
            PlanExecutor.execute(Conversion.plan(view, options.build()), to, ExecutionOptions.defaults());
        }
    }

    private ModelView open(Path folder, PyValue dotted, PyValue nested) throws IOException {
        Path file = folder.resolve("names.pt");
        archive.write(file, TestArchive.dict(Map.of("a.b", dotted, "a", TestArchive.dict(Map.of("b", nested)))));
        return Checkpoints.open(file, OpenOptions.defaults());
    }
}
