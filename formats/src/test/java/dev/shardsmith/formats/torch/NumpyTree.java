package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.List;

/** Compares NumPy's values with an {@code expected.json}. */
final class NumpyTree {
    private final Check items;

    /** Compares one value. */
    interface Check {
        void check(JsonNode expected, PyValue value, String path) throws IOException;
    }

    NumpyTree(Check items) {
        this.items = items;
    }

    void check(JsonNode expected, PyValue value, String path) throws IOException {
        switch (expected.get("type").asText()) {
            case "numpy.dtype" ->
                assertThat(dtype(value)).isEqualTo(expected.get("value").asText());
            case "numpy.scalar" -> {
                assertThat(dtype(ExpectedTree.arg(value, 0)))
                        .isEqualTo(expected.get("dtype").asText());
                byte[] bytes = PythonText.bytes(ExpectedTree.arg(value, 1)).orElseThrow();
                assertThat(HexFormat.of().formatHex(bytes))
                        .isEqualTo(expected.get("hex").asText());
            }
            default -> array(expected, (PyObject) value, path);
        }
    }

    private void array(JsonNode expected, PyObject array, String path) throws IOException {
        List<PyValue> state = array.isCallOf("numpy._core.numeric", "_frombuffer")
                ? fromBuffer(((PyTuple) array.args()).items())
                : ((PyTuple) array.state().orElseThrow()).items();
        assertThat(((PyTuple) state.get(1)).items().toString())
                .as(path)
                .isEqualTo(expected.get("shape").toString().replace(",", ", "));
        assertThat(dtype(state.get(2)).replace('>', '<'))
                .as(path)
                .isEqualTo(expected.get("dtype").asText());
        if (expected.has("items")) {
            List<PyValue> elements = ((PyList) state.get(4)).items();
            for (int i = 0; i < elements.size(); i++) {
                items.check(expected.get("items").get(i), elements.get(i), path + "[" + i + "]");
            }
            return;
        }
        byte[] bytes = PythonText.bytes(state.get(4)).orElseThrow();
        if (dtype(state.get(2)).startsWith(">")) {
            // NumPy brings arrays to the machine's byte order as it loads them.
            reverse(bytes, dtype(state.get(2)).charAt(2) - '0');
        }
        boolean fortran = state.get(3).equals(PyBool.TRUE);
        if (!fortran) {
            assertThat(ExpectedTree.sha256(bytes))
                    .as(path)
                    .isEqualTo(expected.get("c_order_bytes_sha256").asText());
        }
        assertThat(fortran).as(path).isEqualTo(expected.get("fortran_order").asBoolean());
    }

    /** The arguments of protocol 5 in the order of the usual state. */
    private static List<PyValue> fromBuffer(List<PyValue> args) {
        return List.of(
                args.get(0), args.get(2), args.get(1), PyBool.of(args.get(3).equals(new PyStr("F"))), args.get(0));
    }

    private static void reverse(byte[] bytes, int unit) {
        for (int i = 0; i < bytes.length; i += unit) {
            for (int k = 0; k < unit / 2; k++) {
                byte kept = bytes[i + k];
                bytes[i + k] = bytes[i + unit - 1 - k];
                bytes[i + unit - 1 - k] = kept;
            }
        }
    }

    /** {@code <f8}: the byte order from the state, the code from the call. */
    private static String dtype(PyValue value) {
        List<PyValue> state = ((PyTuple) ((PyObject) value).state().orElseThrow()).items();
        String code = PythonText.str(ExpectedTree.arg(value, 0));
        String order = PythonText.str(state.get(1));
        assertThat(state.get(4) instanceof PyDict).isEqualTo(code.startsWith("V"));
        return (order.equals("=") ? "<" : order)
                + switch (code.charAt(0)) {
                    case 'O' -> "O";
                    case 'M', 'm' -> code.substring(0, 1) + "8[" + unit(state.get(8)) + "]";
                    default -> code;
                };
    }

    /** The unit of a time: {@code (dict, (unit, 1, 1, 1))}. */
    private static String unit(PyValue metadata) {
        PyTuple unit = (PyTuple) ((PyTuple) metadata).items().get(1);
        return new String(PythonText.bytes(unit.items().get(0)).orElseThrow(), StandardCharsets.US_ASCII);
    }
}
