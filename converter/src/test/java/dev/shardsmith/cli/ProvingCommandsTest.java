package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.NpyFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** {@code convert}, {@code plan}, {@code sample}, {@code validate}, {@code verify}, {@code forward} and {@code scan}. */
final class ProvingCommandsTest {
    private static final String TP1 =
            TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1").toString();
    private static final String TP2_PP2 =
            TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2").toString();

    @TempDir
    Path folder;

    private String place(String name) {
        return folder.resolve(name).toString();
    }

    private static JsonNode valid(CommandRun run, String schema) {
        assertThat(JsonSchema.named(schema).problems(run.json())).isEmpty();
        return run.json();
    }

    @Test
    void aConversionGivesTheModelThatMegatronItselfWrote() {
        CommandRun run = CommandRun.of("convert", TP2_PP2, place("tp1"), "--tp", "1", "--pp", "1", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        JsonNode json = valid(run, "convert");
        assertThat(json.get("output").asText()).isEqualTo(place("tp1"));
        assertThat(json.get("outcome").asText()).isEqualTo("published");
        JsonNode ledger = json.get("ledger");
        assertThat(ledger.get("sourceElements").asLong()).isEqualTo(9600);
        assertThat(ledger.get("usedElements").asLong()).isEqualTo(9600);
        assertThat(ledger.get("targetElements")).isEqualTo(ledger.get("sourcedElements"));
        assertThat(CommandRun.of("diff", TP1, place("tp1")).exit()).isEqualTo(ExitCode.OK);
    }

    @Test
    void aConversionCanBeProvenByForwardPassesAtOnce() {
        CommandRun run = CommandRun.of(
                "convert",
                TP2_PP2,
                place("tp1"),
                "--tp",
                "1",
                "--pp",
                "1",
                "--verify",
                "forward",
                "--device",
                "cpu",
                "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        JsonNode proof = valid(run, "convert").get("verification");
        assertThat(proof.get("equivalent").asBoolean()).isTrue();
        assertThat(proof.get("layers").size()).isGreaterThanOrEqualTo(4);
    }

    @Test
    void aDryRunWritesNothing() {
        CommandRun run =
                CommandRun.of("convert", TP2_PP2, place("tp1"), "--tp", "1", "--pp", "1", "--dry-run", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(valid(run, "convert").has("output")).isFalse();
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void anExistingTargetIsReplacedOnlyByForce() throws IOException {
        Path target = Files.createDirectories(folder.resolve("there"));
        Files.writeString(target.resolve("precious"), "data");

        CommandRun refused = CommandRun.of("convert", TP1, target.toString(), "--tp", "2");
        assertThat(refused.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(refused.err()).contains("--force");
        assertThat(target.resolve("precious")).hasContent("data");

        assertThat(CommandRun.of("convert", TP1, target.toString(), "--tp", "2", "--force")
                        .exit())
                .isEqualTo(ExitCode.OK);
        assertThat(target.resolve("precious")).doesNotExist();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--tp 3", "--tp 0", "--pp 9", "--workers 0", "--task 2/2", "--memory none", "--verify twice"})
    void whatCannotBeDoneIsRefusedAndNothingIsWritten(String options) {
        String[] given = options.split(" ");
        CommandRun run = CommandRun.of("convert", TP1, place("target"), given[0], given[1]);

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err().lines().count()).isBetween(1L, 4L);
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void aSavedPlanIsCarriedOutInParts() {
        String plan = place("the.plan");
        assertThat(CommandRun.of("plan", TP2_PP2, place("tp2"), "--tp", "2", "--pp", "1", "-o", plan)
                        .exit())
                .isEqualTo(ExitCode.OK);
        CommandRun first = CommandRun.of("convert", TP2_PP2, place("tp2"), "--plan", plan, "--task", "0/2", "--json");
        assertThat(valid(first, "convert").get("outcome").asText()).isEqualTo("part-done");
        assertThat(folder.resolve("tp2")).doesNotExist();
        CommandRun second = CommandRun.of("convert", TP2_PP2, place("tp2"), "--plan", plan, "--task", "1/2", "--json");
        assertThat(valid(second, "convert").get("outcome").asText()).isEqualTo("published");
        assertThat(CommandRun.of("diff", TP1, place("tp2")).exit()).isEqualTo(ExitCode.OK);
    }

    @Test
    void aSampleIsTheSameForTheSameSeedAndOtherwiseNot() {
        String[] options = {"--pattern", "M-*", "--hidden", "32", "--vocab", "64", "--seed"};
        sample("a", options, "1", "--tp", "1");
        sample("b", options, "1", "--workers", "1");
        sample("c", options, "2", "--tp", "1");

        assertThat(CommandRun.of("diff", place("a"), place("b")).exit()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("diff", place("a"), place("c")).exit()).isEqualTo(ExitCode.NO);
    }

    @Test
    void aTensorOfASampleMayBeLargerThanWhatAPlanKeeps() throws IOException {
        String[] options = {"--pattern", "M", "--hidden", "64", "--vocab", "550000", "--seed"};
        sample("large", options, "1", "--tied");

        JsonNode totals =
                CommandRun.of("inspect", place("large"), "--json").json().get("totals");
        assertThat(totals.get("bytes").asLong()).isGreaterThan(64L << 20);
    }

    private void sample(String name, String[] options, String... more) {
        String[] line = new String[2 + options.length + more.length];
        line[0] = "sample";
        line[1] = place(name);
        System.arraycopy(options, 0, line, 2, options.length);
        System.arraycopy(more, 0, line, 2 + options.length, more.length);
        CommandRun run = CommandRun.of(line);
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
    }

    @Test
    void validationHoldsThePatternAgainstTheWeights() {
        CommandRun sound = CommandRun.of("validate", TP2_PP2, "--json");
        assertThat(sound.exit()).isEqualTo(ExitCode.OK);
        assertThat(valid(sound, "validate").get("pattern").get("inferred").asText())
                .isEqualTo("M-*M");

        CommandRun wrong = CommandRun.of("validate", TP2_PP2, "--pattern", "M-MM", "--json");
        assertThat(wrong.exit()).isEqualTo(ExitCode.NO);
        assertThat(valid(wrong, "validate").get("valid").asBoolean()).isFalse();
        assertThat(wrong.json().get("findings").get(0).get("code").asText()).isEqualTo("pattern.layer");
        assertThat(CommandRun.of("validate", TP2_PP2, "--pattern", "M-MM").lines())
                .contains("invalid");
    }

    @Test
    void shardsComputeWhatTheWholeModelComputes() {
        CommandRun run = CommandRun.of("verify", TP2_PP2, TP1, "--device", "cpu", "--seq-len", "16", "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        JsonNode json = valid(run, "verify");
        assertThat(json.get("equivalent").asBoolean()).isTrue();
        assertThat(json.get("layers")).hasSize(6);
        assertThat(CommandRun.of("verify", TP2_PP2, TP1, "--device", "abacus").exit())
                .isEqualTo(ExitCode.USAGE);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ' ',
            value = {"0 0", "3 3", "0,2-3 0;2;3", "1-1 1"})
    void layersAreListedByNumberAndRange(String list, String expected) throws UsageException {
        StringBuilder found = new StringBuilder();
        for (int layer = 0; layer < 5; layer++) {
            if (VerifyCommand.layers(Optional.of(list)).test(layer)) {
                found.append(found.length() == 0 ? "" : ";").append(layer);
            }
        }
        assertThat(found.toString()).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "a", "3-1", "1-2-3", "-1", "1,,2"})
    void otherListsOfLayersAreRefused(String list) {
        assertThat(CommandRun.of("verify", TP1, TP1, "--layers", list).exit()).isEqualTo(ExitCode.USAGE);
    }

    @Test
    void logitsAreWrittenOnceAndForTokenIdsOnly() {
        Path model = TestData.path("hf", "bamba");
        String[] line = {
            "forward",
            model.resolve("safetensors").toString(),
            "--input",
            model.resolve("input_ids.npy").toString(),
            "-o",
            place("logits.npy"),
            "--device",
            "cpu",
            "--json"
        };
        CommandRun run = CommandRun.of(line);

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(valid(run, "forward").get("shape").toString()).isEqualTo("[2,13,40]");
        assertThat(folder.resolve("logits.npy")).hasSize(128 + 2 * 13 * 40 * 4);
        assertThat(CommandRun.of(line).exit()).isEqualTo(ExitCode.USAGE);
        line[3] = model.resolve("logits_f32.npy").toString();
        line[5] = place("other.npy");
        assertThat(CommandRun.of(line).exit()).isEqualTo(ExitCode.USAGE);
        assertThat(folder.resolve("other.npy")).doesNotExist();
    }

    @Test
    void logitsAreDoubleWhereThatIsAskedFor() throws Exception {
        Path model = TestData.path("hf", "zamba2");
        String ids = model.resolve("input_ids.npy").toString();
        String source = model.resolve("safetensors").toString();
        String[] wide = {"forward", source, "--input", ids, "-o", place("wide.npy"), "--dtype", "fp64"};
        String[] narrow = {"forward", source, "--input", ids, "-o", place("narrow.npy"), "--device", "cpu"};

        assertThat(CommandRun.of(wide).exit()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of(narrow).exit()).isEqualTo(ExitCode.OK);

        double[] expected = NpyFile.read(model.resolve("logits_f64.npy")).values();
        double[] a = NpyFile.read(folder.resolve("wide.npy")).values();
        double[] b = NpyFile.read(folder.resolve("narrow.npy")).values();
        assertThat(folder.resolve("wide.npy")).hasSize(128 + 8L * expected.length);
        for (int i = 0; i < expected.length; i++) {
            assertThat(a[i]).isCloseTo(expected[i], within(5e-6));
            assertThat(b[i]).isCloseTo(a[i], within(1e-5));
        }
        assertThat(CommandRun.of(
                                "forward",
                                source,
                                "--input",
                                ids,
                                "-o",
                                place("c.npy"),
                                "--dtype",
                                "fp64",
                                "--device",
                                "cuda")
                        .exit())
                .isEqualTo(ExitCode.USAGE);
    }

    @Test
    void aScanTellsHarmlessFromHarmful() {
        CommandRun clean = CommandRun.of("scan", TP1, "--json");
        assertThat(clean.exit()).isEqualTo(ExitCode.OK);
        assertThat(valid(clean, "scan").get("verdict").asText()).isEqualTo("clean");

        CommandRun harmful = CommandRun.of(
                "scan", TestData.path("pytorch-reject", "unsafe_eval").toString(), "--json");
        assertThat(harmful.exit()).isEqualTo(ExitCode.NO);
        assertThat(valid(harmful, "scan").get("findings").findValuesAsText("severity"))
                .contains("danger");
        assertThat(CommandRun.of(
                                "scan",
                                TestData.path("pytorch-reject", "unsafe_eval").toString())
                        .out())
                .contains("eval");
    }

    @Test
    void aHarmfulFileIsUnreadableInputAndNotWrongUsage() {
        CommandRun run = CommandRun.of(
                "manifest",
                TestData.path("pytorch-reject", "unsafe_eval", "model.pt").toString(),
                "--json");

        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(valid(run, "error").at("/error/kind").asText()).isEqualTo("unsafe");
    }

    @Test
    void failuresAndPatternsKeepTheirSchemaToo() {
        valid(CommandRun.of("convert", place("nowhere"), place("x"), "--json"), "error");
        valid(CommandRun.of("pattern", "M-*|M", "--json"), "pattern");
        valid(CommandRun.of("pattern", "M-X", "--json"), "pattern");
        valid(CommandRun.of("inspect", TP1, "--placement", "tp=2,dp=4", "--json"), "inspect");
    }
}
