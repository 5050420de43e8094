package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files of ranks in each other's places, and rank files without a config. */
class SwappedFilesTest {
    @TempDir
    Path folder;

    @Test
    void stagesInEachOthersPlacesAreRefused() throws IOException {
        Path source = copy(TestData.path("megatron-legacy/current_plain_bf16/tp2pp2"));
        Path iteration;
        try (Stream<Path> folders = Files.list(source)) {
            iteration = folders.filter(Files::isDirectory).findFirst().orElseThrow();
        }
        for (String tensor : new String[] {"00", "01"}) {
            swap(iteration.resolve("mp_rank_" + tensor + "_000"), iteration.resolve("mp_rank_" + tensor + "_001"));
        }

        CommandRun run = convert(source, "--pp", "1");

        assertThat(run.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(run.err())
                .contains("the embedding is in mp_rank_00_001/", "the folders of stages are swapped")
                .hasLineCount(3);
        assertThat(folder.resolve("out")).doesNotExist();
    }

    @Test
    void ranksOfAReferenceModelInAnotherOrderAreToldAsSuch() throws IOException {
        Path source = copy(TestData.path("mamba-ssm-tp/mha_uneven_ws4"));
        swap(source.resolve("rank0.pt"), source.resolve("rank2.pt"));
        // Without the bias that only rank 0 has, the rows alone tell.
        CommandRun biased = convert(source, "--tp", "1");
        swap(source.resolve("rank0.pt"), source.resolve("rank2.pt"));
        swap(source.resolve("rank1.pt"), source.resolve("rank3.pt"));
        CommandRun uneven = convert(source, "--tp", "1");

        assertThat(biased.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(biased.err()).contains("out_proj.bias", "see whether the files of ranks are swapped");
        assertThat(uneven.exit()).isEqualTo(ExitCode.INPUT);
        assertThat(uneven.err())
                .contains("the ranks hold [12, 8, 8, 12] rows; in the order [12, 12, 8, 8] they would fit", "swapped");
    }

    @Test
    void aFolderWithoutConfigIsRewrittenWithoutInventingOne() throws IOException {
        Path source = copy(TestData.path("hf/bamba/safetensors"));
        Path target = folder.resolve("hf");
        Files.writeString(source.resolve("config.json"), "{}");
        assertThat(rewrite(source, folder.resolve("empty")).exit()).isEqualTo(ExitCode.OK);
        assertThat(folder.resolve("empty/config.json")).content().isEqualToIgnoringWhitespace("{}");
        Files.delete(source.resolve("config.json"));

        CommandRun run = rewrite(source, target);

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("the source has no config.json, so neither has the target");
        assertThat(target.resolve("config.json")).doesNotExist();
        assertThat(target.resolve("model.safetensors.index.json")).exists();
        assertThat(CommandRun.of("diff", source.toString(), target.toString()).exit())
                .isEqualTo(ExitCode.OK);
    }

    private static CommandRun rewrite(Path source, Path target) {
        return CommandRun.of(
                "convert", source.toString(), target.toString(), "--to", "huggingface", "--max-shard-size", "40K");
    }

    @Test
    void aModelWithoutConfigIsMergedWithoutInventingOne() throws IOException {
        Path source = copy(TestData.path("hf/mamba2_tied_as_mamba_ssm"));
        Files.delete(source.resolve("config.json"));
        Files.move(source.resolve("pytorch_model.bin"), source.resolve("rank_0.pt"));

        CommandRun run = convert(source, "--tp", "1");
        CommandRun published =
                CommandRun.of("convert", source.toString(), folder.resolve("hf").toString(), "--to", "huggingface");

        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        assertThat(run.out()).contains("the source has no config.json, so neither has the target");
        assertThat(folder.resolve("out/config.json")).doesNotExist();
        assertThat(CommandRun.of(
                                "inspect",
                                folder.resolve("out/pytorch_model.bin").toString(),
                                "--tensors")
                        .out())
                .contains("lm_head.weight");
        assertThat(published.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(published.err()).contains("there is no config.json", "put the model's config.json beside its files");
    }

    @Test
    void nothingIsWrittenIntoTheSourceThroughALink() throws IOException {
        Path source = copy(TestData.path("megatron-legacy/current_plain_bf16/tp2pp2"));
        Path link = Files.createSymbolicLink(folder.resolve("link"), source);

        CommandRun run =
                CommandRun.of("convert", source.toString(), link.resolve("new").toString(), "--tp", "1");

        assertThat(run.exit()).isEqualTo(ExitCode.USAGE);
        assertThat(run.err()).contains("the destination lies inside the source ");
        assertThat(source.resolve("new")).doesNotExist();
    }

    private CommandRun convert(Path source, String... options) {
        return CommandRun.of(Stream.concat(
                        Stream.of(
                                "convert",
                                source.toString(),
                                folder.resolve("out").toString()),
                        Stream.of(options))
                .toArray(String[]::new));
    }

    private void swap(Path one, Path other) throws IOException {
        Path aside = folder.resolve("aside");
        Files.move(one, aside);
        Files.move(other, one);
        Files.move(aside, other);
    }

    private Path copy(Path from) throws IOException {
        Path to = folder.resolve("source");
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(from.relativize(file).toString()));
            }
        }
        return to;
    }
}
