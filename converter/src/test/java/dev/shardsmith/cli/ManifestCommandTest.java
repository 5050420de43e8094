package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ManifestCommandTest {
    private static final Path PLAIN = TestData.path("megatron-legacy/current_plain_bf16");

    @TempDir
    Path folder;

    @Test
    void digestsAreThoseThatPythonComputed() throws IOException {
        JsonNode json = CommandRun.of("manifest", PLAIN.resolve("tp2pp2").toString(), "--json")
                .json();

        JsonNode expected = TestData.expected(PLAIN)
                .get("checkpoints")
                .get("tp1pp1/iter_0000100/mp_rank_00/model_optim_rng.pt")
                .get("model");
        assertThat(json.get("tensors")).hasSize(27);
        for (JsonNode tensor : json.get("tensors")) {
            assertThat(tensor.get("sha256").asText())
                    .isEqualTo(expected.get(tensor.get("name").asText())
                            .get("sha256")
                            .asText());
        }
    }

    @Test
    void oneManifestServesEveryLayoutOfTheModel() {
        String manifest = folder.resolve("m").toString();
        assertThat(CommandRun.of("manifest", PLAIN.resolve("tp2pp2").toString(), "-o", manifest)
                        .exit())
                .isEqualTo(ExitCode.OK);

        for (String layout : new String[] {"tp1pp1", "tp2pp1", "tp2pp2"}) {
            CommandRun run = CommandRun.of(
                    "manifest", "--check", manifest, PLAIN.resolve(layout).toString());
            assertThat(run.lines()).containsExactly("same: 27 tensors as in the manifest");
            assertThat(run.exit()).isEqualTo(ExitCode.OK);
        }
    }

    @Test
    void oneFlippedBitIsFoundInTensorFileAndBlock() throws IOException {
        Path copy = DamagedCopies.copy(PLAIN.resolve("tp2pp2"), folder.resolve("copy"));
        String manifest = folder.resolve("m").toString();
        CommandRun.of("manifest", copy.toString(), "-o", manifest);
        Path file = DamagedCopies.rankFile(copy, "mp_rank_01_000");
        long offset = DamagedCopies.dataOffset(file, 4096);
        DamagedCopies.flipBit(file, offset);

        CommandRun run = CommandRun.of("manifest", "--check", manifest, copy.toString(), "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.NO);
        JsonNode findings = run.json().get("findings");
        assertThat(findings.findValuesAsText("code")).containsExactly("file-block", "tensor-digest");
        for (JsonNode finding : findings) {
            assertThat(finding.get("file").asText()).contains("mp_rank_01_000");
            long first = finding.get("offset").asLong();
            assertThat(offset).isBetween(first, first + finding.get("length").asLong() - 1);
        }
        assertThat(findings.get(1).get("tensor").asText()).isNotEmpty();
    }

    @Test
    void aManifestNeedsSomewhereToGo() {
        String checkpoint = PLAIN.resolve("tp1pp1").toString();

        assertThat(CommandRun.of("manifest", checkpoint).exit()).isEqualTo(ExitCode.USAGE);
        assertThat(CommandRun.of("manifest", checkpoint, "-o", "a", "--check", "b")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
        assertThat(CommandRun.of(
                                "manifest",
                                checkpoint,
                                "--check",
                                folder.resolve("none").toString())
                        .exit())
                .isEqualTo(ExitCode.INPUT);
    }
}
