package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PySet;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.io.IOException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/** Compares a graph with the tree of an {@code expected.json}, value by value. */
final class ExpectedTree {
    private final TorchFile file;
    private final Map<PyValue, String> seen = new IdentityHashMap<>();
    private int values;

    ExpectedTree(TorchFile file) {
        this.file = file;
    }

    /** Compares the whole graph and gives the number of values compared. */
    int check(JsonNode root) throws IOException {
        check(root, file.root(), "");
        return values;
    }

    private void check(JsonNode expected, PyValue value, String path) throws IOException {
        values++;
        String type = expected.get("type").asText();
        String text = expected.path("value").asText();
        switch (type) {
            case "None" -> assertThat(value).as(path).isEqualTo(PyNone.NONE);
            case "bool" ->
                assertThat(value)
                        .as(path)
                        .isEqualTo(PyBool.of(expected.get("value").asBoolean()));
            case "int" -> assertThat(value.toString()).as(path).isEqualTo(text);
            case "str" -> assertThat(PythonText.string(value)).as(path).contains(text);
            case "float" ->
                assertThat(PythonText.real(((PyFloat) value).value())).as(path).isEqualTo(text);
            case "complex" -> {
                assertThat(number(arg(value, 0))).isEqualTo(expected.get("real").asText());
                assertThat(number(arg(value, 1))).isEqualTo(expected.get("imag").asText());
            }
            case "bytes", "bytearray" -> bytes(expected, PythonText.bytes(value).orElseThrow());
            case "io.BytesIO" -> {
                PyTuple state = (PyTuple) ((PyObject) value).state().orElseThrow();
                bytes(expected, PythonText.bytes(state.items().get(0)).orElseThrow());
                assertThat(state.items().get(1).toString())
                        .isEqualTo(expected.get("pos").asText());
            }
            case "torch.dtype", "global" -> assertThat(name(value)).as(path).isEqualTo(text);
            case "Ellipsis" -> assertThat(name(value)).as(path).isEqualTo("builtins.Ellipsis");
            case "torch.device" -> assertThat(device((PyObject) value)).as(path).isEqualTo(text);
            case "torch.layout" -> assertThat(arg(value, 0)).as(path).isEqualTo(new PyStr(text));
            case "torch.Size" ->
                assertThat(((PyTuple) arg(value, 0)).items().toString())
                        .as(path)
                        .isEqualTo(expected.get("value").toString().replace(",", ", "));
            case "torch.TypedStorage" -> storage(expected, value);
            case "tensor" -> {
                NamedTensor named = file.tensors().stream()
                        .filter(tensor -> tensor.name().equals(path))
                        .findFirst()
                        .orElseThrow(() -> new AssertionError("no tensor " + path));
                assertThat(named.node()).isSameAs(value);
                assertThat(expected.get("name").asText()).isEqualTo(path);
            }
            case "ref" ->
                assertThat(seen)
                        .as(path)
                        .containsEntry(value, expected.get("to").asText());
            case "range", "slice" -> {
                assertThat(((PyTuple) ((PyObject) value).args()).items()).hasSize(3);
                check(expected.get("start"), arg(value, 0), path);
                check(expected.get("stop"), arg(value, 1), path);
                check(expected.get("step"), arg(value, 2), path);
            }
            case "enum" -> {
                assertThat(name(((PyObject) value).callable()))
                        .isEqualTo(expected.get("class").asText());
                check(expected.get("value"), arg(value, 0), path + "#value");
            }
            case "numpy.scalar", "numpy.dtype", "numpy.ndarray" ->
                new NumpyTree(this::check).check(expected, value, path);
            case "dict" -> dict(expected, value, path);
            case "list", "tuple", "deque" -> list(expected, value, path);
            case "set", "frozenset" -> set(expected, value, path);
            case "object" -> object(expected, value, path);
            default -> throw new AssertionError("unknown node " + expected);
        }
    }

    private void dict(JsonNode expected, PyValue value, String path) throws IOException {
        seen.put(value, path);
        List<PyEntry> entries = new ArrayList<>();
        String type = "builtins.dict";
        PyDict attributes = new PyDict();
        if (value instanceof PyDict dict) {
            entries.addAll(dict.entries());
        } else {
            PyObject object = (PyObject) value;
            type = name(object.callable());
            if (type.equals("collections.Counter")) {
                entries.addAll(((PyDict) arg(object, 0)).entries());
            }
            entries.addAll(object.entries());
            attributes = object.state().map(PyDict.class::cast).orElse(attributes);
        }
        assertThat(type).isEqualTo(expected.get("class").asText());
        assertThat(entries).as(path).hasSize(expected.get("items").size());
        for (int i = 0; i < entries.size(); i++) {
            PyEntry entry = entries.get(i);
            JsonNode pair = expected.get("items").get(i);
            String key = entry.key() instanceof PyStr text ? text.value() : "<" + PythonText.str(entry.key()) + ">";
            check(pair.get(0), entry.key(), path + "#key" + i);
            check(pair.get(1), entry.value(), path.isEmpty() ? key : path + "." + key);
        }
        assertThat(attributes.entries()).hasSize(expected.path("attrs").size());
        for (PyEntry attribute : attributes.entries()) {
            String key = PythonText.str(attribute.key());
            check(expected.get("attrs").get(key), attribute.value(), path + "@" + key);
        }
        if (expected.has("default_factory")) {
            check(expected.get("default_factory"), arg(value, 0), path + "#factory");
        }
    }

    private void list(JsonNode expected, PyValue value, String path) throws IOException {
        seen.put(value, path);
        List<PyValue> items = new ArrayList<>();
        String type;
        if (value instanceof PyList list) {
            type = "builtins.list";
            items.addAll(list.items());
        } else if (value instanceof PyTuple tuple) {
            type = "builtins.tuple";
            items.addAll(tuple.items());
        } else {
            PyObject object = (PyObject) value;
            type = name(object.callable());
            if (expected.has("maxlen")) {
                check(arg(object, 1), expected.get("maxlen").asText());
            } else {
                items.addAll(((PyTuple) object.args()).items());
            }
            for (PyObject.Step step : object.steps()) {
                items.addAll(((PyObject.Appends) step).values());
            }
        }
        assertThat(type).as(path).isEqualTo(expected.get("class").asText());
        assertThat(items).as(path).hasSize(expected.get("items").size());
        for (int i = 0; i < items.size(); i++) {
            check(expected.get("items").get(i), items.get(i), path + "[" + i + "]");
        }
    }

    private static void check(PyValue number, String expected) {
        assertThat(number).isEqualTo(PyInt.of(Long.parseLong(expected)));
    }

    private void set(JsonNode expected, PyValue value, String path) throws IOException {
        seen.put(value, path);
        List<PyValue> items = value instanceof PySet set ? set.items() : ((PyList) arg(value, 0)).items();
        JsonNode wanted = expected.get("items_sorted");
        assertThat(items).as(path).hasSize(wanted.size());
        for (PyValue item : items) {
            boolean found = false;
            for (JsonNode candidate : wanted) {
                found |= matches(candidate, item);
            }
            assertThat(found).as(path + " has " + item).isTrue();
        }
    }

    private boolean matches(JsonNode expected, PyValue value) throws IOException {
        try {
            check(expected, value, "");
            return true;
        } catch (AssertionError | ClassCastException | java.util.NoSuchElementException e) {
            return false;
        }
    }

    private void object(JsonNode expected, PyValue value, String path) throws IOException {
        seen.put(value, path);
        PyObject object = (PyObject) value;
        assertThat(name(object.callable()))
                .as(path)
                .isEqualTo(expected.get("class").asText());
        if (object.state().isEmpty()) {
            // Made by its own call: what the class keeps of the arguments is its own business.
            check(expected.get("attrs").get("args"), object.args(), path + ".args");
            return;
        }
        List<PyEntry> attributes = new ArrayList<>();
        PyValue state = object.state().get();
        for (PyValue part : state instanceof PyTuple tuple ? tuple.items() : List.of(state)) {
            if (part instanceof PyDict dict) {
                attributes.addAll(dict.entries());
            }
        }
        if (expected.get("class").asText().endsWith("WithState")) {
            assertThat(attributes).containsExactly(new PyEntry(new PyStr("x2"), PyInt.of(42)));
            return;
        }
        assertThat(attributes).as(path).hasSize(expected.get("attrs").size());
        for (PyEntry attribute : attributes) {
            String key = PythonText.str(attribute.key());
            check(expected.get("attrs").get(key), attribute.value(), path.isEmpty() ? key : path + "." + key);
        }
    }

    private void storage(JsonNode expected, PyValue value) throws IOException {
        TorchStorage storage = file.storage(value).orElseThrow();
        byte[] data = storage.data().readBytes(0, (int) storage.bytes());
        assertThat("torch." + storage.elementType().orElse(DType.U8).torchName())
                .isEqualTo(expected.get("dtype").asText());
        assertThat(data).hasSize(expected.get("nbytes").asInt());
        assertThat(sha256(data)).isEqualTo(expected.get("sha256").asText());
    }

    private static void bytes(JsonNode expected, byte[] bytes) {
        assertThat(bytes).hasSize(expected.get("len").asInt());
        assertThat(sha256(bytes)).isEqualTo(expected.get("sha256").asText());
    }

    static String sha256(byte[] bytes) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    private static String device(PyObject device) {
        List<PyValue> parts = ((PyTuple) device.args()).items();
        return PythonText.str(parts.get(0)) + (parts.size() > 1 ? ":" + parts.get(1) : "");
    }

    private static String name(PyValue value) {
        return PythonText.modern((PyGlobal) value).qualifiedName();
    }

    static PyValue arg(PyValue value, int index) {
        return ((PyTuple) ((PyObject) value).args()).items().get(index);
    }

    private static String number(PyValue value) {
        return PythonText.real(((PyFloat) value).value());
    }
}
