package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One model has one manifest, however it lies on disk, and no bit of it changes unnoticed. */
class ManifestLayoutsTest {
    @TempDir
    Path folder;

    private static void run(String... words) {
        CommandRun run = CommandRun.of(words);
        assertThat(run.exit()).as("%s %s", List.of(words), run.err()).isEqualTo(ExitCode.OK);
    }

    /** The source itself and a conversion of it for each group of options. */
    private Map<String, Path> layouts(Path source, String... conversions) {
        Map<String, Path> layouts = new LinkedHashMap<>();
        layouts.put("the source", source);
        for (String options : conversions) {
            Path target = folder.resolve("layout" + layouts.size());
            List<String> words = new ArrayList<>(List.of("convert", source.toString(), target.toString(), "--quiet"));
            words.addAll(List.of(options.split(" ")));
            run(words.toArray(String[]::new));
            layouts.put(options, target);
        }
        return layouts;
    }

    private static List<String> entries(Path checkpoint) {
        JsonNode tensors = CommandRun.of("manifest", checkpoint.toString(), "--json", "--quiet")
                .json()
                .get("tensors");
        List<String> entries = new ArrayList<>();
        for (JsonNode tensor : tensors) {
            entries.add(tensor.get("name").asText() + " " + tensor.get("shape") + " "
                    + tensor.get("dtype").asText() + " " + tensor.get("sha256").asText());
        }
        return entries;
    }

    private static void assertOneManifest(Map<String, Path> layouts) {
        List<String> expected = entries(layouts.get("the source"));
        assertThat(expected).hasSizeGreaterThan(20);
        layouts.forEach((options, path) ->
                assertThat(entries(path)).as("manifest of %s", options).isEqualTo(expected));
    }

    @Test
    void aHybridModelHasOneManifestInNineLayouts() {
        Path source = folder.resolve("source");
        run(
                "sample",
                source.toString(),
                "--pattern",
                "M*-M-M*-",
                "--hidden",
                "128",
                "--heads",
                "4",
                "--vocab",
                "64",
                "--quiet");
        Map<String, Path> layouts = layouts(
                source,
                "--tp 2",
                "--tp 4 --pp 2",
                "--pp 2 --vpp 2",
                "--to torch_dist --tp 1",
                "--to torch_dist --tp 2 --pp 2",
                "--to huggingface",
                "--to safetensors",
                "--to pt");
        assertThat(new HashSet<>(entries(layouts.remove("--to pt"))))
                .as("a single file keeps the order that it has")
                .isEqualTo(new HashSet<>(entries(source)));
        assertOneManifest(layouts);
    }

    @Test
    void aModelOfExpertsHasOneManifestInFiveLayouts() {
        Path source = folder.resolve("source");
        run("sample", source.toString(), "--pattern", "M*EE", "--hidden", "128", "--heads", "4", "--quiet");
        assertOneManifest(layouts(source, "--ep 2", "--ep 2 --tp 2", "--pp 2", "--to torch_dist --ep 2 --tp 2"));
    }

    @Test
    void aMambaModelOfHuggingFaceHasTheManifestOfItsShards() {
        assertOneManifest(
                layouts(TestData.path("hf", "mamba2", "safetensors"), "--to mamba_ssm", "--to mamba_ssm --tp 2"));
    }

    /** Any bit of any file, tensor data or not: the block is named, and with it the tensor if it lies in one. */
    @Test
    void anyFlippedBitIsFoundInItsFileAndBytes() throws IOException {
        Path source = folder.resolve("source");
        run("sample", source.toString(), "--pattern", "M*-", "--hidden", "64", "--heads", "2", "--quiet");
        Map<String, Path> layouts = layouts(source, "--tp 2", "--to torch_dist --tp 2", "--to huggingface");
        for (Path checkpoint : layouts.values()) {
            Path manifest = folder.resolve("manifest");
            run("manifest", checkpoint.toString(), "-o", manifest.toString(), "--force", "--quiet");
            List<Path> files = largeFiles(checkpoint);
            Set<String> tensors = new HashSet<>();
            Cases.forAll(15, random -> {
                Path file = files.get(random.nextInt(files.size()));
                byte[] intact = Files.readAllBytes(file);
                byte[] damaged = intact.clone();
                int place = random.nextInt(damaged.length);
                damaged[place] ^= (byte) (1 << random.nextInt(8));
                Files.write(file, damaged);
                CommandRun check = CommandRun.of(
                        "manifest", "--check", manifest.toString(), checkpoint.toString(), "--json", "--quiet");
                Files.write(file, intact);
                String name = checkpoint.relativize(file).toString();
                assertThat(check.exit())
                        .as("byte %d of %s: %s", place, name, check.err())
                        .isEqualTo(ExitCode.NO);
                assertThat(check.json().get("findings"))
                        .as("byte %d of %s", place, name)
                        .anySatisfy(finding -> {
                            assertThat(finding.get("code").asText()).isEqualTo("file-block");
                            assertThat(finding.get("file").asText()).isEqualTo(name);
                            long offset = finding.get("offset").asLong();
                            assertThat((long) place)
                                    .isBetween(
                                            offset,
                                            offset + finding.get("length").asLong() - 1);
                        });
                check.json()
                        .get("findings")
                        .forEach(finding -> tensors.add(finding.get("tensor").asText()));
            });
            assertThat(tensors).as("tensors that were hit").hasSizeGreaterThan(3);
        }
    }

    private static List<Path> largeFiles(Path checkpoint) throws IOException {
        try (Stream<Path> files = Files.walk(checkpoint)) {
            return files.filter(Files::isRegularFile)
                    .filter(file -> file.toFile().length() > 50_000)
                    .sorted()
                    .toList();
        }
    }
}
