package dev.shardsmith.formats.torch;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;

/**
 * Writes a rewritten copy of every golden file to a folder, each beside its {@code expected.json}, for
 * {@code .ci/interop/check_torch_rewrite.py} to load with real PyTorch; and archives too large for plain zip numbers, with holes.
 */
public final class RewriteFixtures {
    private RewriteFixtures() {}

    /** Takes the folder to write to. */
    public static void main(String[] args) throws IOException {
        if (args.length != 1) {
            throw new IllegalArgumentException("needs the output folder");
        }
        Path output = Path.of(args[0]);
        for (String group : List.of("pytorch-zip", "pytorch-legacy")) {
            for (Path folder : TestData.cases(group)) {
                JsonNode expected = TestData.expected(folder);
                Path source = folder.resolve(expected.path("main_file").asText("model.pt"));
                TorchFile file = TorchFile.open(ByteSource.of(source.toString(), Files.readAllBytes(source)));
                Path target = Files.createDirectories(output.resolve(group).resolve(folder.getFileName()));
                Files.write(target.resolve("model.pt"), ImageBytes.rewritten(file));
                Files.copy(source, target.resolve("original.pt"), StandardCopyOption.REPLACE_EXISTING);
                Files.copy(
                        folder.resolve("expected.json"),
                        target.resolve("expected.json"),
                        StandardCopyOption.REPLACE_EXISTING);
            }
        }
        Path large = Files.createDirectories(output.resolve("large"));
        LargeArchives.threeTensors().writeTo(large.resolve("three.pt"));
        LargeArchives.manyTensors().writeTo(large.resolve("many.pt"));
    }
}
