package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every golden checkpoint into every layout: it arrives whole, or the refusal says why. */
class EveryPairTest {
    private static final List<String> LAYOUTS =
            List.of("megatron", "torch_dist", "mamba_ssm", "huggingface", "safetensors", "pt");

    @TempDir
    Path folder;

    @ParameterizedTest(name = "{0}")
    @MethodSource("checkpoints")
    void aCheckpointArrivesWholeOrIsRefusedWithAReason(String name) throws IOException {
        Path source = TestData.root().resolve("test-data").resolve(name);
        CommandRun inspected = CommandRun.of("inspect", source.toString());
        if (inspected.exit() != ExitCode.OK) {
            requireReason(inspected);
        }
        Map<String, String> before = inspected.exit() == ExitCode.OK ? digests(source) : Map.of();
        for (String layout : LAYOUTS) {
            boolean file = layout.equals("safetensors") || layout.equals("pt");
            Path target = folder.resolve(file ? "converted." + layout : layout);
            CommandRun converted =
                    CommandRun.of("convert", source.toString(), target.toString(), "--to", layout, "--quiet");
            if (converted.exit() == ExitCode.OK) {
                Map<String, String> expected = layout.equals("torch_dist") ? flattened(before) : before;
                assertSame(expected, digests(target), name + " to " + layout);
            } else {
                requireReason(converted);
                assertThat(target).doesNotExist();
            }
        }
    }

    /** Keys that are no strings are strings in a distributed checkpoint, as PyTorch flattens them. */
    private static Map<String, String> flattened(Map<String, String> digests) {
        Map<String, String> flattened = new TreeMap<>();
        digests.forEach((name, digest) -> flattened.put(name.replaceAll("<([^<>]*)>", "$1"), digest));
        return flattened;
    }

    /** Hybrids of mamba_ssm get other names in Megatron's layouts; what the tensors hold stays. */
    private static void assertSame(Map<String, String> before, Map<String, String> after, String what) {
        boolean renamed = before.containsKey("backbone.embedding.weight")
                && after.containsKey("embedding.word_embeddings.weight");
        if (renamed) {
            assertThat(after.values()).as(what).containsExactlyInAnyOrderElementsOf(before.values());
        } else {
            assertThat(after).as(what).isEqualTo(before);
        }
    }

    private static void requireReason(CommandRun run) {
        assertThat(run.exit()).as(run.err()).isIn(ExitCode.INPUT, ExitCode.USAGE);
        assertThat(run.err().lines().filter(line -> !line.startsWith("warning")))
                .first()
                .asString()
                .startsWith("shardsmith: ");
        assertThat(run.err()).doesNotContain("Exception", "please report", "null");
    }

    private static Map<String, String> digests(Path checkpoint) {
        CommandRun run = CommandRun.of("manifest", checkpoint.toString(), "-o", "/dev/null", "--json");
        assertThat(run.exit()).as(run.err()).isEqualTo(ExitCode.OK);
        Map<String, String> digests = new TreeMap<>();
        for (JsonNode tensor : run.json().path("tensors")) {
            digests.put(
                    tensor.path("name").asText(),
                    tensor.path("dtype") + " " + tensor.path("shape") + " " + tensor.path("sha256"));
        }
        return digests;
    }

    static List<String> checkpoints() throws IOException {
        Path root = TestData.root().resolve("test-data");
        List<String> found = new ArrayList<>();
        for (String group : List.of("dcp", "hf", "megatron-torch-dist", "megatron-legacy", "mamba-ssm-tp")) {
            try (Stream<Path> paths = Files.walk(root.resolve(group))) {
                paths.filter(Files::isDirectory)
                        .filter(EveryPairTest::isCheckpoint)
                        // An iteration is opened through its root; of the many numbers of ranks two will do.
                        .filter(path -> !Files.exists(path.resolveSibling("latest_checkpointed_iteration.txt")))
                        .filter(path -> !path.toString().matches(".*_ws[1467]"))
                        .map(path -> root.relativize(path).toString())
                        .sorted()
                        .forEach(found::add);
            }
        }
        for (String group : List.of("pytorch-zip", "pytorch-legacy")) {
            try (Stream<Path> paths = Files.walk(root.resolve(group))) {
                paths.filter(path -> path.toString().matches(".*\\.(pt|pth|ckpt|bin)"))
                        .map(path -> root.relativize(path).toString())
                        .sorted()
                        .forEach(found::add);
            }
        }
        return found;
    }

    /** A folder whose files, and not those of a folder inside, are a checkpoint's. */
    private static boolean isCheckpoint(Path folder) {
        try (Stream<Path> files = Files.list(folder)) {
            Set<String> names = Set.copyOf(files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .toList());
            return names.stream()
                    .anyMatch(name -> name.equals(".metadata")
                            || name.endsWith(".safetensors")
                            || name.endsWith(".bin")
                            || name.matches("rank.*\\.pt")
                            || name.equals("latest_checkpointed_iteration.txt"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
