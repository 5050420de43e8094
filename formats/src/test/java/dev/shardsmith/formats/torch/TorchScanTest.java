package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PyBytes;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A scan tells what a file would do, and never calls clean what it has not read. */
class TorchScanTest {
    static Stream<Path> ordinaryFiles() {
        return Stream.of("pytorch-zip", "pytorch-legacy")
                .flatMap(group -> TestData.cases(group).stream())
                .filter(folder ->
                        !folder.toString().matches(".*(custom_classes|tensor_attrs|pytorch-zip.protocol\\d)"));
    }

    @ParameterizedTest
    @MethodSource("ordinaryFiles")
    void ordinaryFilesAreClean(Path folder) throws IOException {
        ScanReport report = scan(folder);
        assertThat(report.findings()).isEmpty();
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.CLEAN);
    }

    @ParameterizedTest
    @ValueSource(strings = {"dcp/ws2_mixed/ckpt", "dcp/ws1_plain/ckpt", "megatron-legacy", "megatron-torch-dist", "hf"})
    void wholeCheckpointsAreClean(String folder) throws IOException {
        ScanReport report = TorchScan.scan(TestData.path(folder));
        assertThat(report.findings()).isEmpty();
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.CLEAN);
    }

    @Test
    void unknownClassesAreFindings() throws IOException {
        ScanReport report = scan(TestData.path("pytorch-zip", "custom_classes"));
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.FINDINGS);
        assertThat(report.findings())
                .allSatisfy(finding -> assertThat(finding.code()).isEqualTo("unknown-global"))
                .anySatisfy(finding -> assertThat(finding.message()).contains("fx_custom.Color"));
    }

    @ParameterizedTest
    @CsvSource({
        "unsafe_eval,__builtin__.eval",
        "unsafe_eval_legacy,__builtin__.eval",
        "unsafe_getcwd,posix.getcwd",
        "unsafe_getcwd_legacy,posix.getcwd"
    })
    void callsThatDoHarmAreFoundAndTheFileIsNotOpened(String name, String global) throws IOException {
        Path folder = TestData.path("pytorch-reject", name);
        ScanReport report = scan(folder);

        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.FINDINGS);
        assertThat(report.findings().get(0).code()).isEqualTo("dangerous-global");
        assertThat(report.findings().get(0).message()).contains(global);
        assertThat(report.globals().get(0).risk()).isEqualTo(GlobalRisk.DANGEROUS);
        byte[] bytes = Files.readAllBytes(folder.resolve("model.pt"));
        assertThatThrownBy(() -> TorchFile.open(ByteSource.of(name, bytes)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("would call " + global);
    }

    @Test
    void harmBeforeABrokenTailIsStillReported() throws IOException {
        byte[] harmful = TestTensors.pickle(TestTensors.call("os", "system", TestTensors.str("true")));
        byte[] broken = Arrays.copyOf(harmful, harmful.length + 3);
        Arrays.fill(broken, harmful.length - 1, broken.length, (byte) 0xff);

        assertDanger(TorchScan.scan(ByteSource.of("broken.bin", broken)), "os.system");
        byte[] archive = TestZip.torch(broken).bytes();
        assertDanger(TorchScan.scan(ByteSource.of("broken.pt", archive)), "os.system");
        byte[] cut = Arrays.copyOf(archive, archive.length - 30);
        assertDanger(TorchScan.scan(ByteSource.of("cut.pt", cut)), "os.system");
    }

    @Test
    void textPicklesUnderAnyNameAreSeen() throws IOException {
        byte[] text = "cos\nsystem\n(S'true'\ntR.".getBytes(StandardCharsets.US_ASCII);
        assertDanger(TorchScan.scan(ByteSource.of("readme.bin", text)), "os.system");
    }

    @Test
    void picklesInsideBytesAreSeen() throws IOException {
        byte[] inner = TestTensors.pickle(TestTensors.call("subprocess", "Popen", TestTensors.str("true")));
        PyDict root = TestTensors.dict("extra", new PyBytes(PyBytes.Kind.BYTES, inner));
        assertDanger(
                TorchScan.scan(ByteSource.of(
                        "nested.pt", TestZip.torch(TestTensors.pickle(root)).bytes())),
                "subprocess.Popen");
    }

    @Test
    void functionWithSomeOfItsArgumentsIsAsHarmlessAsTheFunction() throws IOException {
        PyObject harmless = partial(new PyGlobal("timm.layers", "LayerNorm"));
        byte[] bytes = archive(harmless);
        assertThat(TorchFile.open(ByteSource.of("partial.pt", bytes)).tensors()).isEmpty();
        ScanReport report = TorchScan.scan(ByteSource.of("partial.pt", bytes));
        assertThat(report.findings())
                .isNotEmpty()
                .allMatch(finding -> finding.severity() == ScanReport.Severity.WARNING);
    }

    @Test
    void partialFunctionsDoNotHideDangerousOnes() throws IOException {
        PyGlobal layer = new PyGlobal("timm.layers", "LayerNorm");
        PyGlobal system = new PyGlobal("os", "system");
        assertHarmful(partial(system), "functools.partial");
        // Another function comes in by the state.
        PyObject changed = partial(layer);
        changed.addStep(
                new PyObject.State(PyTuple.of(system, PyTuple.of(TestTensors.str("true")), PyNone.NONE, PyNone.NONE)));
        assertHarmful(changed, "os.system");
        // One partial function in another, and one that is called.
        assertHarmful(partial(partial(layer)), "functools.partial");
        assertHarmful(new PyObject(PyObject.Kind.REDUCE, partial(layer), PyTuple.EMPTY), "functools.partial");
    }

    private static PyObject partial(PyValue function) {
        return TestTensors.call("functools", "partial", function);
    }

    private static void assertHarmful(PyValue value, String name) throws IOException {
        byte[] bytes = archive(value);
        assertThatThrownBy(() -> TorchFile.open(ByteSource.of("partial.pt", bytes)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("would call " + name);
    }

    private static byte[] archive(PyValue value) throws CheckpointException {
        return TestZip.torch(TestTensors.pickle(TestTensors.dict("x", value))).bytes();
    }

    @Test
    void attributesAreNotFetchedUnnoticed() throws IOException {
        PyDict root = TestTensors.dict(
                "x",
                TestTensors.call("builtins", "getattr", new PyGlobal("torch", "serialization"), TestTensors.str("os")));
        assertDanger(
                TorchScan.scan(ByteSource.of(
                        "attribute.pt", TestZip.torch(TestTensors.pickle(root)).bytes())),
                "getattr");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "cut_before_central_directory",
                "cut_in_end_record",
                "cut_in_pickle",
                "cut_in_storage",
                "flip_in_central_directory_offset",
                "flip_in_local_header",
                "legacy_cut_in_pickle",
                "legacy_cut_in_storage",
                "legacy_flip_size"
            })
    void whatCannotBeReadIsNotCalledClean(String name) throws IOException {
        ScanReport report = scan(TestData.path("pytorch-damaged", name));
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.INCONCLUSIVE);
        assertThat(report.files().get(0).complete()).isFalse();
    }

    @ParameterizedTest
    @CsvSource({
        "trailing_garbage,trailing-bytes",
        "flip_in_storage,bad-crc",
        "flip_in_central_directory_name,header-mismatch",
    })
    void oddContainersAreFindings(String name, String code) throws IOException {
        ScanReport report = scan(TestData.path("pytorch-damaged", name));
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.FINDINGS);
        assertThat(report.findings())
                .anySatisfy(finding -> assertThat(finding.code()).isEqualTo(code));
    }

    @Test
    void containerTricksAreFindings() throws IOException {
        byte[] pickle = TestTensors.dictOfFourFloats();
        TestZip.Entry storage = TestZip.Entry.of("m/data/0", new byte[16]);
        assertFinding(TestZip.torch(pickle, storage).with(storage), "duplicate-record");
        assertFinding(TestZip.torch(pickle, storage.withFlags(0x0801)), "encrypted-record");
        assertFinding(TestZip.torch(pickle, storage.withLocalName("m/data/9")), "header-mismatch");
        assertFinding(TestZip.torch(pickle, storage.withCrc(7)), "bad-crc");
        assertFinding(TestZip.torch(pickle, TestZip.Entry.of("m/data/0", new byte[15])), "storage-size-mismatch");
        assertFinding(TestZip.torch(pickle), "missing-record");
        assertFinding(TestZip.torch(pickle, storage).withComment("hello"), "comment");
        assertFinding(TestZip.torch(pickle, storage.withLocalMethod(8)), "header-mismatch");
        assertFinding(TestZip.torch(pickle, storage.packed(deflated(new byte[16]))), "compressed-record");
        byte[] archive = TestZip.torch(pickle, storage).bytes();
        byte[] prefixed = new byte[archive.length + 6];
        System.arraycopy(archive, 0, prefixed, 6, archive.length);
        prefixed[0] = 'P';
        prefixed[1] = 'K';
        prefixed[2] = 3;
        prefixed[3] = 4;
        assertThat(TorchScan.scan(ByteSource.of("test.pt", prefixed)).findings())
                .anySatisfy(finding -> assertThat(finding.code()).isEqualTo("leading-bytes"));
        byte[] twice = Arrays.copyOf(pickle, pickle.length * 2);
        System.arraycopy(pickle, 0, twice, pickle.length, pickle.length);
        assertFinding(TestZip.torch(twice, storage), "trailing-bytes");
    }

    @Test
    void foldersAreScannedFileByFile(@TempDir Path folder) throws IOException {
        Files.writeString(folder.resolve("config.json"), "{}");
        Files.write(
                folder.resolve("a.pt"),
                TestZip.torch(TestTensors.pickle(new PyList())).bytes());
        Files.createDirectory(folder.resolve("deep"));
        Files.write(
                folder.resolve("deep/b.bin"),
                TestTensors.pickle(TestTensors.call("builtins", "exec", TestTensors.str("pass"))));

        ScanReport report = TorchScan.scan(folder);

        assertThat(report.files())
                .extracting(ScanReport.ScannedFile::name)
                .containsExactly("a.pt", "config.json", "deep/b.bin");
        assertDanger(report, "exec");
    }

    @Test
    void anEmptyFolderIsNotCalledClean(@TempDir Path folder) throws IOException {
        assertThat(TorchScan.scan(folder).verdict()).isEqualTo(ScanReport.Verdict.INCONCLUSIVE);
    }

    private static byte[] deflated(byte[] content) {
        Deflater deflater = new Deflater(Deflater.BEST_COMPRESSION, true);
        deflater.setInput(content);
        deflater.finish();
        byte[] packed = new byte[64];
        int length = deflater.deflate(packed);
        deflater.end();
        return Arrays.copyOf(packed, length);
    }

    private static void assertFinding(TestZip zip, String code) {
        ScanReport report = TorchScan.scan(ByteSource.of("test.pt", zip.bytes()));
        assertThat(report.findings())
                .anySatisfy(finding -> assertThat(finding.code()).isEqualTo(code));
        assertThat(report.verdict()).isNotEqualTo(ScanReport.Verdict.CLEAN);
    }

    private static void assertDanger(ScanReport report, String global) {
        assertThat(report.verdict()).isEqualTo(ScanReport.Verdict.FINDINGS);
        assertThat(report.findings().get(0).severity()).isEqualTo(ScanReport.Severity.DANGER);
        assertThat(report.findings().get(0).message()).contains(global);
    }

    private static ScanReport scan(Path folder) throws IOException {
        return TorchScan.scan(
                folder.resolve(TestData.expected(folder).path("main_file").asText("model.pt")));
    }
}
