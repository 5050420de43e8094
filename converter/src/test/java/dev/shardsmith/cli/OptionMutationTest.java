package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Whatever a configuration says, a command answers or refuses: it does not fail, hang or fill the memory. */
final class OptionMutationTest {
    /** Absent, sizes and shares that nothing has, and what is no number. */
    private static final List<String> VALUES =
            List.of("", "0", "-1", "3", "0.3", "1000000000000", "NaN", "null", "true", "\"text\"", "[1]");

    /** Options of training, generation and texts, which no command looks at. */
    private static final String UNREAD =
            ".*(_token_id|dropout|initializer_range|use_cache|logits_to_keep|z_loss.*|router_aux.*|rescale_.*"
                    + "|output_router_logits|architectures|max_position_embeddings|time_step_(max|floor|scale)"
                    + "|use_(mamba_kernels|mambapy|associative_scan|mem_eff_path))";

    /** A hundred times what the slowest of them takes. */
    private static final Duration LONGEST = Duration.ofMinutes(1);

    @TempDir
    Path folder;

    @ParameterizedTest
    @CsvSource({"hf/bamba, hf/bamba, huggingface", "hf-options/nemotron_h_groups, hf/nemotron_h, megatron"})
    void noCommandFailsWhereAnOptionIsAbsentNegativeAShareOrAText(String golden, String ids, String target)
            throws IOException {
        assertThat(faults(golden, ids, target, List.of("", "-1", "0.3", "\"text\"")))
                .isEmpty();
    }

    @ParameterizedTest
    @Tag("soak")
    @CsvSource({
        "hf/mamba, hf/mamba, mamba_ssm",
        "hf-options/falcon_mamba, hf/mamba, huggingface",
        "hf/mamba2, hf/mamba2, mamba_ssm",
        "hf-options/bamba_rope, hf/bamba, huggingface",
        "hf/falcon_h1, hf/falcon_h1, huggingface",
        "hf/granitemoehybrid, hf/granitemoehybrid, huggingface",
        "hf-options/granite_rope, hf/granitemoehybrid, huggingface",
        "hf/jamba, hf/jamba, huggingface",
        "hf/zamba2, hf/zamba2, huggingface",
        "hf-options/zamba2_two, hf/zamba2, huggingface",
        "hf/nemotron_h, hf/nemotron_h, megatron",
        "hf-options/nemotron_h_groups, hf/nemotron_h, mamba_ssm",
        "hf/mamba2_as_mamba_ssm, hf/mamba2, huggingface"
    })
    void noCommandFailsWhateverAnOptionIs(String golden, String ids, String target) throws IOException {
        assertThat(faults(golden, ids, target, VALUES)).isEmpty();
    }

    /** Every run that ended as a fault of the program, of its memory, or too late. */
    private List<String> faults(String golden, String ids, String target, List<String> values) throws IOException {
        Path model = ConfigurationFolders.copy(golden, folder.resolve("model"));
        Path sound = ConfigurationFolders.golden(golden);
        String whole = Files.readString(model.resolve("config.json"));
        List<String> faults = new ArrayList<>();
        for (String option : options(ConfigurationFolders.config(model), "")) {
            for (String value : values) {
                Files.writeString(model.resolve("config.json"), whole);
                ConfigurationFolders.set(model, option, value);
                for (List<String> line : lines(model, sound, TestData.path(ids), target)) {
                    long begin = System.nanoTime();
                    CommandRun run = CommandRun.of(line.toArray(String[]::new));
                    Duration time = Duration.ofNanos(System.nanoTime() - begin);
                    boolean broken = run.exit() == ExitCode.BUG || run.exit() == ExitCode.ENVIRONMENT;
                    if (broken || time.compareTo(LONGEST) > 0) {
                        faults.add("%s = %s, %s: %s after %s, %s"
                                .formatted(option, value, line.get(0), run.exit(), time, run.err()));
                    }
                }
            }
        }
        return faults;
    }

    private List<List<String>> lines(Path model, Path golden, Path ids, String target) {
        return List.of(
                List.of("inspect", model.toString(), "--quiet"),
                List.of("validate", model.toString(), "--quiet"),
                List.of(
                        "convert",
                        model.toString(),
                        folder.resolve("out").toString(),
                        "--dry-run",
                        "--to",
                        target,
                        "--quiet"),
                List.of("verify", model.toString(), golden.toString(), "--device", "cpu", "--seq-len", "4", "--quiet"),
                List.of(
                        "forward",
                        model.toString(),
                        "--device",
                        "cpu",
                        "--quiet",
                        "--force",
                        "--input",
                        ids.resolve("input_ids.npy").toString(),
                        "-o",
                        folder.resolve("logits.npy").toString()));
    }

    /** Paths of all numbers, truth values and lists of numbers. */
    private static List<String> options(JsonNode config, String prefix) {
        List<String> options = new ArrayList<>();
        Map<String, JsonNode> fields = new LinkedHashMap<>();
        config.fields().forEachRemaining(field -> fields.put(field.getKey(), field.getValue()));
        fields.forEach((name, value) -> {
            if (value.isObject()) {
                options.addAll(options(value, prefix + name + "."));
            }
            if (!value.isTextual() && !name.matches(UNREAD)) {
                options.add(prefix + name);
            }
        });
        return options;
    }
}
