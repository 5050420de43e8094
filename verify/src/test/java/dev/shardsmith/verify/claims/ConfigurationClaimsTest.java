package dev.shardsmith.verify.claims;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

final class ConfigurationClaimsTest {
    /** Every folder that has a configuration, as the real libraries wrote it. */
    static Stream<Path> configured() throws IOException {
        try (Stream<Path> files = Files.walk(TestData.path("hf").getParent())) {
            List<Path> all = files.filter(file ->
                            file.endsWith("config.json") && !file.toString().contains("target"))
                    .map(Path::getParent)
                    .sorted()
                    .toList();
            assertThat(all).hasSizeGreaterThan(55);
            return all.stream();
        }
    }

    @ParameterizedTest
    @MethodSource("configured")
    void whatTheLibrariesWroteContradictsNothing(Path folder) throws IOException {
        try (ModelView view = Checkpoints.open(folder, OpenOptions.defaults())) {
            assertThat(ConfigurationClaims.check(view.config(), view.storedShapes()))
                    .isEmpty();
        }
    }
}
