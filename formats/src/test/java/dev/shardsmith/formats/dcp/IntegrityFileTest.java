package dev.shardsmith.formats.dcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpFinding.Code;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class IntegrityFileTest {
    private static final String ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    @TempDir
    Path folder;

    @Test
    void findsFilesThatAreMissingOrChanged() throws IOException {
        Files.writeString(folder.resolve("good"), "abc");
        Files.writeString(folder.resolve("bad"), "abd");
        List<DcpFinding> findings = verify("{\"algorithm\": \"sha256\", \"files\": {\"good\": \"" + ABC
                + "\", \"bad\": \"" + ABC + "\", \"lost\": \"" + ABC + "\"}}");
        assertThat(findings).extracting(DcpFinding::code).containsExactly(Code.DAMAGED_FILE, Code.MISSING_FILE);
        assertThat(findings).extracting(DcpFinding::subject).containsExactly("bad", "lost");
    }

    @Test
    void isOptional() throws IOException {
        try (FilePool pool = new FilePool()) {
            assertThat(IntegrityFile.read(pool, folder)).isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[]|not a JSON object",
                "{|not valid JSON",
                "{\"algorithm\":\"md5\"}|only sha256 is known",
                "{\"algorithm\":\"sha256\",\"files\":{\"../x\":\"00\"}}|no plain file name",
                "{\"algorithm\":\"sha256\",\"files\":{\"x\":1}}|no plain file name"
            })
    void refusesBrokenFile(String text, String message) {
        assertThatThrownBy(() -> verify(text))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message);
    }

    private List<DcpFinding> verify(String text) throws IOException {
        Files.writeString(folder.resolve("integrity.json"), text);
        try (FilePool pool = new FilePool()) {
            return IntegrityFile.read(pool, folder).orElseThrow().verify(pool, folder);
        }
    }
}
