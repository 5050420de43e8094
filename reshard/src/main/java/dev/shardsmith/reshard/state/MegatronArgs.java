package dev.shardsmith.reshard.state;

import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/**
 * The {@code argparse.Namespace} that Megatron saves: hundreds of options, read by name, rewritten field by field.
 *
 * <p>What is not rewritten is kept as the very nodes that were read: enums, data types, paths, classes nobody knows.
 */
public final class MegatronArgs {
    private final PyObject namespace;
    private final PyDict fields;

    private MegatronArgs(PyObject namespace, PyDict fields) {
        this.namespace = namespace;
        this.fields = fields;
    }

    /** The options in a node, if it is a Namespace or another object with a dict of fields. */
    public static Optional<MegatronArgs> of(PyValue node) {
        return node instanceof PyObject object
                        && object.state().isPresent()
                        && object.state().get() instanceof PyDict dict
                ? Optional.of(new MegatronArgs(object, dict))
                : Optional.empty();
    }

    /** A Namespace of the given fields, as Megatron would save it. */
    public static MegatronArgs create(Map<String, PyValue> fields) {
        PyDict dict = new PyDict();
        fields.forEach(dict::put);
        PyObject namespace =
                new PyObject(PyObject.Kind.NEWOBJ, new PyGlobal("argparse", "Namespace"), new PyTuple(List.of()));
        namespace.steps().add(new PyObject.State(dict));
        return new MegatronArgs(namespace, dict);
    }

    /** The node of the whole Namespace. */
    public PyValue node() {
        return namespace;
    }

    /** The names of all fields, in order. */
    public List<String> names() {
        return fields.entries().stream()
                .map(PyEntry::key)
                .filter(PyStr.class::isInstance)
                .map(key -> ((PyStr) key).value())
                .toList();
    }

    /** True if there is such a field, None or not. */
    public boolean has(String name) {
        return fields.get(name).isPresent();
    }

    /** The node of a field; empty if it is absent or None. */
    public Optional<PyValue> value(String name) {
        return fields.get(name).filter(value -> value != PyNone.NONE);
    }

    /** An int field; empty if it is absent, None or no int of 64 bits. */
    public OptionalLong integer(String name) {
        return value(name).orElse(PyNone.NONE) instanceof PyInt number ? number.asLong() : OptionalLong.empty();
    }

    /** An int field, or another value where it is absent. */
    public long integer(String name, long otherwise) {
        return integer(name).orElse(otherwise);
    }

    /** A float or int field. */
    public OptionalDouble real(String name) {
        PyValue value = value(name).orElse(PyNone.NONE);
        if (value instanceof PyFloat number) {
            return OptionalDouble.of(number.value());
        }
        return value instanceof PyInt number
                ? OptionalDouble.of(number.toBigInteger().doubleValue())
                : OptionalDouble.empty();
    }

    /** A string field; empty if it is absent, None or no string. */
    public Optional<String> text(String name) {
        return value(name).orElse(PyNone.NONE) instanceof PyStr str ? Optional.of(str.value()) : Optional.empty();
    }

    /** A boolean field, or another value where it is absent. */
    public boolean flag(String name, boolean otherwise) {
        return value(name).orElse(PyNone.NONE) instanceof PyBool bool ? bool.value() : otherwise;
    }

    /** Tensor-parallel size; the name of old releases is understood. */
    public int tensorParallel() {
        return size("tensor_model_parallel_size", integer("model_parallel_size", 1));
    }

    /** Pipeline-parallel size. */
    public int pipelineParallel() {
        return size("pipeline_model_parallel_size", 1);
    }

    /** Number of virtual stages of each pipeline rank; 1 without interleaving. */
    public int virtualPipeline() {
        return size("virtual_pipeline_model_parallel_size", 1);
    }

    /** Expert-parallel size. */
    public int expertParallel() {
        return size("expert_model_parallel_size", 1);
    }

    /** Expert-tensor-parallel size; by default that of dense layers. */
    public int expertTensorParallel() {
        return size("expert_tensor_parallel_size", tensorParallel());
    }

    /** The hybrid layer pattern under its new or its old name. */
    public Optional<String> pattern() {
        Optional<String> pattern = text("hybrid_layer_pattern");
        return pattern.isPresent() ? pattern : text("hybrid_override_pattern");
    }

    /** What norms add to the mean square; options had another name for it in older releases. */
    public double normEpsilon() {
        return real("norm_epsilon").orElse(real("layernorm_epsilon").orElse(1e-5));
    }

    /** True if embedding and output layer share their weight. */
    public boolean tiedEmbeddings() {
        return !flag("untie_embeddings_and_output_weights", false);
    }

    /** A copy with some fields changed; names that are not there yet are left out. */
    public MegatronArgs withChanged(Map<String, PyValue> changes) {
        return with(changes, false);
    }

    /** A copy with some fields changed or, where they are not there yet, added at the end. */
    public MegatronArgs withSet(Map<String, PyValue> changes) {
        return with(changes, true);
    }

    private MegatronArgs with(Map<String, PyValue> changes, boolean add) {
        Map<String, PyValue> open = new LinkedHashMap<>(changes);
        PyDict copy = new PyDict();
        for (PyEntry entry : fields.entries()) {
            PyValue changed = entry.key() instanceof PyStr key ? open.remove(key.value()) : null;
            copy.entries().add(changed == null ? entry : new PyEntry(entry.key(), changed));
        }
        if (add) {
            open.forEach(copy::put);
        }
        PyObject object = new PyObject(namespace.kind(), namespace.callable(), namespace.args(), namespace.kwargs());
        for (PyObject.Step step : namespace.steps()) {
            boolean state = step instanceof PyObject.State given && given.value() == fields;
            object.steps().add(state ? new PyObject.State(copy) : step);
        }
        return new MegatronArgs(object, copy);
    }

    /** A simple value as Python prints it, a list of strings with spaces between them; empty for any other. */
    public static Optional<String> shown(PyValue value) {
        if (value == PyNone.NONE) {
            return Optional.of("None");
        }
        if (value instanceof PyStr str) {
            return Optional.of(str.value());
        }
        if (value instanceof PyInt number) {
            return Optional.of(number.toString());
        }
        if (value instanceof PyBool bool) {
            return Optional.of(bool.value() ? "True" : "False");
        }
        if (value instanceof PyFloat number) {
            return Optional.of(Double.toString(number.value()));
        }
        if (value instanceof PyGlobal global) {
            return Optional.of(global.qualifiedName());
        }
        List<PyValue> items = value instanceof PyList list
                ? list.items()
                : value instanceof PyTuple tuple ? tuple.items() : List.of();
        List<String> texts = items.stream()
                .filter(PyStr.class::isInstance)
                .map(item -> ((PyStr) item).value())
                .toList();
        return texts.isEmpty() ? Optional.empty() : Optional.of(String.join(" ", texts));
    }

    private int size(String name, long otherwise) {
        return (int) Math.max(1, Math.min(Integer.MAX_VALUE, integer(name, otherwise)));
    }
}
