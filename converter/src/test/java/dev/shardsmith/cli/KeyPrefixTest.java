package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Distributed checkpoints whose names begin with what wrappers and outer dicts put before them. */
class KeyPrefixTest {
    private static final String PLAIN =
            TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1").toString();

    @TempDir
    Path folder;

    private String distributed(String prefix) throws IOException {
        Path flat = folder.resolve("flat.safetensors");
        assertThat(CommandRun.of("convert", PLAIN, flat.toString(), "--to", "safetensors")
                        .exit())
                .isEqualTo(ExitCode.OK);
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(flat)).order(ByteOrder.LITTLE_ENDIAN);
        byte[] text = new byte[Math.toIntExact(file.getLong())];
        file.get(text);
        ObjectMapper json = new ObjectMapper();
        ObjectNode renamed = json.createObjectNode();
        for (Map.Entry<String, JsonNode> entry : json.readTree(text).properties()) {
            boolean tensor = !entry.getKey().equals("__metadata__");
            renamed.set(tensor ? prefix + entry.getKey() : entry.getKey(), entry.getValue());
        }
        byte[] header = renamed.toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer out =
                ByteBuffer.allocate(8 + header.length + file.remaining()).order(ByteOrder.LITTLE_ENDIAN);
        Files.write(flat, out.putLong(header.length).put(header).put(file).array());
        Path target = folder.resolve("dist");
        CommandRun run = CommandRun.of("convert", flat.toString(), target.toString(), "--to", "torch_dist");
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        return target.toString();
    }

    private static Map<String, String> digests(String checkpoint) {
        CommandRun run = CommandRun.of("manifest", checkpoint, "-o", "/dev/null", "--json");
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        Map<String, String> digests = new TreeMap<>();
        for (JsonNode tensor : run.json().path("tensors")) {
            // Chunked keys of either spelling of conv1d are the same; only a single file keeps its own.
            String name = tensor.path("name").asText().replace("conv1d_", "conv1d.");
            digests.put(name, tensor.path("sha256").asText());
        }
        return digests;
    }

    @ParameterizedTest
    @ValueSource(strings = {"model.", "module.", "model.model.", "model.module.module.", "module.model."})
    void theModelIsFoundUnderAnyPrefixAndThePrefixIsNamed(String prefix) throws IOException {
        String source = distributed(prefix);

        assertThat(digests(source)).isEqualTo(digests(PLAIN));
        CommandRun converted =
                CommandRun.of("convert", source, folder.resolve("out.pt").toString(), "--to", "pt");
        assertThat(converted.exit()).isEqualTo(ExitCode.OK);
        assertThat(converted.err()).contains("names begin with '" + prefix + "'");
        assertThat(digests(folder.resolve("out.pt").toString())).isEqualTo(digests(PLAIN));
    }

    @Test
    void namesWithoutAPrefixAreNotSpokenOf() throws IOException {
        CommandRun run = CommandRun.of("inspect", distributed(""));

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).doesNotContain("begin with");
    }
}
