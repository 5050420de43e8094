package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
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

    private ModelView open(Path folder, PyValue dotted, PyValue nested) throws IOException {
        Path file = folder.resolve("names.pt");
        archive.write(file, TestArchive.dict(Map.of("a.b", dotted, "a", TestArchive.dict(Map.of("b", nested)))));
        return Checkpoints.open(file, OpenOptions.defaults());
    }
}
