package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
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
            assertThat(place(view, "list[0]")).containsExactly("list[0]");
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

    private static List<String> place(ModelView view, String name) {
        return view.path(name).stream().map(part -> ((PyStr) part).value()).toList();
    }

    private ModelView open(Path folder, PyValue dotted, PyValue nested) throws IOException {
        Path file = folder.resolve("names.pt");
        archive.write(file, TestArchive.dict(Map.of("a.b", dotted, "a", TestArchive.dict(Map.of("b", nested)))));
        return Checkpoints.open(file, OpenOptions.defaults());
    }
}
