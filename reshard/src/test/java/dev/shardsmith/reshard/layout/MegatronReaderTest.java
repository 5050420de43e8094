package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MegatronReaderTest {
    static Stream<Path> trees() throws Exception {
        List<Path> trees = new ArrayList<>();
        for (Path folder : TestData.cases("megatron-legacy")) {
            try (Stream<Path> entries = Files.list(folder)) {
                entries.filter(entry -> Files.exists(entry.resolve("latest_checkpointed_iteration.txt")))
                        .sorted()
                        .forEach(trees::add);
            }
        }
        return trees.stream();
    }

    /** NVIDIA's script scrambles gated MLPs; its trees of such models are no reference for this key. */
    private static boolean scrambled(Path tree, String name) {
        return tree.toString().contains("older_swiglu") && name.endsWith("mlp.linear_fc1.weight");
    }

    @ParameterizedTest
    @MethodSource("trees")
    void mergesEveryLayoutIntoTheUndividedModel(Path tree) throws Exception {
        JsonNode checkpoints = TestData.expected(tree.getParent()).get("checkpoints");
        JsonNode whole = null;
        for (Map.Entry<String, JsonNode> entry : checkpoints.properties()) {
            if (entry.getKey().startsWith("tp1pp1/")) {
                whole = entry.getValue().get("model");
            }
        }
        Map<String, String> expected = new LinkedHashMap<>();
        for (Map.Entry<String, JsonNode> entry : whole.properties()) {
            if (!entry.getKey().endsWith("_extra_state")) {
                JsonNode tensor = entry.getValue();
                expected.put(
                        entry.getKey(),
                        tensor.get("shape") + tensor.get("sha256").asText());
            }
        }
        try (ModelView view = Checkpoints.open(tree, OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            assertThat(view.tensors().keySet()).containsExactlyInAnyOrderElementsOf(expected.keySet());
            for (LogicalTensor tensor : view.tensors().values()) {
                String found = tensor.shape().toString().replace(" ", "") + Tensors.sha256(tensor);
                if (!(scrambled(tree, tensor.name()) && view.parallelism().tensor() > 1)) {
                    assertThat(found).as(tensor.name()).isEqualTo(expected.get(tensor.name()));
                }
            }
        }
    }
}
