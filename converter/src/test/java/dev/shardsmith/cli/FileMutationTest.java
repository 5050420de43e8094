package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Changes one number of one tensor in the files of real checkpoints, tensor after tensor and copy after copy: the command must not
 * call the changed checkpoint equivalent to the real one.
 */
final class FileMutationTest {
    @TempDir
    Path folder;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "megatron-legacy/current_plain_bf16/tp2pp2",
                "hf/zamba2/safetensors_single",
                "hf/mamba2_tied_as_mamba_ssm"
            })
    void noChangeOfATensorGoesUnnoticed(String fixture) throws Exception {
        assertThat(unnoticed(TestData.path(fixture.split("/")))).isEmpty();
    }

    /** The changed checkpoint is compared with a cast of the real one. */
    @ParameterizedTest
    @ValueSource(strings = {"megatron-legacy/current_plain_bf16/tp2pp2 fp16", "hf/mamba2_tied_as_mamba_ssm bf16"})
    void noChangeOfATensorGoesUnnoticedBesideACast(String fixtureAndType) throws Exception {
        String[] words = fixtureAndType.split(" ");
        Path original = TestData.path(words[0].split("/"));
        Path cast = folder.resolve("cast");
        CommandRun converted = CommandRun.of("convert", original.toString(), cast.toString(), "--dtype", words[1]);
        assertThat(converted.exit()).as(converted.err()).isEqualTo(ExitCode.OK);
        assertThat(CommandRun.of("verify", cast.toString(), original.toString(), "--device", "cpu", "--logits")
                        .exit())
                .isEqualTo(ExitCode.OK);
        assertThat(unnoticed(original, cast)).isEmpty();
    }

    @Tag("soak")
    @ParameterizedTest
    @ValueSource(
            strings = {
                "megatron-legacy/current_swiglu_float16module/tp2pp1",
                "megatron-legacy/current_moe_swiglu_tied/tp2pp1",
                "megatron-torch-dist/plain_bf16_tp2pp2",
                "megatron-torch-dist/moe_swiglu_tied_tp2pp1",
                "hf/bamba/safetensors",
                "hf/falcon_h1/safetensors",
                "hf/granitemoehybrid/bin",
                "hf/jamba/bin",
                "hf/mamba/safetensors",
                "hf/mamba2/bin",
                "hf/nemotron_h/safetensors",
                "hf/nemotron_h_nomoe_bf16/bin"
            })
    void noChangeOfATensorGoesUnnoticedInAnyFamily(String fixture) throws Exception {
        assertThat(unnoticed(TestData.path(fixture.split("/")))).isEmpty();
    }

    private List<String> unnoticed(Path original) throws IOException {
        return unnoticed(original, original);
    }

    /** The tensors whose largest number can change its sign without being found beside an equivalent checkpoint. */
    private List<String> unnoticed(Path original, Path equivalent) throws IOException {
        Map<Path, byte[]> files = files(original);
        Path changed = folder.resolve("changed");
        for (Map.Entry<Path, byte[]> file : files.entrySet()) {
            Path copy = changed.resolve(original.relativize(file.getKey()));
            Files.createDirectories(copy.getParent());
            Files.write(copy, file.getValue());
        }
        List<String> unnoticed = new ArrayList<>();
        int mutants = 0;
        for (Map.Entry<String, byte[]> number : numbers(original).entrySet()) {
            for (Map.Entry<Path, byte[]> file : files.entrySet()) {
                for (int at = 0; (at = indexOf(file.getValue(), number.getValue(), at)) >= 0; at++) {
                    Path copy = changed.resolve(original.relativize(file.getKey()));
                    byte[] bytes = file.getValue().clone();
                    bytes[at + signByte(number.getKey())] ^= (byte) 0x80;
                    Files.write(copy, bytes);
                    ExitCode exit = CommandRun.of(
                                    "verify", equivalent.toString(), changed.toString(), "--device", "cpu")
                            .exit();
                    Files.write(copy, file.getValue());
                    mutants++;
                    if (exit == ExitCode.OK) {
                        unnoticed.add(number.getKey() + " at " + at + " of " + copy.getFileName());
                    }
                    assertThat(exit).isNotEqualTo(ExitCode.BUG);
                }
            }
        }
        assertThat(mutants).isGreaterThan(20);
        return unnoticed;
    }

    private static Map<Path, byte[]> files(Path original) throws IOException {
        Map<Path, byte[]> files = new LinkedHashMap<>();
        try (Stream<Path> all = Files.walk(original)) {
            for (Path file : all.filter(Files::isRegularFile).sorted().toList()) {
                files.put(file, Files.readAllBytes(file));
            }
        }
        return files;
    }

    /** The bytes of each stored tensor, by a key that ends with the place of the sign of its largest number. */
    private static Map<String, byte[]> numbers(Path original) throws IOException {
        Map<String, byte[]> numbers = new LinkedHashMap<>();
        try (ModelView view = Checkpoints.open(original, OpenOptions.defaults())) {
            for (RankShard shard : view.ranks()) {
                for (LogicalTensor tensor : shard.tensors().values()) {
                    for (Piece piece : tensor.pieces()) {
                        StoredTensor data = piece.data();
                        if (data.isRowMajor() && data.bytes() >= 16) {
                            byte[] bytes = new byte[Math.toIntExact(data.bytes())];
                            data.source()
                                    .readBuffer(data.offset(), bytes.length)
                                    .get(bytes);
                            String key = tensor.name() + "#" + signByte(bytes, data.dtype());
                            numbers.putIfAbsent(key, bytes);
                        }
                    }
                }
            }
        }
        return numbers;
    }

    private static int signByte(String key) {
        return Integer.parseInt(key.substring(key.indexOf('#') + 1));
    }

    private static int signByte(byte[] bytes, DType dtype) {
        int size = dtype.byteSize();
        ByteBuffer values = ByteBuffer.wrap(bytes).order(java.nio.ByteOrder.LITTLE_ENDIAN);
        int best = 0;
        float largest = -1;
        for (int at = 0; at + size <= bytes.length; at += size) {
            float value = Math.abs(size == 4 ? values.getFloat(at) : Float.intBitsToFloat(values.getShort(at) << 16));
            if (value > largest) {
                largest = value;
                best = at + size - 1;
            }
        }
        return best;
    }

    private static int indexOf(byte[] all, byte[] part, int from) {
        for (int at = from; at + part.length <= all.length; at++) {
            int i = 0;
            while (i < part.length && all[at + i] == part[i]) {
                i++;
            }
            if (i == part.length) {
                return at;
            }
        }
        return -1;
    }
}
