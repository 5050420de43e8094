package dev.shardsmith.cli;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.testdata.TestData;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Checks a document against a schema of {@code docs/schema}: the part of JSON Schema that those use. */
final class JsonSchema {
    private final JsonNode schema;

    private JsonSchema(JsonNode schema) {
        this.schema = schema;
    }

    /** The schema of a name, without {@code .schema.json}. */
    static JsonSchema named(String name) {
        return new JsonSchema(TestData.json(TestData.root().resolve("docs/schema/" + name + ".schema.json")));
    }

    /** What in the document is against the schema. */
    List<String> problems(JsonNode document) {
        List<String> problems = new ArrayList<>();
        check("$", schema, document, problems);
        return problems;
    }

    private static void check(String path, JsonNode schema, JsonNode value, List<String> problems) {
        if (schema.has("const") && !schema.get("const").equals(value)) {
            problems.add(path + " is " + value);
        }
        if (schema.has("enum") && !contains(schema.get("enum"), value)) {
            problems.add(path + " is " + value + ", not one of " + schema.get("enum"));
        }
        if (schema.has("type") && !hasType(schema.get("type"), value)) {
            problems.add(path + " is " + value.getNodeType() + ", not " + schema.get("type"));
        }
        if (schema.has("minimum")
                && value.isNumber()
                && value.asDouble() < schema.get("minimum").asDouble()) {
            problems.add(path + " is " + value);
        }
        if (schema.has("pattern")
                && !Pattern.compile(schema.get("pattern").asText())
                        .matcher(value.asText())
                        .find()) {
            problems.add(path + " is " + value);
        }
        if (value.isArray() && schema.has("items")) {
            for (int i = 0; i < value.size(); i++) {
                check(path + "[" + i + "]", schema.get("items"), value.get(i), problems);
            }
        }
        if (value.isObject()) {
            fields(path, schema, value, problems);
        }
    }

    private static void fields(String path, JsonNode schema, JsonNode value, List<String> problems) {
        JsonNode known = schema.path("properties");
        for (JsonNode name : schema.path("required")) {
            if (!value.has(name.asText())) {
                problems.add(path + " lacks " + name.asText());
            }
        }
        value.fields().forEachRemaining(field -> {
            JsonNode others = schema.path("additionalProperties");
            if (known.has(field.getKey())) {
                check(path + "." + field.getKey(), known.get(field.getKey()), field.getValue(), problems);
            } else if (others.isObject()) {
                check(path + "." + field.getKey(), others, field.getValue(), problems);
            } else if (others.isBoolean() && !others.asBoolean()) {
                problems.add(path + " has the unknown field " + field.getKey());
            }
        });
    }

    private static boolean contains(JsonNode values, JsonNode value) {
        for (JsonNode allowed : values) {
            if (allowed.equals(value)) {
                return true;
            }
        }
        return false;
    }

    private static boolean hasType(JsonNode types, JsonNode value) {
        if (types.isArray()) {
            for (JsonNode type : types) {
                if (hasType(type, value)) {
                    return true;
                }
            }
            return false;
        }
        return switch (types.asText()) {
            case "object" -> value.isObject();
            case "array" -> value.isArray();
            case "string" -> value.isTextual();
            case "boolean" -> value.isBoolean();
            case "integer" -> value.isIntegralNumber();
            case "number" -> value.isNumber();
            case "null" -> value.isNull();
            default -> throw new IllegalArgumentException(types.asText());
        };
    }
}
