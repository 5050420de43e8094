package dev.shardsmith.formats.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.safetensors.IndexFinding.Code;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SafetensorsIndexTest {
    private static final String INDEX = "{\"metadata\":{\"total_size\":12,\"more\":[1]},\"other\":{},"
            + "\"weight_map\":{\"a\":\"one\",\"b\":\"two\"}}";

    @Test
    void findsNothingWhereAllFits() throws IOException {
        assertThat(index(INDEX).check(shards(Map.of("a", 4L), Map.of("b", 8L)))).isEmpty();
    }

    @Test
    void findsGhosts() throws IOException {
        assertThat(index(INDEX).check(shards(Map.of("a", 12L), Map.of())))
                .containsExactly(new IndexFinding(Code.GHOST_TENSOR, "b", "b is listed in two, but no file has it"));
    }

    @Test
    void findsTensorInAnotherShard() throws IOException {
        assertThat(index(INDEX).check(shards(Map.of("a", 4L, "b", 8L), Map.of())))
                .containsExactly(new IndexFinding(Code.WRONG_SHARD, "b", "b is listed in two, but lies in one"));
    }

    @Test
    void findsDuplicates() throws IOException {
        assertThat(index(INDEX).check(shards(Map.of("a", 4L), Map.of("a", 4L, "b", 8L))))
                .containsExactly(new IndexFinding(Code.DUPLICATE_TENSOR, "a", "a lies in 2 files: one, two"));
    }

    @Test
    void findsWhatTheIndexLacks() throws IOException {
        Map<String, Map<String, Long>> shards = shards(Map.of("a", 4L), Map.of("b", 8L));
        shards.put("three", Map.of("c", 5L));
        assertThat(index(INDEX).check(shards))
                .extracting(IndexFinding::code)
                .containsExactly(Code.UNINDEXED_TENSOR, Code.UNINDEXED_FILE, Code.WRONG_TOTAL_SIZE);
    }

    @Test
    void findsMissingFileOnce() throws IOException {
        Map<String, Map<String, Long>> shards = new LinkedHashMap<>();
        shards.put("one", Map.of("a", 4L));
        assertThat(index(INDEX).check(shards))
                .extracting(IndexFinding::code)
                .containsExactly(Code.MISSING_FILE, Code.WRONG_TOTAL_SIZE);
    }

    @ParameterizedTest
    @CsvSource({"../x", "/etc/passwd", "a/b", "a\\\\b", "..", "''", "a\\u0000"})
    void refusesToOpenPathsThatLeaveTheFolder(String file) throws IOException {
        SafetensorsIndex index = index("{\"weight_map\":{\"a\":\"" + file + "\"}}");
        assertThat(index.files()).isEmpty();
        assertThat(index.check(Map.of())).extracting(IndexFinding::code).containsExactly(Code.UNSAFE_PATH);
    }

    @ParameterizedTest
    @CsvSource({"12.0,12", "1e3,1000", "9007199254740993,9007199254740993"})
    void readsTotalSizeInEveryForm(String written, long size) throws IOException {
        assertThat(index("{\"metadata\":{\"total_size\":" + written + "},\"weight_map\":{}}")
                        .totalSize())
                .hasValue(size);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "[]|not a JSON object",
                "{|not valid JSON",
                "{}|has no weight_map",
                "{\"weight_map\":[]}|has no weight_map",
                "{\"weight_map\":{\"a\":1}}|no file name for tensor 'a'",
                "{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}|lists tensor 'a' twice"
            })
    void refusesBrokenIndex(String text, String message) {
        assertThatThrownBy(() -> index(text))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message);
    }

    private static SafetensorsIndex index(String text) throws IOException {
        return SafetensorsIndex.read(ByteSource.of("index", text.getBytes(StandardCharsets.UTF_8)));
    }

    private static Map<String, Map<String, Long>> shards(Map<String, Long> one, Map<String, Long> two) {
        Map<String, Map<String, Long>> shards = new LinkedHashMap<>();
        shards.put("one", one);
        shards.put("two", two);
        return shards;
    }
}
