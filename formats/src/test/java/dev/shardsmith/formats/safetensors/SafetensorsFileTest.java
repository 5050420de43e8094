package dev.shardsmith.formats.safetensors;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

class SafetensorsFileTest {
    private static final String GOOD = Safetensors.one("F32", "[2,3]", "[0,24]");

    @Test
    void findsTensorWithoutReadingIt() throws IOException {
        SafetensorsFile file = SafetensorsFile.open(Safetensors.file(GOOD, 24));
        StoredTensor tensor = file.entry("w").orElseThrow().tensor();
        assertThat(tensor.dtype()).isEqualTo(DType.F32);
        assertThat(tensor.shape()).isEqualTo(Shape.of(2, 3));
        assertThat(tensor.strides()).containsExactly(3, 1);
        assertThat(tensor.offset()).isEqualTo(file.dataOffset());
        assertThat(tensor.source().readBytes(tensor.offset(), 4)).containsExactly(0, 1, 2, 3);
        assertThat(file.trailingBytes()).isZero();
    }

    static Stream<Arguments> brokenHeaders() {
        return Stream.of(
                Arguments.of("", "not a JSON object"),
                Arguments.of("[]", "not a JSON object"),
                Arguments.of("null", "not a JSON object"),
                Arguments.of("{", "not valid JSON"),
                Arguments.of("{\"w\":1,}", "the entry of tensor 'w' is not a JSON object"),
                Arguments.of("{\"__metadata__\":{},}", "not valid JSON"),
                Arguments.of("\uFEFF{}", "not valid JSON"),
                Arguments.of("{}\0", "not valid JSON"),
                Arguments.of("{} {}", "something follows"),
                Arguments.of("{\"w\":null}", "the entry of tensor 'w' is not a JSON object"),
                Arguments.of("{\"w\":[\"F32\",[],[0,4]]}", "the entry of tensor 'w' is not a JSON object"),
                Arguments.of("{\"w\":{\"shape\":[],\"data_offsets\":[0,4]}}", "lacks the field dtype"),
                Arguments.of("{\"w\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "lacks the field shape"),
                Arguments.of("{\"w\":{\"dtype\":\"F32\",\"shape\":[]}}", "lacks the field data_offsets"),
                Arguments.of(
                        "{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
                        "has the field dtype twice"),
                Arguments.of("{\"w\":{\"dtype\":1,\"shape\":[],\"data_offsets\":[0,4]}}", "dtype of tensor 'w' is not"),
                Arguments.of(Safetensors.one("F32", "1", "[0,4]"), "shape of tensor 'w' is not an array"),
                Arguments.of(Safetensors.one("F32", "[-1]", "[0,4]"), "shape of tensor 'w' has the negative number -1"),
                Arguments.of(Safetensors.one("F32", "[1.0]", "[0,4]"), "1.0, which is not written as an integer"),
                Arguments.of(Safetensors.one("F32", "[1e0]", "[0,4]"), "1e0, which is not written as an integer"),
                Arguments.of(Safetensors.one("F32", "[true]", "[0,4]"), "something that is not a number"),
                Arguments.of(Safetensors.one("F32", "[\"1\"]", "[0,4]"), "a string where a number is expected"),
                Arguments.of(Safetensors.one("F32", "[18446744073709551616]", "[0,4]"), "does not fit 63 bits"),
                Arguments.of(Safetensors.one("F32", "[9223372036854775807,3,0]", "[0,0]"), "overflows"),
                Arguments.of(Safetensors.one("F32", "[2305843009213693952]", "[0,4]"), "overflows"),
                Arguments.of(Safetensors.one("F32", "[]", "[0]"), "has 1 numbers instead of 2"),
                Arguments.of(Safetensors.one("F32", "[]", "[0,4,4]"), "more than 2 numbers"),
                Arguments.of(Safetensors.one("F32", "[]", "[-4,0]"), "data_offsets of tensor 'w' has the negative"),
                Arguments.of(Safetensors.one("F32", "[]", "[\"0\",4]"), "data_offsets of tensor 'w' has a string"),
                Arguments.of(Safetensors.one("F32", "[]", "[0.0,4]"), "0.0, which is not written as an integer"),
                Arguments.of(Safetensors.one("F32", "[]", "[4,0]"), "end before they begin"),
                Arguments.of(Safetensors.one("F32", "[]", "[4,8]"), "leave a hole: no tensor covers bytes 0 to 4"),
                Arguments.of(Safetensors.one("F32", "[2]", "[0,4]"), "needs 8 bytes, but data_offsets [0, 4] hold 4"),
                Arguments.of(Safetensors.one("U8", "[100]", "[0,100]"), "reach past the end of the data"),
                Arguments.of(
                        Safetensors.one("U8", "[9007199254740993]", "[0,9007199254740993]"),
                        "data_offsets [0, 9007199254740993] reach past the end"),
                Arguments.of(Safetensors.one("F4", "[3]", "[0,1]"), "12 bits, not whole bytes"),
                Arguments.of(Safetensors.one("F6_E2M3", "[2]", "[0,1]"), "12 bits, not whole bytes"),
                Arguments.of("{\"__metadata__\":{\"a\":1}}", "a value that is not a string: 'a'"),
                Arguments.of("{\"__metadata__\":[]}", "__metadata__ is not a JSON object"),
                Arguments.of("{\"__metadata__\":{},\"__metadata__\":{}}", "two entries named '__metadata__'"),
                Arguments.of("{\"\\ud800\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", "surrogate"),
                Arguments.of("{\"__metadata__\":{\"a\":\"\\udc00\"}}", "surrogate"),
                Arguments.of(entries("\"a\":[0,4]", "\"a\":[4,8]"), "two entries named 'a'"),
                Arguments.of(entries("\"a\":[0,4]", "\"\\u0061\":[4,8]"), "two entries named 'a'"),
                Arguments.of(entries("\"a\":[0,4]", "\"b\":[0,4]"), "overlap tensor 'a', which ends at byte 4"),
                Arguments.of(entries("\"a\":[0,4]", "\"b\":[8,12]"), "leave a hole: no tensor covers bytes 4 to 8"));
    }

    @ParameterizedTest
    @MethodSource("brokenHeaders")
    void refusesBrokenHeaderWithItsOwnMessage(String header, String message) {
        assertThatThrownBy(() -> SafetensorsFile.open(Safetensors.file(header, 8)))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(message)
                .hasMessageContaining("model.safetensors");
    }

    @Test
    void refusesWrongLengths() {
        assertThatThrownBy(() -> SafetensorsFile.open(ByteSource.of("m", new byte[7])))
                .hasMessageContaining("7 bytes long, too short");
        assertThatThrownBy(() -> SafetensorsFile.open(prefix(100_000_001, 16)))
                .hasMessageContaining("at most 100000000");
        assertThatThrownBy(() -> SafetensorsFile.open(prefix(-1, 16)))
                .hasMessageContaining("claims 18446744073709551615 bytes");
        assertThatThrownBy(() -> SafetensorsFile.open(prefix(9, 16))).hasMessageContaining("only 8 bytes follow");
        assertThatThrownBy(() -> SafetensorsFile.open(prefix(0, 8))).hasMessageContaining("not a JSON object");
    }

    @Test
    void refusesInvalidUtf8AtItsByte() {
        byte[] header = "{\"a\u00e9\":1}".getBytes(StandardCharsets.ISO_8859_1);
        CheckpointException e = catchThrowableOfType(
                CheckpointException.class,
                () -> SafetensorsFile.open(ByteSource.of("m", Safetensors.bytes(header, 0))));
        assertThat(e.problem()).isEqualTo("the header is not valid UTF-8");
        assertThat(e.where()).isEqualTo("m at byte 11");
    }

    @Test
    void namesTheByteOfAnErrorAfterWideCharacters() {
        CheckpointException e = catchThrowableOfType(
                CheckpointException.class, () -> SafetensorsFile.open(Safetensors.file("{\"\u00e9\u20ac\":7}", 0)));
        assertThat(e.where()).isEqualTo("model.safetensors at byte 17");
    }

    @Test
    void saysThatGitLfsPointerIsNone() {
        byte[] pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
                .getBytes(StandardCharsets.US_ASCII);
        assertThatThrownBy(() -> SafetensorsFile.open(ByteSource.of("m", pointer)))
                .hasMessageContaining("Git LFS pointer")
                .hasMessageContaining("git lfs pull");
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 8, 4096})
    void refusesTrailingBytesUnlessTolerated(int extra) throws IOException {
        ByteSource source = Safetensors.file(GOOD, 24 + extra);
        assertThatThrownBy(() -> SafetensorsFile.open(source))
                .hasMessageContaining(extra + " bytes follow the last tensor")
                .hasMessageContaining("--tolerate-trailing");
        SafetensorsFile file = SafetensorsFile.open(source, TrailingBytes.TOLERATE);
        assertThat(file.trailingBytes()).isEqualTo(extra);
        assertThat(file.entries()).hasSize(1);
    }

    @Test
    void failsForEveryTruncation() throws IOException {
        byte[] whole = Safetensors.file(GOOD, 24).readBytes(0, 8 + 64 + 24);
        assertThat(SafetensorsFile.open(ByteSource.of("m", whole)).entries()).hasSize(1);
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> SafetensorsFile.open(ByteSource.of("m", cut)))
                    .isInstanceOf(CheckpointException.class);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "BOOL,1,BOOL",
        "U8,1,U8",
        "I8,1,I8",
        "F8_E5M2,1,F8_E5M2",
        "F8_E4M3,1,F8_E4M3FN",
        "F8_E8M0,1,F8_E8M0FNU",
        "F8_E4M3FNUZ,1,F8_E4M3FNUZ",
        "F8_E5M2FNUZ,1,F8_E5M2FNUZ",
        "I16,2,I16",
        "U16,2,U16",
        "F16,2,F16",
        "BF16,2,BF16",
        "I32,4,I32",
        "U32,4,U32",
        "F32,4,F32",
        "C64,8,C64",
        "F64,8,F64",
        "I64,8,I64",
        "U64,8,U64"
    })
    void knowsEveryByteSizedType(String code, int size, DType dtype) throws IOException {
        String header = Safetensors.one(code, "[3]", "[0," + 3 * size + "]");
        SafetensorsEntry entry = SafetensorsFile.open(Safetensors.file(header, 3 * size))
                .entry("w")
                .orElseThrow();
        assertThat(entry.tensor().dtype()).isEqualTo(dtype);
        assertThat(entry.bytes()).isEqualTo(3L * size);
    }

    @Test
    void countsTwoValuesOfF4AsOneElement() throws IOException {
        SafetensorsEntry entry = only(Safetensors.one("F4", "[3,4]", "[0,6]"), 6);
        assertThat(entry.tensor().dtype()).isEqualTo(DType.F4_E2M1FN_X2);
        assertThat(entry.tensor().shape()).isEqualTo(Shape.of(3, 2));
        assertThat(entry.tensor().bytes()).isEqualTo(6);
    }

    @Test
    void listsF4WithOddRowsButCannotConvertIt() throws IOException {
        SafetensorsEntry entry = only(Safetensors.one("F4", "[2,3]", "[0,3]"), 3);
        assertThat(entry.dtype()).isEmpty();
        assertThatThrownBy(entry::tensor).hasMessageContaining("tensor w has shape [2, 3]");
    }

    @Test
    void keepsF6Packed() throws IOException {
        SafetensorsEntry entry = only(Safetensors.one("F6_E3M2", "[2,4]", "[0,6]"), 6);
        assertThat(entry.tensor().dtype()).isEqualTo(DType.F6_E3M2);
        assertThat(entry.tensor().bytes()).isEqualTo(6);
    }

    @Test
    void listsUnknownTypeAndNamesItWhenAskedForTheTensor() throws IOException {
        String header = "{\"odd\":{\"dtype\":\"F3\",\"shape\":[5],\"data_offsets\":[0,2]},"
                + "\"w\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[2,3]}}";
        SafetensorsFile file = SafetensorsFile.open(Safetensors.file(header, 3));
        SafetensorsEntry odd = file.entry("odd").orElseThrow();
        assertThat(odd.code()).isEqualTo("F3");
        assertThat(odd.dtype()).isEmpty();
        assertThat(odd.bytes()).isEqualTo(2);
        assertThatThrownBy(odd::tensor)
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("tensor odd has the unknown element type F3");
        assertThat(file.entry("w").orElseThrow().tensor().bytes()).isEqualTo(1);
    }

    @Test
    void acceptsFilesWithoutData() throws IOException {
        assertThat(SafetensorsFile.open(Safetensors.file("{}", 0)).entries()).isEmpty();
        SafetensorsFile metadataOnly =
                SafetensorsFile.open(Safetensors.file("{\"__metadata__\":{\"b\":\"2\",\"a\":\"1\"}}", 0));
        assertThat(metadataOnly.metadata().toString()).isEqualTo("{b=2, a=1}");
        assertThat(SafetensorsFile.open(Safetensors.file("{\"__metadata__\":null}", 0))
                        .metadata())
                .isEmpty();
    }

    @Test
    void acceptsEmptyTensorsAtOnePlace() throws IOException {
        String header = "{"
                + Stream.of("[0]", "[2,0]", "[0,9223372036854775807]")
                        .map(shape ->
                                "\"" + shape + "\":{\"dtype\":\"F32\",\"shape\":" + shape + ",\"data_offsets\":[4,4]}")
                        .collect(Collectors.joining(","))
                + ",\"\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}";
        SafetensorsFile file = SafetensorsFile.open(Safetensors.file(header, 4));
        assertThat(file.entries())
                .extracting(SafetensorsEntry::name)
                .containsExactly("", "[0]", "[2,0]", "[0,9223372036854775807]");
        assertThat(file.entry("[2,0]").orElseThrow().tensor().bytes()).isZero();
        assertThat(file.entry("").orElseThrow().tensor().shape()).isEqualTo(Shape.SCALAR);
    }

    @Test
    void acceptsWhatTheReferenceAccepts() throws IOException {
        String header =
                " \n{ \"b\" : {\"extra\":{\"x\":[1]},\"shape\":[1],\"dtype\":\"F32\",\"data_offsets\":[1,5]},\r\n\t"
                        + "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                        + "\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}} \t";
        SafetensorsFile file = SafetensorsFile.open(Safetensors.file(header, 5));
        assertThat(file.entries()).extracting(SafetensorsEntry::name).containsExactly("a", "b");
        assertThat(file.metadata()).containsEntry("k", "2");
        assertThat(file.entry("b").orElseThrow().tensor().offset()).isEqualTo(file.dataOffset() + 1);
    }

    @Test
    void listsManyTensors() throws IOException {
        int count = 100_000;
        StringBuilder header = new StringBuilder("{\"__metadata__\":{\"format\":\"pt\"}");
        for (int i = 0; i < count; i++) {
            header.append(",\"model.layers.")
                    .append(i)
                    .append(".mlp.experts.gate_proj.weight\":{\"dtype\":\"BF16\",")
                    .append("\"shape\":[1],\"data_offsets\":[")
                    .append(2 * i)
                    .append(',')
                    .append(2 * i + 2)
                    .append("]}");
        }
        SafetensorsFile file =
                SafetensorsFile.open(Safetensors.file(header.append('}').toString(), 2 * count));
        assertThat(file.entries()).hasSize(count);
        assertThat(List.copyOf(file.entries()).get(count - 1).name())
                .isEqualTo("model.layers.99999.mlp.experts.gate_proj.weight");
    }

    @Test
    void tellsSafetensorsFromOthers() throws IOException {
        assertThat(SafetensorsFile.looksLike(Safetensors.file(GOOD, 24))).isTrue();
        assertThat(SafetensorsFile.looksLike(ByteSource.of("m", new byte[100]))).isFalse();
        assertThat(SafetensorsFile.looksLike(
                        ByteSource.of("m", "PK\3\4............".getBytes(StandardCharsets.US_ASCII))))
                .isFalse();
    }

    private static SafetensorsEntry only(String header, int bytes) throws IOException {
        return SafetensorsFile.open(Safetensors.file(header, bytes)).entry("w").orElseThrow();
    }

    private static String entries(String... namesAndOffsets) {
        return Stream.of(namesAndOffsets)
                .map(text -> text.replace(":[", ":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[") + "}")
                .collect(Collectors.joining(",", "{", "}"));
    }

    private static ByteSource prefix(long headerSize, int fileSize) {
        ByteBuffer file =
                ByteBuffer.allocate(fileSize).order(ByteOrder.LITTLE_ENDIAN).putLong(0, headerSize);
        return ByteSource.of("m", file.array());
    }
}
