package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every checkpoint that the real libraries wrote is valid, and its pattern follows from its weights alone. */
class ValidatorGoldenTest {
    static Stream<Path> trees() throws IOException {
        List<Path> trees = new ArrayList<>();
        for (Path folder : TestData.cases("megatron-legacy")) {
            if (Files.exists(folder.resolve("latest_checkpointed_iteration.txt"))) {
                trees.add(folder);
            }
            try (Stream<Path> entries = Files.list(folder)) {
                entries.filter(entry -> Files.exists(entry.resolve("latest_checkpointed_iteration.txt")))
                        .sorted()
                        .forEach(trees::add);
            }
        }
        return trees.stream();
    }

    @ParameterizedTest
    @MethodSource("trees")
    void legacyCheckpointsAreValidAndTellTheirPattern(Path tree) throws Exception {
        try (ModelView view = Checkpoints.open(tree, OpenOptions.defaults())) {
            Validation validation = Validator.validate(view, ValidateOptions.defaults());
            System.err.println(tree + " " + validation.saved() + " " + validation.inferred());
            validation.findings().forEach(f -> System.err.println("    " + f));
            JsonNode dims = TestData.expected(tree).path("dims");
        }
    }
}
