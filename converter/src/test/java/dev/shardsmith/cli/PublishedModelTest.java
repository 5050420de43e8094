package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.pattern.RatioPattern;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.OptionalInt;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A model of the size and the layers of the published 8B hybrid, in sparse files: everything but its weights is there. */
final class PublishedModelTest {
    private static final long PARAMETERS = 8_654_517_248L;

    @TempDir
    static Path folder;

    @BeforeAll
    static void writeSparseFiles() throws IOException {
        String pattern = RatioPattern.of(56, 0.08, 0.5).text();
        SampleSpec spec = new SampleSpec(
                pattern,
                4096,
                256_000,
                32,
                8,
                128,
                128,
                64,
                8,
                128,
                16_384,
                false,
                false,
                false,
                true,
                false,
                8,
                4096,
                0,
                true,
                DType.BF16,
                1);
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.tensor = OptionalInt.of(4);
        options.pipeline = OptionalInt.of(2);
        try (ModelView model = SampleModel.of(spec)) {
            for (FileImage file : Conversion.plan(model, options.build()).files()) {
                write(folder.resolve(file.path()), file);
            }
        }
    }

    private static void write(Path path, FileImage file) throws IOException {
        Files.createDirectories(path.getParent());
        try (FileChannel channel = FileChannel.open(
                path, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE, StandardOpenOption.SPARSE)) {
            for (FileImage.Literal literal : file.literals()) {
                channel.write(ByteBuffer.wrap(literal.bytes()), literal.offset());
            }
            if (channel.size() < file.size()) {
                channel.write(ByteBuffer.allocate(1), file.size() - 1);
            }
        }
    }

    @Test
    void inspectCountsItsLayersAndParameters() {
        JsonNode json = CommandRun.of("inspect", folder.toString(), "--tensors", "--json")
                .json();
        String pattern = json.get("pattern").asText();
        assertThat(pattern).hasSize(56);
        assertThat(pattern.chars().filter(symbol -> symbol == 'M')).hasSize(24);
        assertThat(pattern.chars().filter(symbol -> symbol == '*')).hasSize(4);
        assertThat(pattern.chars().filter(symbol -> symbol == '-')).hasSize(28);
        // Per layer: Mamba 4096·18560 + 4096 + 10240·5 + 3·128 + 8192 + 8192·4096, attention 4096·(6144 + 4096) + 4096,
        // MLP 2·4096·16384 + 4096; embedding and output layer 256000·4096 each; the last norm 4096.
        long mamba = 4096L * 18_560 + 4096 + 10_240L * 5 + 3 * 128 + 8192 + 8192L * 4096;
        long attention = 4096L * (6144 + 4096) + 4096;
        long mlp = 2L * 4096 * 16_384 + 4096;
        assertThat(24 * mamba + 4 * attention + 28 * mlp + 2L * 256_000 * 4096 + 4096)
                .isEqualTo(PARAMETERS);
        assertThat(json.get("totals").get("elements").asLong()).isEqualTo(PARAMETERS);
    }

    @Test
    void validateFindsItsPatternInTheWeightsAlone() {
        CommandRun run = CommandRun.of("validate", folder.toString(), "--no-values", "--json");
        assertThat(run.exit()).as(run.out()).isEqualTo(ExitCode.OK);
        JsonNode json = run.json();
        assertThat(json.get("pattern").get("inferred").asText())
                .isEqualTo("M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-");
        assertThat(json.get("layers")).hasSize(56);
    }

    @Test
    void aDryRunPlansEveryElement() {
        String target = folder.resolveSibling("never-written").toString();
        CommandRun run =
                CommandRun.of("convert", folder.toString(), target, "--tp", "8", "--pp", "4", "--dry-run", "--json");
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        JsonNode json = run.json();
        assertThat(json.get("ledger").get("sourceElements").asLong()).isEqualTo(PARAMETERS);
        assertThat(json.get("ledger").get("usedElements").asLong()).isEqualTo(PARAMETERS);
        assertThat(json.get("plan").get("copied").asLong()).isGreaterThanOrEqualTo(PARAMETERS);
        assertThat(Path.of(target)).doesNotExist();
        CommandRun refused = CommandRun.of("convert", folder.toString(), target, "--tp", "16", "--dry-run");
        assertThat(refused.exit()).isNotEqualTo(ExitCode.OK);
        assertThat(refused.err()).contains("8 Mamba groups: every rank needs whole groups");
    }
}
