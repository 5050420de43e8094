package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What safetensors files of unusual content become in every command: scalars, no elements, bytes too many, rare types. */
class SafetensorsOnTheCommandLineTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder;

    private final ObjectNode header = JSON.createObjectNode();
    private final ByteArrayOutputStream data = new ByteArrayOutputStream();

    private void add(String name, String type, byte[] bytes, int... shape) {
        ObjectNode tensor = header.putObject(name).put("dtype", type);
        for (int size : shape) {
            tensor.withArray("shape").add(size);
        }
        tensor.withArray("shape");
        tensor.putArray("data_offsets").add(data.size()).add(data.size() + bytes.length);
        data.writeBytes(bytes);
    }

    private String write(int trailing) throws IOException {
        byte[] text = header.toString().getBytes(StandardCharsets.UTF_8);
        ByteBuffer file = ByteBuffer.allocate(8 + text.length + data.size() + trailing)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(text.length)
                .put(text)
                .put(data.toByteArray());
        return Files.write(folder.resolve("in.safetensors"), file.array()).toString();
    }

    private static byte[] allCodes() {
        byte[] codes = new byte[256];
        for (int i = 0; i < codes.length; i++) {
            codes[i] = (byte) i;
        }
        return codes;
    }

    private String converted(String source, String layout, String... more) {
        String target = folder.resolve("out-" + layout + (layout.equals("torch_dist") ? "" : "." + layout))
                .toString();
        List<String> words = new ArrayList<>(List.of("convert", source, target, "--to", layout));
        words.addAll(List.of(more));
        CommandRun run = CommandRun.of(words.toArray(new String[0]));
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        return target;
    }

    /** A zero would say that they were compared. */
    @Test
    void figuresOfWhatCannotBeComparedByValueAreNull() throws IOException {
        add("both", "F32", new byte[] {0, 0, 32, 64}, 1);
        add("turned", "F32", new byte[8], 2, 1);
        add("gone", "F32", new byte[12], 3);
        String left = write(0);
        Path before = Files.move(Path.of(left), folder.resolve("before.safetensors"));
        header.removeAll();
        data.reset();
        add("both", "F32", new byte[] {0, 0, 32, 64}, 1);
        add("turned", "F32", new byte[8], 1, 2);
        add("come", "F32", new byte[20], 5);

        JsonNode document =
                CommandRun.of("diff", before.toString(), write(0), "--json").json();

        assertThat(JsonSchema.named("diff").problems(document)).isEmpty();
        for (JsonNode tensor : document.get("tensors")) {
            boolean compared = tensor.get("name").asText().equals("both");
            for (String figure : List.of("values", "different", "maxAbs", "maxRel", "maxUlp", "rms", "cosine")) {
                assertThat(tensor.get(figure).isNull())
                        .as("%s of %s", figure, tensor)
                        .isEqualTo(!compared);
            }
            assertThat(tensor.get("worst")).isEmpty();
        }
        assertThat(document.get("counts").get("same").asInt()).isEqualTo(1);
    }

    @ParameterizedTest
    @ValueSource(strings = {"safetensors", "pt", "torch_dist"})
    void scalarsAndTensorsWithoutElementsGoEverywhere(String layout) throws IOException {
        add("scalar", "F32", new byte[] {0, 0, 32, 64}); // 2.5
        add("none", "F32", new byte[0], 0);
        add("rows", "BF16", new byte[0], 2, 0);
        add("some", "F32", new byte[] {1, 2, 3, 4, 5, 6, 7, 8}, 2);
        String source = write(0);

        String target = converted(source, layout);

        CommandRun diff = CommandRun.of("diff", source, target, "--json");
        assertThat(diff.exit()).isEqualTo(ExitCode.OK);
        JsonNode tensors =
                CommandRun.of("inspect", target, "--json", "--stats").json().path("tensors");
        assertThat(tensors).hasSize(4);
        for (JsonNode tensor : tensors) {
            switch (tensor.path("name").asText()) {
                case "scalar" -> {
                    assertThat(tensor.path("shape")).isEmpty();
                    assertThat(tensor.path("statistics").path("mean").asDouble())
                            .isEqualTo(2.5);
                }
                case "none" -> assertThat(tensor.path("shape").toString()).isEqualTo("[0]");
                case "rows" -> assertThat(tensor.path("shape").toString()).isEqualTo("[2,0]");
                default -> assertThat(tensor.path("name").asText()).isEqualTo("some");
            }
        }
        assertThat(CommandRun.of("validate", target).exit()).isEqualTo(ExitCode.OK);
    }

    @ParameterizedTest
    @ValueSource(strings = {"safetensors", "pt", "torch_dist"})
    void aFileWithoutTensorsIsNoError(String layout) throws IOException {
        header.putObject("__metadata__").put("format", "pt");
        String source = write(0);

        assertThat(CommandRun.of("diff", source, converted(source, layout)).exit())
                .isEqualTo(ExitCode.OK);
    }

    @ParameterizedTest
    @ValueSource(strings = {"safetensors", "pt", "torch_dist"})
    void everyCodeOfEightBitFloatsPassesUntouched(String layout) throws IOException {
        add("e4m3", "F8_E4M3", allCodes(), 256);
        add("e5m2", "F8_E5M2", allCodes(), 16, 16);
        String source = write(0);

        String back = folder.resolve("back.safetensors").toString();
        CommandRun.of("convert", converted(source, layout), back, "--to", "safetensors");

        byte[] written = Files.readAllBytes(Path.of(back));
        assertThat(ByteBuffer.wrap(written, written.length - 512, 256)).isEqualTo(ByteBuffer.wrap(allCodes()));
        assertThat(ByteBuffer.wrap(written, written.length - 256, 256)).isEqualTo(ByteBuffer.wrap(allCodes()));
    }

    @Test
    void aTensorOfAnUnknownTypeIsLeftOutOnlyByName() throws IOException {
        add("known", "F32", new byte[4], 1);
        add("strange", "F9_E1M7", new byte[3], 3);
        String source = write(0);
        String target = folder.resolve("out.pt").toString();

        CommandRun inspected = CommandRun.of("inspect", source);
        CommandRun refused = CommandRun.of("convert", source, target, "--to", "pt");

        assertThat(inspected.exit()).isEqualTo(ExitCode.OK);
        assertThat(inspected.err()).contains("strange is not shown: its element type F9_E1M7 is not known");
        assertThat(refused.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(refused.err()).contains("strange (its element type F9_E1M7 is not known)", "--allow-missing");
        assertThat(Path.of(target)).doesNotExist();
        CommandRun accepted = CommandRun.of("convert", source, target, "--to", "pt", "--allow-missing", "strange");
        assertThat(accepted.exit()).isEqualTo(ExitCode.OK);
        assertThat(accepted.out()).contains("missing in the source, as accepted: strange");
    }

    @Test
    void bytesAfterTheLastTensorAreAnErrorUnlessTolerated() throws IOException {
        add("w", "F32", new byte[] {1, 2, 3, 4}, 1);
        String source = write(3);

        CommandRun refused = CommandRun.of("inspect", source);
        CommandRun tolerated = CommandRun.of("inspect", source, "--tolerate-trailing");

        assertThat(refused.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(refused.err()).contains("3 bytes follow the last tensor", "--tolerate-trailing");
        assertThat(tolerated.exit()).isEqualTo(ExitCode.OK);
        assertThat(tolerated.err()).contains("in.safetensors: 3 bytes after the last tensor are left out of account");
        assertThat(tolerated.out()).doesNotContain("waste");
        String target = converted(source, "pt", "--tolerate-trailing");
        assertThat(CommandRun.of("diff", source, target, "--tolerate-trailing").exit())
                .isEqualTo(ExitCode.OK);
    }
}
