package dev.shardsmith.formats.safetensors;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The JSON header of a safetensors file; says nothing yet about whether the offsets make sense. */
final class SafetensorsHeader {
    /** More dimensions than any framework makes; keeps a hostile shape small. */
    private static final int MAX_RANK = 64;

    private static final String METADATA = "__metadata__";

    // Field names are tensor names, different each time: a table of them would only cost time and memory.
    private static final JsonFactory JSON = JsonFactory.builder()
            .disable(JsonFactory.Feature.CANONICALIZE_FIELD_NAMES)
            .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
            .streamReadConstraints(StreamReadConstraints.builder()
                    .maxStringLength(SafetensorsFile.MAX_HEADER)
                    .maxNameLength(1 << 16)
                    .maxNestingDepth(64)
                    .build())
            .build();

    /** What the header says about one tensor; the shape as written, offsets relative to the data. */
    record Declaration(String name, String code, Shape shape, long begin, long end) {}

    private final String source;
    private final char[] text;
    private final int length;
    private final Map<String, String> metadata = new LinkedHashMap<>();
    private final List<Declaration> tensors = new ArrayList<>();

    private SafetensorsHeader(String source, CharBuffer text) {
        this.source = source;
        this.text = text.array();
        this.length = text.limit();
    }

    static SafetensorsHeader parse(String source, byte[] header) throws CheckpointException {
        SafetensorsHeader parsed = new SafetensorsHeader(source, decode(source, header));
        parsed.read();
        return parsed;
    }

    /** The entries of {@code __metadata__} in the order of the file. */
    Map<String, String> metadata() {
        return Collections.unmodifiableMap(metadata);
    }

    /** The tensors in the order of the header. */
    List<Declaration> tensors() {
        return tensors;
    }

    private static CharBuffer decode(String source, byte[] header) throws CheckpointException {
        ByteBuffer bytes = ByteBuffer.wrap(header);
        CharBuffer chars = CharBuffer.allocate(header.length);
        var decoder = StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT);
        try {
            var result = decoder.decode(bytes, chars, true);
            if (result.isError()) {
                result.throwException();
            }
        } catch (CharacterCodingException e) {
            throw CheckpointException.malformed(
                            source, SafetensorsFile.PREFIX + bytes.position(), "the header is not valid UTF-8")
                    .causedBy(e);
        }
        return chars.flip();
    }

    private void read() throws CheckpointException {
        try (JsonParser json = JSON.createParser(text, 0, length)) {
            if (json.nextToken() != JsonToken.START_OBJECT) {
                throw malformed(json, "the header is not a JSON object");
            }
            Set<String> names = new HashSet<>();
            while (json.nextToken() == JsonToken.FIELD_NAME) {
                String name = string(json, json.currentName(), "a tensor name");
                if (!names.add(name)) {
                    throw malformed(json, "the header has two entries named " + quoted(name));
                }
                json.nextToken();
                if (name.equals(METADATA)) {
                    readMetadata(json);
                } else {
                    tensors.add(readTensor(json, name));
                }
            }
            if (json.nextToken() != null) {
                throw malformed(json, "something follows the JSON object of the header");
            }
        } catch (JsonProcessingException e) {
            throw notJson(e);
        } catch (CheckpointException e) {
            throw e;
        } catch (IOException e) {
            throw CheckpointException.malformed(source, SafetensorsFile.PREFIX, "the header is not valid JSON")
                    .causedBy(e);
        }
    }

    private void readMetadata(JsonParser json) throws IOException {
        if (json.currentToken() == JsonToken.VALUE_NULL) {
            return;
        }
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw malformed(json, METADATA + " is not a JSON object");
        }
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String key = string(json, json.currentName(), "a key of " + METADATA);
            if (json.nextToken() != JsonToken.VALUE_STRING) {
                throw malformed(json, METADATA + " has a value that is not a string: " + quoted(key));
            }
            metadata.put(key, string(json, json.getText(), "a value of " + METADATA));
        }
    }

    private Declaration readTensor(JsonParser json, String name) throws IOException {
        if (json.currentToken() != JsonToken.START_OBJECT) {
            throw malformed(json, "the entry of tensor " + quoted(name) + " is not a JSON object");
        }
        String code = null;
        Shape shape = null;
        List<Long> offsets = null;
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String field = json.currentName();
            json.nextToken();
            switch (field) {
                case "dtype" -> {
                    once(json, code, name, field);
                    code = readCode(json, name);
                }
                case "shape" -> {
                    once(json, shape, name, field);
                    shape = readShape(json, name);
                }
                case "data_offsets" -> {
                    once(json, offsets, name, field);
                    offsets = readNumbers(json, name, field, 2);
                    if (offsets.size() != 2) {
                        throw malformed(
                                json,
                                "data_offsets of tensor " + quoted(name) + " has " + offsets.size()
                                        + " numbers instead of 2");
                    }
                }
                // Other fields are allowed and mean nothing.
                default -> json.skipChildren();
            }
        }
        require(json, code, name, "dtype");
        require(json, shape, name, "shape");
        require(json, offsets, name, "data_offsets");
        return new Declaration(name, code, shape, offsets.get(0), offsets.get(1));
    }

    private String readCode(JsonParser json, String name) throws IOException {
        if (json.currentToken() != JsonToken.VALUE_STRING) {
            throw malformed(json, "dtype of tensor " + quoted(name) + " is not a string");
        }
        return string(json, json.getText(), "a dtype");
    }

    private Shape readShape(JsonParser json, String name) throws IOException {
        List<Long> sizes = readNumbers(json, name, "shape", MAX_RANK);
        long elements = 1;
        try {
            // Left to right, as the reference does: a zero before a large size keeps the product small.
            for (long size : sizes) {
                elements = Math.multiplyExact(elements, size);
            }
            long[] numbers = new long[sizes.size()];
            for (int i = 0; i < numbers.length; i++) {
                numbers[i] = sizes.get(i);
            }
            Shape shape = Shape.of(numbers);
            shape.rowMajorStrides();
            return shape;
        } catch (ArithmeticException e) {
            throw malformed(json, "the shape of tensor " + quoted(name) + " overflows: " + sizes)
                    .causedBy(e);
        }
    }

    private List<Long> readNumbers(JsonParser json, String name, String field, int limit) throws IOException {
        if (json.currentToken() != JsonToken.START_ARRAY) {
            throw malformed(json, field + " of tensor " + quoted(name) + " is not an array");
        }
        List<Long> numbers = new ArrayList<>(limit == 2 ? 2 : 4);
        while (json.nextToken() != JsonToken.END_ARRAY) {
            if (numbers.size() == limit) {
                throw malformed(json, field + " of tensor " + quoted(name) + " has more than " + limit + " numbers");
            }
            numbers.add(readNumber(json, name, field));
        }
        return numbers;
    }

    private long readNumber(JsonParser json, String name, String field) throws IOException {
        JsonToken token = json.currentToken();
        if (token == JsonToken.VALUE_STRING) {
            throw number(json, name, field, "a string where a number is expected");
        }
        if (token == JsonToken.VALUE_NUMBER_FLOAT) {
            throw number(json, name, field, "the number " + json.getText() + ", which is not written as an integer");
        }
        if (token != JsonToken.VALUE_NUMBER_INT) {
            throw number(json, name, field, "something that is not a number");
        }
        if (json.getTextCharacters()[json.getTextOffset()] == '-') {
            throw number(json, name, field, "the negative number " + json.getText());
        }
        try {
            return json.getLongValue();
        } catch (JsonProcessingException e) {
            throw number(json, name, field, "the number " + json.getText() + ", which does not fit 63 bits")
                    .causedBy(e);
        }
    }

    private CheckpointException number(JsonParser json, String name, String field, String found) {
        return malformed(json, field + " of tensor " + quoted(name) + " has " + found);
    }

    private void once(JsonParser json, Object earlier, String name, String field) throws CheckpointException {
        if (earlier != null) {
            throw malformed(json, "tensor " + quoted(name) + " has the field " + field + " twice");
        }
    }

    private void require(JsonParser json, Object value, String name, String field) throws CheckpointException {
        if (value == null) {
            throw malformed(json, "tensor " + quoted(name) + " lacks the field " + field);
        }
    }

    /** The string, unless it holds half a surrogate pair, which no UTF-8 text can express. */
    private String string(JsonParser json, String value, String what) throws CheckpointException {
        if (!SafetensorsFile.isUnicode(value)) {
            throw malformed(json, what + " has an escape that is half of a surrogate pair");
        }
        return value;
    }

    private CheckpointException malformed(JsonParser json, String problem) {
        return CheckpointException.malformed(
                source, bytePosition(json.currentTokenLocation().getCharOffset()), problem);
    }

    private CheckpointException notJson(JsonProcessingException e) {
        long at = e.getLocation() == null ? 0 : e.getLocation().getCharOffset();
        return CheckpointException.malformed(
                        source, bytePosition(at), "the header is not valid JSON: " + e.getOriginalMessage())
                .causedBy(e);
    }

    private long bytePosition(long charOffset) {
        int end = (int) Math.max(0, Math.min(length, charOffset));
        return SafetensorsFile.PREFIX
                + StandardCharsets.UTF_8.encode(CharBuffer.wrap(text, 0, end)).limit();
    }

    static String quoted(String name) {
        return "'" + name + "'";
    }
}
