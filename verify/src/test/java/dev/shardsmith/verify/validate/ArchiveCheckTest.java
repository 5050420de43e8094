package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ArchiveCheckTest {
    @TempDir
    Path folder;

    @Test
    void aFlippedBitInAWeightIsFoundByTheArchivesOwnChecksum() throws Exception {
        Path copy = folder.resolve("copy");
        copy(TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1"), copy);
        assertThat(codes(copy)).doesNotContain("file.checksum");
        ByteSource.FileRange weight;
        try (ModelView view = Checkpoints.open(copy, OpenOptions.defaults())) {
            var data = view.tensors()
                    .get("decoder.final_norm.weight")
                    .pieces()
                    .get(0)
                    .data();
            ByteSource.FileRange range = data.source().inFile().orElseThrow();
            weight = new ByteSource.FileRange(range.file(), range.offset() + data.offset(), 1);
        }
        try (RandomAccessFile file = new RandomAccessFile(weight.file().toFile(), "rw")) {
            file.seek(weight.offset());
            int value = file.read();
            file.seek(weight.offset());
            file.write(value ^ 1);
        }
        assertThat(codes(copy)).contains("file.checksum");
    }

    private static List<String> codes(Path checkpoint) throws IOException {
        try (ModelView view = Checkpoints.open(checkpoint, OpenOptions.defaults())) {
            return Validator.validate(view, ValidateOptions.defaults()).findings().stream()
                    .map(Finding::code)
                    .toList();
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> paths = Files.walk(from)) {
            for (Path path : paths.toList()) {
                Files.copy(path, to.resolve(from.relativize(path).toString()));
            }
        }
    }
}
