package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Hugging Face folders from which something got lost, and what leave to go on without it does. */
class IncompleteFolderTest {
    private static final String INDEX = "model.safetensors.index.json";
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    Path folder;

    @Test
    void aLostFileIsAnErrorThatNamesItsTensorsAndInspectStillWorks() throws IOException {
        Path source = copy("nemotron_h");
        Files.delete(source.resolve("model-00002-of-00009.safetensors"));

        CommandRun inspected = CommandRun.of("inspect", source.toString());
        CommandRun converted = convert(source, "megatron");

        assertThat(inspected.exit()).isEqualTo(ExitCode.OK);
        assertThat(inspected.err()).contains("names the file model-00002-of-00009.safetensors, which is missing");
        assertThat(converted.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(converted.err())
                .contains(
                        "tensors are missing: ",
                        "(the index has it in model-00002-of-00009.safetensors)",
                        "--allow-missing GLOB");
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @Test
    void whatIsAcceptedByNameStaysAwayAndIsListed() throws IOException {
        Path source = copy("bamba");
        List<String> lost = drop(source, "model-00006-of-00006.safetensors");

        CommandRun refused = convert(source, "safetensors", "--allow-missing", "lm_head.*");
        CommandRun converted = convert(source, "safetensors", "--allow-missing", "*");

        assertThat(lost).hasSizeGreaterThan(1).contains("lm_head.weight");
        assertThat(refused.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(refused.err()).doesNotContain("lm_head").contains(lost.get(1));
        assertThat(converted.exit()).as(converted.err()).isEqualTo(ExitCode.OK);
        assertThat(converted.out()).contains("missing in the source, as accepted: " + String.join(", ", lost));
    }

    @Test
    void anIndexThatWasWrittenAfterALossAgreesWithItselfButNotWithTheModel() throws IOException {
        Path source = copy("nemotron_h");
        drop(source, "model-00001-of-00009.safetensors");
        drop(source, "model-00002-of-00009.safetensors");
        ObjectNode index = (ObjectNode) JSON.readTree(source.resolve(INDEX).toFile());
        ObjectNode map = (ObjectNode) index.get("weight_map");
        map.retain(Stream.of(names(map))
                .filter(name -> map.get(name).asText().compareTo("model-00003") > 0)
                .toList());
        JSON.writeValue(source.resolve(INDEX).toFile(), index);

        CommandRun converted = convert(source, "megatron");

        assertThat(converted.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(converted.err()).contains("*embed* (no tensor is an embedding)");
    }

    @Test
    void aTensorThatOnlyTheIndexKnowsIsMissed() throws IOException {
        Path source = copy("mamba2");
        ObjectNode index = (ObjectNode) JSON.readTree(source.resolve(INDEX).toFile());
        ObjectNode map = (ObjectNode) index.get("weight_map");
        map.put("ghost", map.get("backbone.norm_f.weight").asText());
        JSON.writeValue(source.resolve(INDEX).toFile(), index);

        CommandRun converted = convert(source, "safetensors");

        assertThat(converted.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(converted.err()).contains("ghost (the index lists it)");
    }

    @Test
    void aWrongTotalSizeIsAWarningOnly() throws IOException {
        Path source = copy("jamba");
        ObjectNode index = (ObjectNode) JSON.readTree(source.resolve(INDEX).toFile());
        ((ObjectNode) index.get("metadata")).put("total_size", 1);
        JSON.writeValue(source.resolve(INDEX).toFile(), index);

        CommandRun converted = convert(source, "huggingface");

        assertThat(converted.exit()).as(converted.err()).isEqualTo(ExitCode.OK);
        assertThat(converted.err()).contains("total_size is 1, but the tensors have");
    }

    @Test
    void wholeFoldersMissNothing() throws IOException {
        for (Path family : TestData.cases("hf")) {
            for (String form : List.of("safetensors", "safetensors_single", "bin")) {
                if (Files.isDirectory(family.resolve(form))) {
                    CommandRun run =
                            CommandRun.of("inspect", family.resolve(form).toString());

                    assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
                    assertThat(run.err()).as(family + " " + form).doesNotContain("missing");
                }
            }
        }
    }

    private CommandRun convert(Path source, String layout, String... more) {
        String target = folder.resolve(layout.equals("safetensors") ? "out.safetensors" : "out")
                .toString();
        return CommandRun.of(
                Stream.concat(Stream.of("convert", source.toString(), target, "--to", layout), Stream.of(more))
                        .toArray(String[]::new));
    }

    private List<String> drop(Path source, String file) throws IOException {
        ObjectNode map =
                (ObjectNode) JSON.readTree(source.resolve(INDEX).toFile()).get("weight_map");
        Files.delete(source.resolve(file));
        return Stream.of(names(map))
                .filter(name -> map.get(name).asText().equals(file))
                .toList();
    }

    private static String[] names(ObjectNode map) {
        return map.properties().stream().map(entry -> entry.getKey()).toArray(String[]::new);
    }

    private Path copy(String family) throws IOException {
        Path from = TestData.path("hf", family, "safetensors");
        Path to = Files.createDirectory(folder.resolve(family));
        try (Stream<Path> files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
        return to;
    }
}
