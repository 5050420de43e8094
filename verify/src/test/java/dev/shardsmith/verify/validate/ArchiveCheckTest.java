package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.Golden;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArchiveCheckTest {
    @TempDir
    Path folder;

    @Test
    void aFlippedBitInAWeightIsFoundByTheArchivesOwnChecksum() throws Exception {
        Path copy = Golden.copy(folder.resolve("copy"), "megatron-legacy", "current_plain_bf16", "tp1pp1");
        assertThat(codes(copy)).doesNotContain("file.checksum");
        ByteSource.FileRange weight = weight(copy);
        Golden.flip(weight.file(), weight.offset(), 0);
        assertThat(codes(copy)).contains("file.checksum");
    }

    @Test
    void aFileThatIsNotAsTheListOfItsFolderSaysIsNamed() throws Exception {
        Path copy = Golden.copy(folder.resolve("copy"), "megatron-torch-dist", "plain_bf16_tp2pp1");
        Path iteration = copy.resolve("iter_0000100");
        ByteSource.FileRange weight = weight(copy);
        String name = weight.file().getFileName().toString();
        String digest = HexFormat.of()
                .formatHex(MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(weight.file())));
        Path list = iteration.resolve("integrity.json");
        Files.writeString(list, "{\"algorithm\": \"sha256\", \"files\": {\"" + name + "\": \"" + digest + "\"}}");
        assertThat(codes(copy)).doesNotContain("file.checksum");

        Golden.flip(weight.file(), weight.offset(), 0);
        try (ModelView view = Golden.open(copy)) {
            assertThat(Validator.validate(view, ValidateOptions.defaults()).findings())
                    .filteredOn(finding -> finding.code().equals("file.checksum"))
                    .singleElement()
                    .satisfies(finding -> assertThat(finding.where()).endsWith(name));
        }
        Files.writeString(list, "{\"algorithm\": \"md5\", \"files\": {}}");
        assertThat(codes(copy)).contains("file.checksum");
    }

    private static List<String> codes(Path checkpoint) throws IOException {
        try (ModelView view = Golden.open(checkpoint)) {
            return Validator.validate(view, ValidateOptions.defaults()).findings().stream()
                    .map(Finding::code)
                    .toList();
        }
    }

    private static ByteSource.FileRange weight(Path checkpoint) throws IOException {
        try (ModelView view = Golden.open(checkpoint)) {
            StoredTensor data = view.tensors()
                    .get("decoder.final_norm.weight")
                    .pieces()
                    .get(0)
                    .data();
            ByteSource.FileRange range = data.source().inFile().orElseThrow();
            return new ByteSource.FileRange(range.file(), range.offset() + data.offset(), 1);
        }
    }
}
