package dev.shardsmith.formats.dcp;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.pickle.GraphText;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DcpNodeReaderTest {
    static Stream<Path> tables() {
        return Stream.of("dcp", "megatron-torch-dist")
                .flatMap(kind -> TestData.cases(kind).stream())
                .flatMap(DcpNodeReaderTest::tables);
    }

    private static Stream<Path> tables(Path group) {
        try (Stream<Path> files = Files.walk(group)) {
            return files.filter(file -> file.getFileName().toString().endsWith(".metadata")).toList().stream();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String text(DcpMetadata metadata) {
        StringBuilder text = new StringBuilder(metadata.origin() + " " + metadata.findings());
        for (int entry = 0; entry < metadata.size(); entry++) {
            String name = metadata.name(entry);
            text.append('\n').append(name).append(' ').append(metadata.dtype(entry));
            if (metadata.isTensor(entry)) {
                text.append(metadata.shape(entry))
                        .append(metadata.originalShapes().get(name));
            }
            metadata.plannerPath(name).forEach(part -> text.append('/').append(GraphText.of(part)));
            for (int row = metadata.firstRow(entry); row < metadata.firstRow(entry) + metadata.rowCount(entry); row++) {
                text.append("\n  ")
                        .append(Arrays.toString(metadata.offsets(entry, row)))
                        .append(Arrays.toString(metadata.sizes(entry, row)));
                if (metadata.file(row) >= 0) {
                    text.append(metadata.files().get(metadata.file(row)))
                            .append(' ')
                            .append(metadata.itemOffset(row))
                            .append(' ')
                            .append(metadata.itemLength(row))
                            .append(metadata.transforms(row));
                }
            }
        }
        return text.toString();
    }

    private static void assertBothAgree(byte[] pickle) throws IOException {
        ByteSource source = ByteSource.of(".metadata", pickle);
        assertThat(text(DcpNodeReader.read(source).orElseThrow()))
                .isEqualTo(text(DcpMetadataReader.readObjects(source)));
    }

    @ParameterizedTest
    @MethodSource("tables")
    void tablesOfTheLibraryAreReadWithoutObjects(Path file) throws IOException {
        try (FilePool pool = new FilePool()) {
            Optional<DcpMetadata> read = DcpNodeReader.read(pool.file(file));

            assertThat(read).isPresent();
            assertThat(text(read.get())).isEqualTo(text(DcpMetadataReader.readObjects(pool.file(file))));
        }
    }

    @Test
    void entriesOfUnusualFormsAreReadToo() throws IOException {
        MetadataGraph graph = new MetadataGraph()
                .tensor("usual", new long[] {4}, new long[] {0}, new long[] {4})
                .tensor(
                        "größe",
                        new long[] {4, 2},
                        new long[] {0, 0},
                        new long[] {2, 2},
                        new long[] {2, 0},
                        new long[] {2, 2})
                .tensor("scalar", new long[0], new long[0], new long[0])
                .tensor("many", new long[9], new long[9], new long[9])
                .object("o")
                .place("größe", new long[] {2, 0}, "b", 7, 8)
                .place("scalar", null, "a/b", 1, 2)
                .place("o", null, "b", 1, 2, "zstd")
                .place("unknown", new long[] {0}, "b", 1, 2);
        // A tuple for a size, a list for another, an attribute that nobody knows.
        graph.described("tuple", PyTuple.of(PyInt.of(3)), new PyList(List.of()));
        graph.described("list", new PyList(List.of(PyInt.of(1L << 40), PyInt.of(2))), new PyList(List.of()));
        PyObject more = (PyObject) graph.tensor("more", new long[] {1}, new long[] {0}, new long[] {1})
                .described
                .get("more")
                .orElseThrow();
        ((PyDict) more.state().orElseThrow()).put("new in a later release", new PyStr("x"));

        assertBothAgree(graph.pickle());
    }

    @Test
    void placesThatShareTheOffsetsOfTheirChunksAreJoined() throws IOException {
        PyValue shared = MetadataGraph.size(4);
        MetadataGraph graph = new MetadataGraph();
        PyObject chunk = MetadataGraph.object(
                graph.module + "metadata", "ChunkStorageMetadata", "offsets", shared, "sizes", MetadataGraph.size(2));
        graph.described("w", MetadataGraph.size(6), new PyList(List.of(chunk)));
        graph.place("w", shared, new PyStr("f"), PyInt.of(5), PyInt.of(6));

        DcpMetadata read =
                DcpNodeReader.read(ByteSource.of(".metadata", graph.pickle())).orElseThrow();

        assertThat(read.offsets(0, 0)).containsExactly(4);
        assertThat(read.file(0)).isZero();
        assertThat(read.itemOffset(0)).isEqualTo(5);
        assertBothAgree(graph.pickle());
    }

    @Test
    void pathsOfAllFormsAreRead() throws IOException {
        MetadataGraph graph = new MetadataGraph().object("a.b").object("c").object("d.e");
        PyDict paths = new PyDict();
        paths.put("a.b", PyTuple.of(new PyStr("a"), new PyStr("b")));
        paths.put("c", PyTuple.of(new PyStr("c"), PyInt.of(0)));
        paths.put("d.e", PyTuple.of(new PyStr("d.e")));
        paths.put("not there", PyTuple.of(new PyStr("not there")));
        graph.state.put("planner_data", paths);

        assertBothAgree(graph.pickle());
    }
}
