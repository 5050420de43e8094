package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** From every golden layout of a case to every other: tensors, names and saved options must be those of the golden files. */
class GoldenConversionTest {
    private static final Pattern TREE = Pattern.compile("tp(\\d)pp(\\d)");

    @TempDir
    Path folder;

    static Stream<Arguments> pairs() throws Exception {
        List<Arguments> pairs = new ArrayList<>();
        for (Path golden : TestData.cases("megatron-legacy")) {
            List<Path> trees;
            try (Stream<Path> entries = Files.list(golden)) {
                trees = entries.filter(entry ->
                                TREE.matcher(entry.getFileName().toString()).matches())
                        .sorted()
                        .toList();
            }
            for (Path from : trees) {
                for (Path to : trees) {
                    if (!scrambledByItsMaker(from) && !scrambledByItsMaker(to)) {
                        pairs.add(Arguments.of(from, to));
                    }
                }
            }
        }
        return pairs.stream();
    }

    /** NVIDIA's script mixes the halves of gated MLPs when it divides them. */
    private static boolean scrambledByItsMaker(Path tree) {
        return tree.toString().contains("older_swiglu") && !tree.endsWith("tp1pp1");
    }

    @ParameterizedTest
    @MethodSource("pairs")
    void givesExactlyTheGoldenFiles(Path from, Path to) throws Exception {
        Matcher sizes = TREE.matcher(to.getFileName().toString());
        assertThat(sizes.matches()).isTrue();
        ConversionOptions.Builder wanted = new ConversionOptions.Builder();
        wanted.tensor = OptionalInt.of(Integer.parseInt(sizes.group(1)));
        wanted.pipeline = OptionalInt.of(Integer.parseInt(sizes.group(2)));
        Path output = folder.resolve("out");
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, wanted.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, output, ExecutionOptions.defaults());
        }
        assertThat(Files.readString(output.resolve("latest_checkpointed_iteration.txt")))
                .isEqualTo(Files.readString(to.resolve("latest_checkpointed_iteration.txt"))
                        .strip());
        JsonNode checkpoints = TestData.expected(to.getParent()).get("checkpoints");
        for (Map.Entry<String, JsonNode> file : checkpoints.properties()) {
            if (file.getKey().startsWith(to.getFileName() + "/")) {
                check(output.resolve(Path.of(file.getKey()).subpath(1, 4)), file.getValue());
            }
        }
    }

    private static void check(Path file, JsonNode expected) throws Exception {
        assertThat(file).exists();
        RankFile rank = RankFile.open(new FilePool(), file, file.toString());
        List<String> tensors = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        for (var entry : rank.chunk("model").entrySet()) {
            var data = rank.tensor(entry.getValue());
            if (data.isPresent()) {
                LogicalTensor tensor = LogicalTensor.whole(entry.getKey(), data.get());
                tensors.add(entry.getKey() + " " + tensor.dtype().torchName() + " "
                        + tensor.shape().toString().replace(" ", "") + " " + Tensors.sha256(tensor));
            }
        }
        for (Map.Entry<String, JsonNode> entry : expected.get("model").properties()) {
            JsonNode tensor = entry.getValue();
            wanted.add(entry.getKey() + " " + tensor.get("dtype").asText().replace("torch.", "") + " "
                    + tensor.get("shape") + " " + tensor.get("sha256").asText());
        }
        assertThat(tensors).containsExactlyInAnyOrderElementsOf(wanted);
        assertThat(rank.chunk("model").keySet())
                .containsExactlyElementsOf(expected.get("key_order")
                        .valueStream()
                        .map(JsonNode::asText)
                        .toList());
        MegatronArgs args = MegatronArgs.of(rank.entries().get("args")).orElseThrow();
        for (Map.Entry<String, JsonNode> field :
                expected.get("rest").get("args").properties()) {
            if (field.getValue().isIntegralNumber()) {
                assertThat(args.integer(field.getKey()))
                        .as(field.getKey())
                        .hasValue(field.getValue().asLong());
            } else if (field.getKey().endsWith("pattern")) {
                assertThat(args.text(field.getKey()).orElse("null"))
                        .as(field.getKey())
                        .isEqualTo(field.getValue().asText());
            }
        }
    }
}
