package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.pickle.GraphText;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Files laid out by us are those that PyTorch writes. */
class TorchImageTest {
    static Stream<Path> files() {
        return TorchFileGoldenTest.files();
    }

    static Stream<Path> archivesOfProtocol2() {
        return TestData.cases("pytorch-zip").stream()
                .filter(folder ->
                        TestData.expected(folder).at("/zip/pickle/protocol").asInt() == 2)
                .filter(folder -> !folder.endsWith("crc32_off"));
    }

    @ParameterizedTest
    @MethodSource("archivesOfProtocol2")
    void archiveIsRebuiltByteForByte(Path folder) throws IOException {
        String name = TestData.expected(folder).path("main_file").asText("model.pt");
        byte[] original = Files.readAllBytes(folder.resolve(name));
        ByteSource source = ByteSource.of("model.pt", original);
        TorchFile file = TorchFile.open(source);
        ZipArchive zip = ZipArchive.open(source, TorchLimits.defaults());
        ZipRecord id = zip.find(file.folder() + "/.data/serialization_id").orElseThrow();
        ZipRecord alignment = zip.find(file.folder() + "/.storage_alignment").orElseThrow();

        FileImage image = TorchImage.of(file.root())
                .inFolder(file.folder())
                .alignedTo(Integer.parseInt(text(zip.data(alignment))))
                .withRecord(".data/serialization_id", bytes(zip.data(id)))
                .build("model.pt");

        assertThat(ImageBytes.of(image, key -> ImageBytes.storage(file, key))).isEqualTo(original);
    }

    @ParameterizedTest
    @MethodSource("files")
    void readingWritingAndReadingGivesTheSameGraphAndTensors(Path folder) throws IOException {
        JsonNode expected = TestData.expected(folder);
        Path path = folder.resolve(expected.path("main_file").asText("model.pt"));
        TorchFile first = TorchFile.open(ByteSource.of("first", Files.readAllBytes(path)));

        TorchFile second = TorchFile.open(ByteSource.of("second", ImageBytes.rewritten(first)));

        assertThat(second.verifyCrc()).isEmpty();
        assertThat(summary(second)).isEqualTo(summary(first));
        if (first.protocol() == 2 && first.container() == TorchFile.Container.ZIP) {
            assertThat(GraphText.of(second.root())).isEqualTo(GraphText.of(first.root()));
        }
    }

    private static List<String> summary(TorchFile file) throws IOException {
        return file.tensors().stream()
                .map(named -> named.name() + " " + named.tensor().kind() + " "
                        + named.tensor().dtype() + " "
                        + named.tensor().shape() + " "
                        + Arrays.toString(named.tensor().strides()) + " "
                        + named.tensor().data().map(data -> {
                            try {
                                return ElementReader.sha256(data);
                            } catch (IOException e) {
                                throw new AssertionError(e);
                            }
                        }))
                .toList();
    }

    private static String text(ByteSource source) throws IOException {
        return new String(bytes(source), StandardCharsets.US_ASCII);
    }

    private static byte[] bytes(ByteSource source) throws IOException {
        return source.readBytes(0, (int) source.size());
    }
}
