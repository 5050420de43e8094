package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Cut, flipped and foreign files end in a clear error or in the right values, never in anything else. */
class DamagedFilesTest {
    static Stream<Path> intactFiles() {
        return TorchFileGoldenTest.files().filter(folder -> !folder.endsWith("trailing_garbage"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "cut_before_central_directory | TRUNCATED | central directory is missing",
                "cut_in_end_record | TRUNCATED | central directory is missing",
                "cut_in_pickle | TRUNCATED | central directory is missing",
                "cut_in_storage | TRUNCATED | central directory is missing",
                "flip_in_central_directory_name | MALFORMED | another name in its local header",
                "flip_in_central_directory_offset | MALFORMED | wrong signature",
                "flip_in_local_header | MALFORMED | wrong signature",
                "flip_in_pickle | MALFORMED | CRC-32",
                "legacy_cut_in_pickle | TRUNCATED | only 0 are left",
                "legacy_cut_in_storage | TRUNCATED | bytes long",
                "legacy_flip_magic | MALFORMED | magic number",
                "legacy_flip_size | MALFORMED | but the object expects",
            })
    void damageIsNamed(String name, CheckpointException.Kind kind, String message) throws IOException {
        byte[] bytes = Files.readAllBytes(TestData.path("pytorch-damaged", name, "model.pt"));
        assertThatThrownBy(() -> TorchFile.open(ByteSource.of("model.pt", bytes)))
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).as(e.getMessage()).isEqualTo(kind);
                    assertThat(e).hasMessageContaining(message);
                });
    }

    @Test
    void bytesAfterTheArchiveAreOnlyAWarning() throws IOException {
        byte[] bytes = Files.readAllBytes(TestData.path("pytorch-damaged", "trailing_garbage", "model.pt"));
        assertThat(TorchFile.open(ByteSource.of("model.pt", bytes)).warnings())
                .containsExactly("32 bytes follow the end of the archive");
    }

    @ParameterizedTest
    @CsvSource({
        "empty_file,model.pt,EMPTY,an empty file",
        "plain_pickle,model.pt,PICKLE,a Python pickle",
        "plain_zip,model.pt,OTHER_ZIP,a zip archive that PyTorch did not write",
        "torch_export_pt2,model.pt2,TORCH_EXPORT,a torch.export archive",
        "torchscript,model.pt,TORCHSCRIPT,a TorchScript archive"
    })
    void otherFilesAreNamed(String name, String file, FileKind kind, String message) throws IOException {
        ByteSource source = ByteSource.of(file, Files.readAllBytes(TestData.path("pytorch-reject", name, file)));
        assertThat(FileKind.detect(source)).isEqualTo(kind);
        assertThatThrownBy(() -> TorchFile.open(source))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("try: ");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "GIT_LFS_POINTER | version https://git-lfs.github.com/spec/v1",
                "HTML | <!DOCTYPE html><html><body>404</body></html>",
                "HTML | <html><head><title>Sign in</title></head></html>",
                "TEXT | not found",
                "TORCH_PREVIEW | PYTORCH1xxxxxxxx",
            })
    void textsAreTold(FileKind kind, String text) throws IOException {
        assertThat(FileKind.detect(ByteSource.of("x.bin", text.getBytes(StandardCharsets.UTF_8))))
                .isEqualTo(kind);
    }

    @Test
    void binaryFormatsAreToldByTheirFirstBytes() throws IOException {
        assertThat(kind("1f8b0800")).isEqualTo(FileKind.GZIP);
        assertThat(kind("934e554d5059010076007b")).isEqualTo(FileKind.NUMPY_ARRAY);
        assertThat(kind("04000000000000007b7d2020")).isEqualTo(FileKind.SAFETENSORS);
        assertThat(kind("8002880a")).isEqualTo(FileKind.PICKLE);
        assertThat(kind("80048a0a6cfc9c46f9206aa850192e")).isEqualTo(FileKind.TORCH_LEGACY);
        byte[] tar = new byte[1024];
        System.arraycopy("ustar".getBytes(StandardCharsets.US_ASCII), 0, tar, 257, 5);
        assertThat(FileKind.detect(ByteSource.of("old.tar", tar))).isEqualTo(FileKind.TORCH_TAR);
    }

    @Test
    void safetensorsAreToldWhateverTheirHeaderClaims() throws IOException {
        // 2^62, and -1: no header is so long.
        assertThat(kind("00000000000000407b22")).isEqualTo(FileKind.SAFETENSORS);
        assertThat(kind("ffffffffffffffff7b22")).isEqualTo(FileKind.SAFETENSORS);
        assertThat(FileKind.detect(ByteSource.of("settings.pt", "settings{\"a\": 1}".getBytes(StandardCharsets.UTF_8))))
                .isEqualTo(FileKind.TEXT);
    }

    @Test
    void picklesThatAnnounceNoProtocolAreTold() throws IOException {
        assertThat(text("(dp0\nVa\np1\nI1\ns.")).isEqualTo(FileKind.PICKLE);
        assertThat(text("}q\u0000U\u0001aq\u0001K\u0001s.")).isEqualTo(FileKind.PICKLE);
        assertThat(text("(see the other file).")).isEqualTo(FileKind.TEXT);
        assertThat(text("(dp0\nVa\np1\nI1\ns. And so on.")).isEqualTo(FileKind.TEXT);
    }

    private static FileKind text(String content) throws IOException {
        return FileKind.detect(ByteSource.of("x.pkl", content.getBytes(StandardCharsets.ISO_8859_1)));
    }

    @Test
    void textInPlaceOfReferencesToStoragesIsCalledWhatItIs() throws IOException {
        String id = "P('storage', <class 'torch.FloatStorage'>, '0', 'cpu', 4)\n";
        byte[] pickle = ("(dVw\nctorch._utils\n_rebuild_tensor_v2\n(" + id + "I0\n(I4\nt(I1\ntI00\n(dtRs.")
                .getBytes(StandardCharsets.US_ASCII);
        byte[] archive = TestZip.torch(pickle, TestZip.Entry.of("m/data/0", new byte[16]))
                .bytes();
        assertThatThrownBy(() -> TorchFile.open(ByteSource.of("old.pt", archive)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("pickle protocol 0");
        String head = "L119547037146038801333356L\n.I1001\n.(d.";
        byte[] stream = (head + new String(pickle, StandardCharsets.US_ASCII) + "(lV0\na." + "\u0004\0\0\0\0\0\0\0"
                        + "\0".repeat(16))
                .getBytes(StandardCharsets.US_ASCII);
        assertThatThrownBy(() -> TorchFile.open(ByteSource.of("old.bin", stream)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("pickle protocol 0");
    }

    @ParameterizedTest
    @MethodSource("intactFiles")
    void fileCutAnywhereIsRefused(Path folder) throws IOException {
        byte[] bytes = read(folder);
        for (int i = 0; i < 64; i++) {
            byte[] cut = Arrays.copyOf(bytes, (int) ((long) bytes.length * i / 64));
            assertThatThrownBy(() -> TorchFile.open(ByteSource.of("cut.pt", cut)))
                    .as("cut to %d of %d bytes", cut.length, bytes.length)
                    .isInstanceOf(CheckpointException.class);
            assertThat(TorchScan.scan(ByteSource.of("cut.pt", cut)).verdict()).isNotEqualTo(ScanReport.Verdict.CLEAN);
        }
    }

    @Test
    void flippedBitsGiveAnErrorOrAFile() {
        List<Path> folders = intactFiles().toList();
        Cases.forAll(3000, random -> {
            byte[] bytes = read(folders.get(random.nextInt(folders.size())));
            for (int flips = 1 + random.nextInt(3); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] ^= (byte) (1 << random.nextInt(8));
            }
            open(bytes).ifPresent(file -> assertThat(file.tensors()).isNotNull());
        });
    }

    @Test
    void flippedBitOfAnArchiveIsFoundByOpeningOrByItsCrcs() {
        Path folder = TestData.path("pytorch-zip", "module_state_dict");
        Cases.forAll(300, random -> {
            byte[] bytes = read(folder);
            byte[] damaged = bytes.clone();
            ZipArchive zip = ZipArchive.open(ByteSource.of("intact", bytes), TorchLimits.defaults());
            ZipRecord record = zip.records().get(random.nextInt(zip.records().size()));
            damaged[(int) (record.dataOffset() + random.nextLong(record.size()))] ^= (byte) (1 << random.nextInt(8));
            assertThatThrownBy(() -> {
                        TorchFile file = TorchFile.open(ByteSource.of("damaged", damaged));
                        file.verifyCrc();
                    })
                    .isInstanceOf(CheckpointException.class);
        });
    }

    /** Opens a file and reads all elements of it; empty if it is refused. */
    private static Optional<TorchFile> open(byte[] bytes) throws IOException {
        try {
            TorchFile file = TorchFile.open(ByteSource.of("flipped.pt", bytes));
            for (NamedTensor named : file.tensors()) {
                // A stride of 0 may stand for more elements than there is time to read.
                if (named.tensor().data().isPresent() && named.tensor().shape().elements() < 1_000_000) {
                    ElementReader.forEachBlock(named.tensor().data().get(), block -> {});
                }
            }
            return Optional.of(file);
        } catch (CheckpointException e) {
            return Optional.empty();
        }
    }

    private static FileKind kind(String hex) throws IOException {
        return FileKind.detect(ByteSource.of("x", HexFormat.of().parseHex(hex)));
    }

    private static byte[] read(Path folder) throws IOException {
        return Files.readAllBytes(
                folder.resolve(TestData.expected(folder).path("main_file").asText("model.pt")));
    }
}
