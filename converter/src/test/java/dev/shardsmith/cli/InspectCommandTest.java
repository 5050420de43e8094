package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class InspectCommandTest {
    private static final Path PLAIN = TestData.path("megatron-legacy/current_plain_bf16");

    @Test
    void theSummaryNamesLayoutSizesAndPattern() {
        CommandRun run = CommandRun.of("inspect", PLAIN.resolve("tp2pp2").toString());

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.lines())
                .contains("family     megatron", "parallel   TP 2, PP 2", "pattern    M-*M")
                .anyMatch(line -> line.startsWith("tensors    27, 9,600 elements, "));
    }

    @Test
    void jsonListsTheLogicalTensorsOfTheUndividedModelWhateverTheParallelSizes() throws IOException {
        JsonNode one = CommandRun.of("inspect", PLAIN.resolve("tp1pp1").toString(), "--json")
                .json();
        JsonNode four = CommandRun.of("inspect", PLAIN.resolve("tp2pp2").toString(), "--json")
                .json();

        assertThat(four.get("layout").asText()).isEqualTo("megatron");
        assertThat(four.get("parallel").toString()).isEqualTo("{\"tp\":2,\"pp\":2,\"vpp\":1,\"ep\":1,\"etp\":2}");
        assertThat(four.get("pattern").asText()).isEqualTo("M-*M");
        assertThat(namesAndShapes(four)).isEqualTo(namesAndShapes(one));
        assertThat(namesAndShapes(one)).isEqualTo(expectedTensors());
        assertThat(four.get("totals").get("tensors").asInt()).isEqualTo(27);
        assertThat(four.get("totals").get("elements").asLong()).isEqualTo(9600);
    }

    @Test
    void namesOfNormsTellWhichImplementationARunNeeds(@TempDir Path folder) {
        String separate = folder.resolve("separate").toString();
        String fused = folder.resolve("fused").toString();
        CommandRun.of("sample", separate, "--pattern", "M*-", "--hidden", "64", "--heads", "2", "--local-names");
        CommandRun.of("convert", separate, fused, "--norm-naming", "fused", "--to", "torch_dist");

        assertThat(CommandRun.of("inspect", separate).out())
                .contains("norms      modules of their own, as without Transformer Engine");
        assertThat(CommandRun.of("inspect", fused).out())
                .contains("norms      parts of the linear layers that follow, as Transformer Engine has them");
    }

    @Test
    void tensorsAreSelectedByName() {
        JsonNode json = CommandRun.of(
                        "inspect", PLAIN.resolve("tp1pp1").toString(), "--tensors", "*.0.mixer.A_log", "--json")
                .json();

        assertThat(json.get("tensors")).hasSize(1);
        assertThat(json.get("tensors").get(0).get("dtype").asText()).isEqualTo("F32");
        assertThat(json.get("tensors").get(0).get("shape").toString()).isEqualTo("[8]");
        assertThat(json.get("tensors").get(0).get("bytes").asInt()).isEqualTo(32);
    }

    @Test
    void veryManyTensorsThatAreNotFiniteAreCountedAndNotAllWarnedOf(@TempDir Path folder) throws IOException {
        Map<String, Object> header = new LinkedHashMap<>();
        for (int i = 0; i < 25; i++) {
            header.put("t" + i, Map.of("dtype", "F32", "shape", List.of(1), "data_offsets", List.of(4 * i, 4 * i + 4)));
        }
        byte[] json = new ObjectMapper().writeValueAsBytes(header);
        ByteBuffer file = ByteBuffer.allocate(8 + json.length + 100).order(ByteOrder.LITTLE_ENDIAN);
        file.putLong(json.length).put(json);
        for (int i = 0; i < 25; i++) {
            file.putFloat(Float.NaN);
        }
        Path path = Files.write(folder.resolve("nan.safetensors"), file.array());

        JsonNode report =
                CommandRun.of("inspect", path.toString(), "--stats", "--json").json();

        assertThat(report.get("warnings")).hasSize(21);
        assertThat(report.get("warnings").get(19).asText()).isEqualTo("t19 has 1 NaN and 0 infinite values");
        assertThat(report.get("warnings").get(20).asText()).isEqualTo("5 more tensors have NaN or infinite values");
        assertThat(report.get("tensors").get(24).get("statistics").get("nans").asInt())
                .isEqualTo(1);
    }

    @Test
    void objectsBesideTheTensorsOfNoKnownModelAreShownToo() {
        String plain = TestData.path("dcp/ws1_plain/ckpt").toString();

        assertThat(CommandRun.of("inspect", plain, "--objects").lines())
                .contains("step = 17", "name = 'run \u00e9'", "args.layers = 2", "tuple[1] = 'a'", "od.k = 1")
                .anyMatch(line -> line.startsWith("io.@state[0] = 19 bytes, CRC-32C "));
        assertThat(CommandRun.of("inspect", plain, "--objects", "args").lines())
                .contains("args.lr = 0.1")
                .doesNotContain("step = 17");
        JsonNode json =
                CommandRun.of("inspect", plain, "--objects", "step", "--json").json();
        assertThat(json.get("objects").get(0).get("value").asText()).isEqualTo("17");
        CommandRun none = CommandRun.of("inspect", plain, "--objects", "steps");
        assertThat(none.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(none.err()).contains("nothing is saved at 'steps'").contains("step, lr");
    }

    @Test
    void valuesBesideTheTensorsOfAFileAreShownToo() {
        String file = TestData.path("dcp/ws1_from_and_to_torch_save/source.pt").toString();

        assertThat(CommandRun.of("inspect", file, "--objects").lines())
                .contains("opt.groups[0].lr = 0.1", "n = 4")
                .noneMatch(line -> line.startsWith("model"));
    }

    @Test
    void oneStateDictIsTheSameBesideItsTensorsAsAFileAndAsADistributedCheckpoint() {
        Path both = TestData.path("dcp/ws1_from_and_to_torch_save");
        JsonNode diff = CommandRun.of(
                        "diff",
                        both.resolve("source.pt").toString(),
                        both.resolve("ckpt").toString(),
                        "--json")
                .json();

        assertThat(diff.get("same").asBoolean()).isTrue();
        assertThat(diff.get("state")).isEmpty();
    }

    @Test
    void histogramsCountEveryFiniteValueInItsStep() throws IOException {
        JsonNode report = CommandRun.of("inspect", PLAIN.resolve("tp2pp2").toString(), "--stats", "--json")
                .json();

        for (JsonNode tensor : report.get("tensors")) {
            JsonNode statistics = tensor.get("statistics");
            long counted = 0;
            for (JsonNode count : statistics.get("histogram")) {
                counted += count.asLong();
            }
            assertThat(counted)
                    .as(tensor.get("name").asText())
                    .isEqualTo(statistics.get("values").asLong()
                            - statistics.get("nans").asLong()
                            - statistics.get("infinities").asLong());
        }
    }

    @Test
    void aCheckpointBehindAnOptionWithoutItsValueIsTheCheckpoint() {
        String path = PLAIN.resolve("tp1pp1").toString();

        assertThat(CommandRun.of("inspect", "--tensors", path).out())
                .isEqualTo(CommandRun.of("inspect", path, "--tensors").out());
        assertThat(CommandRun.of("inspect", "--json", "--objects", path).out())
                .isEqualTo(CommandRun.of("inspect", path, "--objects", "--json").out());
        CommandRun none = CommandRun.of("inspect", "--tensors", "no such thing");
        assertThat(none.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(none.err()).contains("CKPT is missing");
    }

    @Test
    void statisticsHaveBarsWhereThereIsRoomAndALineForEachLayer() {
        String path = PLAIN.resolve("tp2pp2").toString();
        List<String> wide = CommandRun.of("inspect", path, "--stats").lines();
        List<String> narrow = CommandRun.with(Map.of("COLUMNS", "80"), "inspect", path, "--stats")
                .lines();

        assertThat(wide)
                .anyMatch(line -> line.startsWith("decoder.layers.0.mixer.in_proj.weight ") && line.contains("█"));
        assertThat(narrow).noneMatch(line -> line.contains("█"));
        assertThat(narrow.subList(narrow.size() - 4, narrow.size()))
                .extracting(line -> line.replaceFirst("^ *(\\d+) +(\\w+) .*", "$1 $2"))
                .containsExactly("0 Mamba", "1 MLP", "2 attention", "3 Mamba");
    }

    @Test
    void whatAFileHoldsBesidesTensorsIsNamed() {
        String file = TestData.path("pytorch-zip", "protocol4", "model.pt").toString();
        assertThat(CommandRun.of("inspect", file).lines())
                .contains("other      o, py, s, b, np, custom, which are no plain tensors");
        JsonNode json = CommandRun.of("inspect", file, "--json").json();
        assertThat(json.get("items")).map(JsonNode::asText).containsExactly("o", "py", "s", "b", "np", "custom");
        assertThat(CommandRun.of("inspect", PLAIN.resolve("tp1pp1").toString()).lines())
                .noneMatch(line -> line.startsWith("other"));
    }

    @Test
    void tensorsWithoutDataAreNamedAsLeftOut() {
        CommandRun run = CommandRun.of(
                "inspect", TestData.path("pytorch-zip", "meta", "model.pt").toString());

        assertThat(run.err().lines())
                .contains("warning: m is left out: a meta tensor, BF16 [3, 4], without elements that can be read one "
                        + "by one");
    }

    @Test
    void statisticsAreOfTheWholeTensorWhateverTheParallelSizes() {
        JsonNode one = CommandRun.of("inspect", PLAIN.resolve("tp1pp1").toString(), "--stats", "--json")
                .json();
        JsonNode four = CommandRun.of("inspect", PLAIN.resolve("tp2pp2").toString(), "--stats", "--json")
                .json();

        for (int i = 0; i < one.get("tensors").size(); i++) {
            JsonNode left = one.get("tensors").get(i).get("statistics");
            JsonNode right = four.get("tensors").get(i).get("statistics");
            assertThat(right).isEqualTo(left);
            assertThat(left.get("nans").asInt()).isZero();
            assertThat(left.get("max").asDouble()).isGreaterThan(left.get("min").asDouble());
        }
    }

    @Test
    void objectsAreFoundByTheirPath() {
        String path = PLAIN.resolve("tp2pp2").toString();

        assertThat(CommandRun.of("inspect", path, "--objects", "args.num_layers")
                        .lines())
                .endsWith("args.num_layers = 4");
        assertThat(CommandRun.of("inspect", path, "--objects", "args", "--json")
                        .json()
                        .get("objects")
                        .size())
                .isGreaterThan(800);
        assertThat(CommandRun.of("inspect", path, "--objects", "args.no_such_field")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void aMissingPathIsUnreadableInput() {
        CommandRun run =
                CommandRun.of("inspect", PLAIN.resolve("no-such-folder").toString());

        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(run.err()).contains("no-such-folder");
        assertThat(run.out()).isEmpty();
    }

    private static List<String> namesAndShapes(JsonNode document) {
        List<String> found = new ArrayList<>();
        document.get("tensors").forEach(tensor -> found.add(tensor.get("name").asText() + " " + tensor.get("shape")));
        return found;
    }

    private static List<String> expectedTensors() throws IOException {
        JsonNode rank =
                TestData.expected(PLAIN).get("checkpoints").get("tp1pp1/iter_0000100/mp_rank_00/model_optim_rng.pt");
        List<String> expected = new ArrayList<>();
        for (JsonNode key : rank.get("key_order")) {
            JsonNode tensor = rank.get("model").get(key.asText());
            if (!key.asText().contains("_extra_state")) {
                expected.add(key.asText() + " " + tensor.get("shape"));
            }
        }
        return expected;
    }

    @Test
    void everyCommandThatOpensCheckpointsTakesTheIteration() {
        for (Command command : Commands.all()) {
            boolean opens = command.options().hasLongOption("layout");
            assertThat(command.options().hasLongOption("iteration"))
                    .as(command.name())
                    .isEqualTo(opens);
        }
    }

    @Test
    void aHuggingFaceFolderIsCalledByItsOwnName() {
        CommandRun run = CommandRun.of(
                "inspect",
                TestData.path("hf-options/nemotron_h_latent/safetensors").toString());

        assertThat(run.lines()).contains("family     nemotron_h (by Megatron's names)");
    }
}
