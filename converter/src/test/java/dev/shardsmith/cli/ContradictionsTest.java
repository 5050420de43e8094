package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints whose files contradict each other, and saved options that contradict the weights. */
class ContradictionsTest {
    private static final Path SAMPLE = TestData.root().resolve("samples").resolve("hybrid-tp2-pp2");
    private static final String RANK = "mp_rank_01_001/model_optim_rng.pt";

    @TempDir
    Path folder;

    @Test
    void rankFilesOfDifferentIterationsAreRefusedWithFilesAndValues() throws IOException {
        Path mixed = mixed("--set", "iteration=77", "--set", "consumed_train_samples=1234");

        CommandRun converted = run("convert", mixed, folder.resolve("out"), "--tp", "1");
        CommandRun planned = run("plan", mixed, folder.resolve("out"), "--tp", "1", "-o", folder.resolve("x.plan"));
        CommandRun validated = run("validate", mixed);

        assertThat(converted.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(converted.err())
                .contains("the rank files are not of one checkpoint", "args.iteration is 100 in ", "but 77 in " + RANK)
                .hasLineCount(3);
        assertThat(folder.resolve("out")).doesNotExist();
        assertThat(planned.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(validated.exit()).isEqualTo(ExitCode.NO);
        assertThat(validated.out()).contains("ranks.differ", "args.consumed_train_samples is ", "1234 in " + RANK);
    }

    @Test
    void aDistributedCheckpointOfOneRanksShapesIsWarnedOf() {
        Path plain = TestData.path("megatron-legacy/current_plain_bf16/tp1pp1");
        Path local = folder.resolve("local");
        // The options of a model twice as wide, of which a rank of two has these shapes.
        CommandRun made = run(
                "convert",
                plain,
                local,
                "--to",
                "torch_dist",
                "--tp",
                "2",
                "--set",
                "padded_vocab_size=64",
                "--set",
                "ffn_hidden_size=64",
                "--set",
                "num_attention_heads=8");
        Path half = folder.resolve("half");
        CommandRun contradicted =
                run("convert", plain, half, "--to", "torch_dist", "--tp", "2", "--set", "padded_vocab_size=64");

        assertThat(made.exit()).isEqualTo(ExitCode.OK);
        assertThat(contradicted.exit()).isEqualTo(ExitCode.OK);
        assertThat(run("inspect", local).err())
                .contains("the tensors look like those of one of 2 tensor-parallel ranks: "
                        + "embedding.word_embeddings.weight has the shape [32, 16], but padded_vocab_size is 64");
        assertThat(run("inspect", half).err()).doesNotContain("tensor-parallel ranks");
        assertThat(run("inspect", TestData.path("megatron-torch-dist/plain_bf16_tp2pp2/iter_0000100"))
                        .err())
                .doesNotContain("tensor-parallel ranks");
    }

    @Test
    void rankFilesThatDifferInTheirOwnRankOnlyAreOneCheckpoint() throws IOException {
        Path mixed = mixed("--set", "rank=3", "--set", "local_rank=3");

        assertThat(run("convert", mixed, folder.resolve("out"), "--tp", "1").exit())
                .isEqualTo(ExitCode.OK);
    }

    @Test
    void savedOptionsThatContradictTheWeightsAreWarnedOfWithWhatMendsThem() {
        Path wrong = sampleWith("wrong", "--set", "hidden_size=1000", "--set", "swiglu=True");

        CommandRun warned = run("convert", wrong, folder.resolve("out"), "--to", "torch_dist");
        CommandRun mended = run(
                "convert",
                wrong,
                folder.resolve("mended"),
                "--set",
                "hidden_size=" + hidden(),
                "--set",
                "swiglu=False");

        assertThat(warned.exit()).isEqualTo(ExitCode.OK);
        assertThat(warned.err())
                .contains("hidden_size is 1000, but the weights say", "--set hidden_size=", "swiglu is True, but");
        assertThat(mended.exit()).isEqualTo(ExitCode.OK);
        assertThat(mended.err()).doesNotContain("contradict");
    }

    @Test
    void headsAndGroupsThatTheWeightsDenyDivideNothing() {
        Path wrong = sampleWith("wrong", "--set", "mamba_num_groups=16");

        CommandRun kept = run("convert", wrong, folder.resolve("kept"));
        CommandRun divided = run("convert", wrong, folder.resolve("divided"), "--tp", "1");

        assertThat(kept.exit()).isEqualTo(ExitCode.OK);
        assertThat(kept.err()).contains("saved options contradict the weights: ", "16 groups of state size");
        assertThat(divided.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(divided.err()).contains("16 groups of state size", "--set");
        assertThat(folder.resolve("divided")).doesNotExist();
    }

    @Test
    void aWrongSavedPatternGivesWayToTheOneOfTheWeights() {
        Path wrong = sampleWith("wrong", "--set", "hybrid_layer_pattern=MM*M");

        CommandRun warned = run("convert", wrong, folder.resolve("warned"), "--tp", "1");
        CommandRun described = run("convert", wrong, folder.resolve("hf"), "--to", "huggingface");
        CommandRun mended = run("convert", wrong, folder.resolve("mended"), "--pattern", "M-*M", "--tp", "1");

        assertThat(warned.exit()).isEqualTo(ExitCode.OK);
        assertThat(warned.err()).contains("layer 1", "the saved pattern says M, the weights say -", "--pattern 'M-*M'");
        assertThat(described.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(described.err()).contains("--pattern 'M-*M'");
        assertThat(mended.exit()).as(mended.err()).isEqualTo(ExitCode.OK);
        assertThat(mended.err()).doesNotContain("contradict");
        assertThat(run("validate", folder.resolve("mended")).exit()).isEqualTo(ExitCode.OK);
    }

    @Test
    void soundCheckpointsCauseNoWarning() {
        CommandRun run = run("convert", SAMPLE, folder.resolve("out"), "--tp", "1", "--pp", "1");

        assertThat(run.exit()).isEqualTo(ExitCode.OK);
        assertThat(run.err()).doesNotContain("warning");
    }

    private int hidden() {
        return CommandRun.of("inspect", SAMPLE.toString(), "--tensors", "--json")
                .json()
                .findValues("tensors")
                .get(0)
                .valueStream()
                .filter(tensor -> tensor.get("name").asText().equals("decoder.final_norm.weight"))
                .findFirst()
                .orElseThrow()
                .get("shape")
                .get(0)
                .asInt();
    }

    /** The sample with one rank's file as options would write it. */
    private Path mixed(String... options) throws IOException {
        Path other = sampleWith("other", options);
        Path mixed = sampleWith("mixed");
        Files.copy(rank(other), rank(mixed), StandardCopyOption.REPLACE_EXISTING);
        return mixed;
    }

    private static Path rank(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            return files.filter(file -> file.endsWith(RANK)).findFirst().orElseThrow();
        }
    }

    private Path sampleWith(String name, String... options) {
        List<Object> words = new ArrayList<>(List.of("convert", SAMPLE, folder.resolve(name)));
        words.addAll(List.of(options));
        CommandRun run = run(words.toArray());
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        return folder.resolve(name);
    }

    private static CommandRun run(Object... words) {
        return CommandRun.of(Stream.of(words).map(Object::toString).toArray(String[]::new));
    }
}
