package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The documents that {@code --json} prints keep the schemas in {@code docs/schema}, and pages are written beside them. */
final class JsonSchemaTest {
    private static final String TP1 = golden("current_plain_bf16", "tp1pp1");
    private static final String TP2_PP2 = golden("current_plain_bf16", "tp2pp2");
    private static final String WHOLE = golden("older_swiglu_float16module", "tp1pp1");
    private static final String WRONG_SHARDS = golden("older_swiglu_float16module", "tp2pp1");

    private static String golden(String group, String name) {
        return TestData.path("megatron-legacy", group, name).toString();
    }

    private static JsonNode valid(String schema, String... words) {
        JsonNode document = CommandRun.of(words).json();
        assertThat(JsonSchema.named(schema).problems(document)).isEmpty();
        return document;
    }

    @Test
    void inspect() {
        valid("inspect", "inspect", TP2_PP2, "--json");
        JsonNode all = valid("inspect", "inspect", TP2_PP2, "--stats", "--objects", "--json");
        assertThat(all.get("tensors").get(0).get("statistics").get("histogram")).hasSize(40);
        assertThat(all.get("disagreements")).isEmpty();
    }

    @Test
    void diff() {
        JsonNode same = valid("diff", "diff", TP1, TP2_PP2, "--json");
        assertThat(same.get("tensors").get(0).get("maxAbs").asDouble()).isZero();
        assertThat(same.get("tensors").get(0).get("worst")).isEmpty();
        JsonNode different = valid("diff", "diff", WHOLE, WRONG_SHARDS, "--json");
        assertThat(different.get("counts").get("different").asInt()).isEqualTo(1);
        valid("diff", "diff", TP1, golden("older_plain_bf16", "tp1pp1"), "--json");
    }

    @Test
    void manifest(@TempDir Path folder) throws IOException {
        Path copy = DamagedCopies.copy(Path.of(TP2_PP2), folder.resolve("c"));
        String file = folder.resolve("m").toString();
        valid("manifest", "manifest", copy.toString(), "-o", file, "--json");
        assertThat(valid("manifest-check", "manifest", "--check", file, copy.toString(), "--json")
                        .get("same")
                        .asBoolean())
                .isTrue();
        Files.write(DamagedCopies.rankFile(copy, "mp_rank_01_001"), new byte[100]);
        JsonNode findings = valid("manifest-check", "manifest", "--check", file, copy.toString(), "--json")
                .get("findings");
        assertThat(findings.findValuesAsText("code")).containsExactly("file-size", "unreadable");
    }

    @Test
    void aDocumentThatBreaksTheSchemaIsNoticed() {
        ObjectNode document =
                (ObjectNode) CommandRun.of("diff", TP1, TP2_PP2, "--json").json();
        document.put("surprise", 1);
        document.remove("same");
        document.put("bytes", "many");
        assertThat(JsonSchema.named("diff").problems(document))
                .containsExactlyInAnyOrder(
                        "$ has the unknown field surprise", "$ lacks same", "$.bytes is STRING, not \"integer\"");
    }

    @Test
    void pages(@TempDir Path folder) throws IOException {
        Path diff = folder.resolve("diff.html");
        Path inspect = folder.resolve("inspect.html");
        assertThat(CommandRun.of("diff", WHOLE, WRONG_SHARDS, "--html", diff.toString())
                        .exit())
                .isEqualTo(ExitCode.NO);
        assertThat(CommandRun.of("inspect", TP2_PP2, "--stats", "--html", inspect.toString())
                        .exit())
                .isEqualTo(ExitCode.OK);

        assertThat(Files.readString(diff)).contains("1 of 27 tensors differ").contains("\"symbol\":\"*\"");
        assertThat(Files.readString(inspect)).contains("megatron, TP 2, PP 2").contains("standard deviation");
    }
}
