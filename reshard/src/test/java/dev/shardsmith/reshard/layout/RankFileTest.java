package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RankFileTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"collections,OrderedDict", "collections,defaultdict", "some.trainer,State"})
    void whateverBehavesAsADictIsOne(String module, String type) throws Exception {
        TestArchive archive = new TestArchive();
        PyValue model = dict(module, type, "decoder.final_norm.weight", archive.tensor(new int[] {1, 2}, 2));
        Path file = folder.resolve("model_optim_rng.pt");
        archive.write(file, dict(module, type, "model", model, "iteration", PyInt.of(3)));

        try (FilePool pool = new FilePool()) {
            RankFile rank = RankFile.open(pool, file, "file");
            assertThat(rank.entries()).containsKeys("model", "iteration");
            assertThat(rank.chunk("model")).containsOnlyKeys("decoder.final_norm.weight");
        }
    }

    @Test
    void aListIsNoDict() throws Exception {
        Path file = folder.resolve("model_optim_rng.pt");
        new TestArchive().write(file, new PyList(List.of(PyInt.of(1))));

        try (FilePool pool = new FilePool()) {
            assertThatThrownBy(() -> RankFile.open(pool, file, "file"))
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("the file holds no dict of a training checkpoint");
        }
    }

    private static PyValue dict(String module, String type, Object... pairs) {
        PyObject object = new PyObject(PyObject.Kind.REDUCE, new PyGlobal(module, type), new PyTuple(List.of()));
        List<PyEntry> entries = new ArrayList<>();
        for (int at = 0; at < pairs.length; at += 2) {
            entries.add(new PyEntry(new PyStr((String) pairs[at]), (PyValue) pairs[at + 1]));
        }
        object.addStep(new PyObject.Items(entries));
        return object;
    }
}
