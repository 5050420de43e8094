package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyBytes;
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
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.PlainValues;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.zip.CRC32C;

/**
 * The state of a checkpoint as a flat list: one line for each value that holds no others.
 *
 * <p>Paths join dict keys and fields of objects by dots and put indices in brackets. An object met before is shown as a
 * reference to its first place, so shared and cyclic graphs end.
 */
public final class StateTree {
    /** A tree larger than this is cut: nobody reads it, and a small pickle can describe a huge one. */
    private static final int MOST_LEAVES = 1_000_000;

    /** Where Megatron keeps the weights, one entry for each virtual stage: they are compared as tensors. */
    private static final Pattern MODEL = Pattern.compile("model\\d*");

    private final Map<PyValue, StoredTensor> tensors;
    private final boolean digests;
    private final Set<PyValue> skipped;
    private final IdentityHashMap<PyValue, String> places = new IdentityHashMap<>();
    private final Deque<Node> open = new ArrayDeque<>();
    private final List<Leaf> leaves = new ArrayList<>();

    /**
     * A value that holds no others.
     *
     * @param path where it is
     * @param text what it is, on one line
     */
    public record Leaf(String path, String text) {}

    private record Node(String path, PyValue value) {}

    private StateTree(Map<PyValue, StoredTensor> tensors, boolean digests, Set<PyValue> skipped) {
        this.tensors = tensors;
        this.digests = digests;
        this.skipped = skipped;
    }

    /** All values; tensors are described by type and shape. */
    public static List<Leaf> outline(ModelState state) throws IOException {
        return new StateTree(state.tensors(), false, Set.of()).flatten(roots(state));
    }

    /** All values; tensors are described by type, shape and the beginning of their SHA-256. */
    public static List<Leaf> withDigests(ModelState state) throws IOException {
        return new StateTree(state.tensors(), true, Set.of()).flatten(roots(state));
    }

    /** As {@link #withDigests(ModelState)}, of opaque module states under their names. */
    public static List<Leaf> withDigests(List<ExtraState> states) throws IOException {
        Map<PyValue, StoredTensor> tensors = new IdentityHashMap<>();
        List<Node> roots = new ArrayList<>();
        for (ExtraState state : states) {
            state.tensor().ifPresent(tensor -> tensors.put(state.value(), tensor));
            roots.add(new Node(state.name(), state.value()));
        }
        return new StateTree(tensors, true, Set.of()).flatten(roots);
    }

    /**
     * What files of named tensors, and objects beside tensors, hold besides those of the model; other tensors are described as
     * by {@link #outline}.
     */
    public static List<Leaf> outlineOfValues(List<PlainValues.Source> sources) throws IOException {
        return ofValues(sources, false);
    }

    /** As {@link #outlineOfValues}; other tensors are described as by {@link #withDigests(ModelState)}. */
    public static List<Leaf> digestsOfValues(List<PlainValues.Source> sources) throws IOException {
        return ofValues(sources, true);
    }

    private static List<Leaf> ofValues(List<PlainValues.Source> sources, boolean digests) throws IOException {
        List<Leaf> leaves = new ArrayList<>();
        for (PlainValues.Source source : sources) {
            PlainValues values = source.find();
            StateTree tree = new StateTree(values.held(), digests, values.tensors());
            leaves.addAll(tree.flatten(List.of(new Node(values.path(), values.root()))));
        }
        return leaves;
    }

    private static List<Node> roots(ModelState state) {
        List<Node> roots = new ArrayList<>();
        for (Map.Entry<String, PyValue> entry : state.entries().entrySet()) {
            if (!MODEL.matcher(entry.getKey()).matches()) {
                roots.add(new Node(entry.getKey(), entry.getValue()));
            }
        }
        return roots;
    }

    private List<Leaf> flatten(List<Node> roots) throws IOException {
        push(roots);
        while (!open.isEmpty() && leaves.size() < MOST_LEAVES) {
            visit(open.pop());
        }
        return leaves;
    }

    private void push(List<Node> nodes) {
        for (int i = nodes.size() - 1; i >= 0; i--) {
            open.push(nodes.get(i));
        }
    }

    private void visit(Node node) throws IOException {
        if (skipped.contains(node.value())) {
            return;
        }
        StoredTensor tensor = tensors.get(node.value());
        if (tensor != null) {
            leaf(node, describe(node.path(), tensor));
            return;
        }
        List<Node> children = children(node);
        if (children.isEmpty()) {
            leaf(node, text(node.value()));
            return;
        }
        String earlier = places.putIfAbsent(node.value(), node.path());
        if (earlier != null) {
            leaf(node, "as " + earlier);
        } else {
            push(children);
        }
    }

    private void leaf(Node node, String text) {
        leaves.add(new Leaf(node.path(), text));
    }

    private String describe(String path, StoredTensor tensor) throws IOException {
        String text = "tensor " + tensor.dtype().shortName() + " " + tensor.shape();
        if (!digests) {
            return text;
        }
        TensorDigest digest = TensorDigest.of(TensorReading.of(path, tensor), BlockReader.ofThisThread());
        return text + " sha256 " + digest.sha256Hex().substring(0, 16);
    }

    private static List<Node> children(Node node) {
        List<Node> children = new ArrayList<>();
        if (node.value() instanceof PyDict dict) {
            entries(node.path(), dict.entries(), children);
        } else if (node.value() instanceof PyList list) {
            items(node.path(), list.items(), children);
        } else if (node.value() instanceof PyTuple tuple) {
            items(node.path(), tuple.items(), children);
        } else if (node.value() instanceof PySet set) {
            items(node.path(), set.items(), children);
        } else if (node.value() instanceof PyObject object) {
            entries(node.path(), object.entries(), children);
            for (PyObject.Step step : object.steps()) {
                if (step instanceof PyObject.Appends appends) {
                    items(node.path(), appends.values(), children);
                } else if (step instanceof PyObject.Adds adds) {
                    items(node.path(), adds.values(), children);
                } else if (step instanceof PyObject.State given && given.value() instanceof PyDict fields) {
                    entries(node.path(), fields.entries(), children);
                } else if (step instanceof PyObject.State given) {
                    children.add(new Node(node.path() + ".@state", given.value()));
                }
            }
            if (children.isEmpty()
                    && object.args() instanceof PyTuple args
                    && (args.items().size() > 1
                            || args.items().size() == 1
                                    && !isScalar(args.items().get(0)))
                    && bytes(object).isEmpty()) {
                items(node.path(), args.items(), children);
            }
        }
        return children;
    }

    private static void entries(String path, List<PyEntry> entries, List<Node> into) {
        for (PyEntry entry : entries) {
            String key = entry.key() instanceof PyStr text ? text.value() : "<" + text(entry.key()) + ">";
            into.add(new Node(path.isEmpty() ? key : path + "." + key, entry.value()));
        }
    }

    private static void items(String path, List<PyValue> items, List<Node> into) {
        for (int i = 0; i < items.size(); i++) {
            into.add(new Node(path + "[" + i + "]", items.get(i)));
        }
    }

    private static boolean isScalar(PyValue value) {
        return value instanceof PyInt || value instanceof PyStr || value instanceof PyBool;
    }

    /** Bytes, also in the form of old protocols, which write them as text and name its encoding. */
    private static Optional<byte[]> bytes(PyValue value) {
        if (value instanceof PyBytes bytes) {
            return Optional.of(bytes.bytes());
        }
        return value instanceof PyObject object
                        && object.callable() instanceof PyGlobal function
                        && function.module().equals("_codecs")
                        && object.args() instanceof PyTuple args
                        && !args.items().isEmpty()
                        && args.items().get(0) instanceof PyStr text
                ? Optional.of(text.value()
                        .getBytes(
                                args.items().get(args.items().size() - 1) instanceof PyStr name
                                                && name.value().equals("latin1")
                                        ? StandardCharsets.ISO_8859_1
                                        : StandardCharsets.UTF_8))
                : Optional.empty();
    }

    /** A value that holds no others, as Python would print it. */
    private static String text(PyValue value) {
        if (value instanceof PyNone) {
            return "None";
        }
        if (value instanceof PyBool bool) {
            return bool.value() ? "True" : "False";
        }
        if (value instanceof PyInt number) {
            return number.toString();
        }
        if (value instanceof PyFloat number) {
            return Double.toString(number.value());
        }
        if (value instanceof PyStr text) {
            return "'" + text.value() + "'";
        }
        Optional<byte[]> bytes = bytes(value);
        if (bytes.isPresent()) {
            CRC32C sum = new CRC32C();
            sum.update(bytes.get());
            return "%d bytes, CRC-32C %08x".formatted(bytes.get().length, sum.getValue());
        }
        if (value instanceof PyObject object
                && object.args() instanceof PyTuple args
                && !args.items().isEmpty()) {
            PyValue only = args.items().get(0);
            return value.describe() + (isScalar(only) ? "(" + text(only) + ")" : "");
        }
        return value instanceof PyDict ? "{}" : value instanceof PyList ? "[]" : value.describe();
    }
}
