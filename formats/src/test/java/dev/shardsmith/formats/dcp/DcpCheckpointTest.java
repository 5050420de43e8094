package dev.shardsmith.formats.dcp;

import static dev.shardsmith.formats.dcp.MetadataGraph.at;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpFinding.Code;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.ImageBytes;
import dev.shardsmith.formats.torch.TorchImage;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.testdata.TestData;
import io.airlift.compress.zstd.ZstdOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class DcpCheckpointTest {
    @TempDir
    Path folder;

    private final FilePool pool = new FilePool();

    @AfterEach
    void close() throws IOException {
        pool.close();
    }

    @Test
    void readsMetadataOfPyTorch1() throws IOException {
        MetadataGraph graph = oneTensor();
        MetadataGraph old = new MetadataGraph();
        old.module = "torch.distributed._shard.checkpoint.";
        old.properties = "torch.distributed._shard.sharded_tensor.metadata";
        old.root = "torch.distributed._shard.checkpoint.metadata Metadata";
        old.tensor("w", at(4), at(0), at(4))
                .place("w", at(0), "__0_0.distcp", 0, item().length)
                .write(folder);
        assertThat(graph).isNotNull();
        assertThat(WholeTensors.bytes(open().tensor("w").orElseThrow())).containsExactly(1, 2, 3, 4);
        assertThat(open().version()).isEmpty();
        assertThat(open().hasPaths()).isFalse();
        assertThat(open().path("w")).containsExactly(new PyStr("w"));
    }

    @Test
    void passesOverWritePlansAndUnknownAttributes() throws IOException {
        MetadataGraph graph = oneTensor();
        graph.root = "megatron.core.dist_checkpointing.strategies.torch MCoreMetadata";
        PyDict plan = new PyDict();
        PyValue item = MetadataGraph.object(
                "torch.distributed.checkpoint.planner", "WriteItem", "index", PyNone.NONE, "type", PyNone.NONE);
        plan.put("items", MetadataGraph.wrapped(item));
        graph.state.put("all_local_plans", MetadataGraph.wrapped(plan));
        graph.state.put("storage_meta", PyNone.NONE);
        graph.state.put("something_new", MetadataGraph.make("some.module", "Class"));
        graph.write(folder);
        assertThat(open().check()).isEmpty();
    }

    @Test
    void restoresFlattenedRangesOfMegatron() throws IOException {
        // A tensor [4, 6] in shards of [2, 3]; shard (1, 0) is in ranges of 1, 4 and 1 elements.
        byte[] whole = new byte[24];
        for (int i = 0; i < whole.length; i++) {
            whole[i] = (byte) i;
        }
        MetadataGraph graph = new MetadataGraph();
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        long[][] ranges = {
            {0, 0, 0, 6}, {0, 1, 0, 3}, {0, 1, 3, 3}, {1, 0, 0, 1}, {1, 0, 1, 4}, {1, 0, 5, 1}, {1, 1, 0, 6}
        };
        long[][] boxes = new long[2 * ranges.length][];
        for (int i = 0; i < ranges.length; i++) {
            long[] range = ranges[i];
            byte[] data = new byte[(int) range[3]];
            for (int k = 0; k < data.length; k++) {
                long position = range[2] + k;
                data[k] = whole[(int) ((range[0] * 2 + position / 3) * 6 + range[1] * 3 + position % 3)];
            }
            boxes[2 * i] = at(range[0], range[1], range[2]);
            boxes[2 * i + 1] = at(1, 1, range[3]);
            byte[] item = item(Shape.of(1, 1, range[3]), data);
            graph.place("w", boxes[2 * i], "__0_0.distcp", file.size(), item.length);
            file.writeBytes(item);
        }
        Files.write(folder.resolve("__0_0.distcp"), file.toByteArray());
        graph.tensor("w", at(2, 2, 6), boxes);
        PyDict original = new PyDict();
        original.put("nd_reformulated_orig_global_shape", MetadataGraph.tuple(4, 6));
        PyDict mcore = new PyDict();
        mcore.put("w", original);
        mcore.put("other", new PyDict());
        graph.state.put("mcore_data", mcore);
        graph.write(folder);
        DcpTensor tensor = open().tensor("w").orElseThrow();
        assertThat(tensor.logicalShape()).isEqualTo(Shape.of(4, 6));
        assertThat(tensor.shape()).isEqualTo(Shape.of(2, 2, 6));
        assertThat(open().check()).isEmpty();
        assertThat(WholeTensors.bytes(tensor)).isEqualTo(whole);
    }

    @Test
    void refusesFlattenedRangesThatDoNotFit() throws IOException {
        MetadataGraph graph = new MetadataGraph().tensor("w", at(2, 6), at(0, 0), at(1, 6), at(1, 0), at(1, 6));
        PyDict original = new PyDict();
        original.put("nd_reformulated_orig_global_shape", MetadataGraph.tuple(13));
        PyDict mcore = new PyDict();
        mcore.put("w", original);
        graph.state.put("mcore_data", mcore);
        graph.write(folder);
        DcpTensor tensor = open().tensor("w").orElseThrow();
        assertThatThrownBy(tensor::pieces).hasMessageContaining("2 shards do not divide dimension 0 of [13]");
    }

    @Test
    void refusesThePrototypeOfPyTorch112AndSaysWhatToDo() throws IOException {
        for (String type : List.of("TensorStorageMetadata", "BytesStorageMetadata")) {
            MetadataGraph graph = new MetadataGraph();
            graph.described.put(
                    "w",
                    MetadataGraph.object(
                            "torch.distributed._shard.checkpoint.metadata",
                            type,
                            "storage_key",
                            new PyStr("w"),
                            "length",
                            PyInt.of(4)));
            graph.write(folder);

            assertThatThrownBy(this::open)
                    .hasMessageContaining("PyTorch 1.12 prototype")
                    .satisfies(e -> assertThat(((CheckpointException) e).hint().orElseThrow())
                            .contains("load it with PyTorch 1.12"));
        }
    }

    @Test
    void noticesFlattenedRangesWhoseShapeIsLost() throws IOException {
        MetadataGraph graph = new MetadataGraph();
        graph.tensor("w", at(2, 2), at(0, 0), at(2, 2));
        graph.tensor("optimizer.state.exp_avg.w", at(1, 2, 2), at(0, 0, 0), at(1, 2, 2));
        graph.write(folder);
        assertThat(open().check()).extracting(DcpFinding::code).contains(Code.MISSING_REFORMULATION);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/etc/passwd", "../x.distcp", "a/../../x", "a\\b", "s3://bucket/x", "", "x\0y", "a//b", ".."})
    void refusesDataFilesOutsideTheFolder(String path) throws IOException {
        oneTensor().place("w", at(0), path, 0, 10).write(folder);
        assertThatThrownBy(this::open)
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("does not lie inside the checkpoint's folder");
    }

    @Test
    void followsNoLinkOutOfTheFolder() throws IOException {
        Path outside = Files.write(folder.resolve("outside"), item());
        Path ckpt = Files.createDirectory(folder.resolve("ckpt"));
        Files.createSymbolicLink(ckpt.resolve("__0_0.distcp"), outside);
        Files.write(ckpt.resolve("real"), item());
        Files.createSymbolicLink(ckpt.resolve("inside"), Path.of("real"));
        MetadataGraph graph =
                new MetadataGraph().tensor("w", at(4), at(0), at(4)).tensor("v", at(4), at(0), at(4));
        graph.place("w", at(0), "__0_0.distcp", 0, item().length).place("v", at(0), "inside", 0, item().length);
        graph.write(ckpt);
        DcpCheckpoint checkpoint = DcpCheckpoint.open(pool, ckpt);
        assertThatThrownBy(() ->
                        checkpoint.tensor("w").orElseThrow().chunks().get(0).open())
                .hasMessageContaining("leads out of the checkpoint's folder");
        assertThat(WholeTensors.bytes(checkpoint.tensor("v").orElseThrow())).containsExactly(1, 2, 3, 4);
    }

    @Test
    void refusesDataFileThatIsAFolder() throws IOException {
        Files.createDirectory(folder.resolve("__0_0.distcp"));
        new MetadataGraph()
                .tensor("w", at(4), at(0), at(4))
                .place("w", at(0), "__0_0.distcp", 0, 1)
                .write(folder);
        assertThatThrownBy(this::openW).hasMessageContaining("not a regular file");
        assertThat(open().check()).extracting(DcpFinding::code).containsExactly(Code.MISSING_FILE);
    }

    static Stream<Object[]> brokenMetadata() {
        MetadataGraph wrongRoot = new MetadataGraph();
        wrongRoot.root = "collections OrderedDict";
        MetadataGraph noDtype = new MetadataGraph();
        noDtype.dtype = new PyStr("uint8");
        MetadataGraph numbers = new MetadataGraph();
        numbers.place("w", MetadataGraph.size(0), new PyStr("f"), PyInt.of(-1), PyInt.of(1));
        MetadataGraph text = new MetadataGraph();
        text.place("w", MetadataGraph.size(0), new PyStr("f"), new PyStr("0"), PyInt.of(1));
        MetadataGraph pathIsNumber = new MetadataGraph();
        pathIsNumber.place("w", MetadataGraph.size(0), PyInt.of(3), PyInt.of(0), PyInt.of(1));
        MetadataGraph twice = new MetadataGraph().object("w");
        twice.described
                .entries()
                .addAll(new MetadataGraph().object("w").described.entries());
        MetadataGraph unknownClass = new MetadataGraph();
        unknownClass.described.put("w", MetadataGraph.make("torch.distributed.x", "Y"));
        MetadataGraph prototype = new MetadataGraph();
        prototype.described.put(
                "w",
                MetadataGraph.make("torch.distributed._shard.checkpoint.metadata", "ShardedTensorStorageMetadata"));
        return Stream.of(
                new Object[] {wrongRoot, "does not hold a torch.distributed.checkpoint Metadata object"},
                new Object[] {noDtype.tensor("w", at(1)), "name no element type"},
                new Object[] {numbers, "lies at byte -1"},
                new Object[] {text, "where a number of at most 64 bits is expected"},
                new Object[] {pathIsNumber, "relative_path of w is not a string"},
                new Object[] {twice, "two entries have this name"},
                new Object[] {unknownClass, "unknown class"},
                new Object[] {prototype, "PyTorch 1.12 prototype"},
                new Object[] {new MetadataGraph().tensor("w", at(4), at(0, 0), at(4)), "does not lie inside"},
                new Object[] {new MetadataGraph().tensor("w", at(4), at(1), at(4)), "does not lie inside the shape [4]"
                },
                new Object[] {new MetadataGraph().tensor("w", at(4), at(-1), at(4)), "does not lie inside"},
                new Object[] {new MetadataGraph().tensor("w", at(4), at(2), at(Long.MAX_VALUE)), "does not lie inside"},
                new Object[] {new MetadataGraph().tensor("w", at(-4)), "negative or overflows"},
                new Object[] {new MetadataGraph().tensor("w", at(1L << 40, 1L << 40)), "negative or overflows"},
                new Object[] {new MetadataGraph().tensor("w", new long[65]), "a tensor of 65 dimensions"},
                new Object[] {
                    new MetadataGraph().described("w", PyNone.NONE, MetadataGraph.wrapped(PyNone.NONE)),
                    "a size is not a torch.Size"
                },
                new Object[] {
                    new MetadataGraph().described("w", MetadataGraph.size(1), PyNone.NONE), "chunks of w is not a list"
                },
                new Object[] {
                    new MetadataGraph().described("w", MetadataGraph.size(1), MetadataGraph.wrapped(PyNone.NONE)),
                    "not a ChunkStorageMetadata"
                });
    }

    @ParameterizedTest
    @MethodSource("brokenMetadata")
    void refusesBrokenMetadata(MetadataGraph graph, String message) throws IOException {
        graph.write(folder);
        assertThatThrownBy(this::open).isInstanceOf(CheckpointException.class).hasMessageContaining(message);
    }

    @Test
    void failsForEveryTruncationOfMetadata() throws IOException {
        byte[] whole = oneTensor().pickle();
        for (int length = 0; length < whole.length; length++) {
            Files.write(folder.resolve(".metadata"), Arrays.copyOf(whole, length));
            try (FilePool fresh = new FilePool()) {
                assertThatThrownBy(() -> DcpCheckpoint.open(fresh, folder)).isInstanceOf(CheckpointException.class);
            }
        }
    }

    @Test
    void findsWhatIsMissingOrDoubled() throws IOException {
        MetadataGraph graph = new MetadataGraph();
        graph.tensor("gap", at(4, 4), at(0, 0), at(4, 2), at(0, 2), at(2, 2));
        graph.tensor("overlap", at(4), at(0), at(3), at(2), at(2));
        graph.tensor("empty chunk", at(4), at(0), at(4), at(4), at(0));
        graph.object("lost");
        for (String name : List.of("gap", "overlap", "empty chunk")) {
            graph.place(name, name.equals("gap") ? at(0, 0) : at(0), "__0_0.distcp", 0, 1);
        }
        graph.place("gap", at(0, 2), "__0_0.distcp", 1, 1);
        graph.place("overlap", at(2), "__0_0.distcp", 2, 1);
        graph.place("nobody", null, "__0_0.distcp", 3, 1);
        graph.write(folder);
        Files.write(folder.resolve("__0_0.distcp"), new byte[8]);
        assertThat(open().check())
                .extracting(DcpFinding::message)
                .containsExactlyInAnyOrder(
                        "no chunk of gap covers [2:4, 2:4]",
                        "chunks [0:3] and [2:4] of overlap overlap",
                        "the object lost has no place in any data file",
                        "a place in a data file is given for a chunk of nobody that does not exist");
        assertThatThrownBy(() -> open().object("lost")).hasMessageContaining("has no place in any data file");
        assertThatThrownBy(() -> open().object("never")).hasMessageContaining("there is no object never");
    }

    @Test
    void findsItemsThatOverlapOrLieOutsideTheirFile() throws IOException {
        MetadataGraph graph = new MetadataGraph().object("a").object("b").object("c");
        graph.place("a", null, "f", 0, 10).place("b", null, "f", 9, 10).place("c", null, "g", 0, 1);
        graph.write(folder);
        Files.write(folder.resolve("f"), new byte[12]);
        assertThat(open().check())
                .extracting(DcpFinding::message)
                .containsExactly(
                        "the data file f has 12 bytes, but its items need 19",
                        "two items of f overlap at byte 9",
                        "the data file g is missing");
        assertThatThrownBy(() -> open().object("b")).hasMessageContaining("claims 10 bytes at byte 9");
        assertThatThrownBy(() -> open().object("c")).hasMessageContaining("does not exist");
    }

    @Test
    void findsPathsThatContradictEachOther() throws IOException {
        MetadataGraph graph = new MetadataGraph().object("a").object("a.b").object("list");
        graph.place("a", null, "f", 0, 1).place("a.b", null, "f", 1, 1).place("list", null, "f", 2, 1);
        PyDict paths = new PyDict();
        paths.put("a", PyTuple.of(new PyStr("a")));
        paths.put("a.b", PyTuple.of(new PyStr("a"), new PyStr("b")));
        paths.put("list", PyTuple.of(new PyStr("list"), PyInt.of(1_000_000_000)));
        graph.state.put("planner_data", paths);
        graph.write(folder);
        Files.write(folder.resolve("f"), new byte[3]);
        assertThat(open().path("a.b")).containsExactly(new PyStr("a"), new PyStr("b"));
        assertThat(open().check())
                .extracting(DcpFinding::code)
                .containsExactly(Code.CONFLICTING_PATHS, Code.CONFLICTING_PATHS);
    }

    @Test
    void listsUnknownElementTypeAndRefusesOnlyTheTensor() throws IOException {
        MetadataGraph graph = new MetadataGraph();
        graph.dtype = new PyGlobal("torch", "float3_strange");
        graph.tensor("w", at(4), at(0), at(4)).write(folder);
        DcpTensor tensor = open().tensor("w").orElseThrow();
        assertThat(tensor.dtype()).isEmpty();
        assertThat(tensor.dtypeName()).isEqualTo("float3_strange");
        assertThat(open().check()).extracting(DcpFinding::code).contains(Code.UNKNOWN_DTYPE);
    }

    @Test
    void refusesItemOfAnotherShapeOrContent() throws IOException {
        byte[] object = ImageBytes.of(TorchImage.of(PyInt.of(1)).build("o"), key -> new byte[0]);
        Files.write(folder.resolve("o"), object);
        Files.write(folder.resolve("f"), item());
        MetadataGraph graph =
                new MetadataGraph().tensor("w", at(5), at(0), at(5)).tensor("v", at(4), at(0), at(4));
        graph.place("w", at(0), "f", 0, item().length).place("v", at(0), "o", 0, object.length);
        graph.write(folder);
        assertThatThrownBy(this::openW).hasMessageContaining("has shape [4], but its chunk has [5]");
        assertThatThrownBy(
                        () -> open().tensor("v").orElseThrow().chunks().get(0).open())
                .hasMessageContaining("holds something else than one tensor");
    }

    @Test
    void readsItemsThroughZstd() throws IOException {
        Files.write(folder.resolve("f"), compressed(item()));
        long length = Files.size(folder.resolve("f"));
        MetadataGraph graph = new MetadataGraph().tensor("w", at(4), at(0), at(4));
        graph.place("w", at(0), "f", 0, length, "stream.zstd/1").write(folder);
        assertThat(open().tensor("w").orElseThrow().chunks().get(0).place().transforms())
                .containsExactly("stream.zstd/1");
        assertThat(WholeTensors.bytes(open().tensor("w").orElseThrow())).containsExactly(1, 2, 3, 4);
        assertThat(open().check()).isEmpty();
    }

    @Test
    void stopsZstdThatHoldsTooMuch() throws IOException {
        Files.write(folder.resolve("f"), compressed(new byte[4 << 20]));
        long length = Files.size(folder.resolve("f"));
        MetadataGraph graph = new MetadataGraph().tensor("w", at(4), at(0), at(4));
        graph.place("w", at(0), "f", 0, length, "stream.zstd/1").write(folder);
        CheckpointException e = catchThrowableOfType(CheckpointException.class, this::openW);
        assertThat(e.kind()).isEqualTo(CheckpointException.Kind.LIMIT);
    }

    @Test
    void refusesDamagedZstdAndUnknownTransforms() throws IOException {
        byte[] damaged = compressed(item());
        Arrays.fill(damaged, 8, damaged.length, (byte) 0x55);
        Files.write(folder.resolve("f"), damaged);
        MetadataGraph graph =
                new MetadataGraph().tensor("w", at(4), at(0), at(4)).tensor("v", at(4), at(0), at(4));
        graph.place("w", at(0), "f", 0, damaged.length, "stream.zstd/1");
        graph.place("v", at(0), "f", 0, damaged.length, "stream.rot13").write(folder);
        assertThatThrownBy(this::openW).isInstanceOf(CheckpointException.class).hasMessageContaining("not valid zstd");
        assertThatThrownBy(
                        () -> open().tensor("v").orElseThrow().chunks().get(0).open())
                .hasMessageContaining("the transform stream.rot13");
    }

    @Test
    void joinsMetadataOfSingleRanks() throws IOException {
        Files.write(folder.resolve("__0_0.distcp"), item());
        Files.write(folder.resolve("__1_0.distcp"), item());
        for (int rank = 0; rank < 2; rank++) {
            MetadataGraph graph =
                    new MetadataGraph().tensor("w", at(8), at(4 * rank), at(4)).object("o");
            graph.place("w", at(4 * rank), "__" + rank + "_0.distcp", 0, item().length);
            graph.place("o", null, "__" + rank + "_0.distcp", 0, 4);
            Files.write(folder.resolve("__" + rank + ".metadata"), graph.pickle());
        }
        DcpCheckpoint checkpoint = open();
        assertThat(checkpoint.objects()).containsExactly("o");
        assertThat(WholeTensors.bytes(checkpoint.tensor("w").orElseThrow())).containsExactly(1, 2, 3, 4, 1, 2, 3, 4);
        assertThat(checkpoint.tensor("w").orElseThrow().checkCoverage()).isEmpty();
    }

    @Test
    void saysThatASaveDidNotFinish() throws IOException {
        Files.write(folder.resolve("__0_0.distcp"), item());
        Files.write(folder.resolve(".metadata.tmp"), item());
        CheckpointException e = catchThrowableOfType(CheckpointException.class, this::open);
        assertThat(e.kind()).isEqualTo(CheckpointException.Kind.INCOMPLETE);
        assertThat(e).hasMessageContaining(".metadata.tmp is left of a save that did not finish");
    }

    @Test
    void ignoresDataFilesThatNobodyRefersTo() throws IOException {
        oneTensor().write(folder);
        Files.write(folder.resolve("__1_0.distcp"), new byte[0]);
        assertThat(open().check()).isEmpty();
        assertThat(open().dataFiles()).containsExactly("__0_0.distcp");
    }

    @Test
    void givesTheBytesOfAnObject() throws IOException {
        // Of an object the item may be anything that torch.save takes, a BytesIO for one.
        try (FilePool golden = new FilePool()) {
            DcpCheckpoint plain = DcpCheckpoint.open(golden, TestData.path("dcp", "ws1_plain", "ckpt"));
            assertThat(plain.object("io").root()).isNotNull();
            assertThat(plain.objectBytes("io").size()).isEqualTo(1325);
        }
    }

    private DcpCheckpoint open() throws IOException {
        return DcpCheckpoint.open(new FilePool(), folder);
    }

    private void openW() throws IOException {
        open().tensor("w").orElseThrow().chunks().get(0).open();
    }

    /** A tensor w of four bytes 1, 2, 3, 4 in the file __0_0.distcp. */
    private MetadataGraph oneTensor() throws IOException {
        Files.write(folder.resolve("__0_0.distcp"), item());
        return new MetadataGraph().tensor("w", at(4), at(0), at(4)).place("w", at(0), "__0_0.distcp", 0, item().length);
    }

    private static byte[] item() throws IOException {
        return item(Shape.of(4), new byte[] {1, 2, 3, 4});
    }

    private static byte[] item(Shape shape, byte[] data) throws IOException {
        FileImage image =
                TorchImage.of(new TorchPickle().tensor(DType.U8, shape, "x")).build("item");
        return ImageBytes.of(image, key -> data);
    }

    private static byte[] compressed(byte[] bytes) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (ZstdOutputStream zstd = new ZstdOutputStream(out)) {
            zstd.write(bytes);
        }
        return out.toByteArray();
    }
}
