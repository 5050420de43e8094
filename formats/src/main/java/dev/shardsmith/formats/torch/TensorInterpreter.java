package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;
import java.io.IOException;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Understands the calls by which PyTorch rebuilds tensors.
 *
 * <p>Each function's arguments are those of PyTorch's source. What is no such call is no tensor and stays as it is.
 */
final class TensorInterpreter {
    /** Parameters of subclasses of tensors of tensors: more is no file of PyTorch. */
    private static final int DEEPEST = 16;

    private static final String UTILS = "torch._utils";
    private static final String META = "meta";

    private final String source;
    private final StorageInterpreter storages;
    private final Map<PyObject, Optional<TorchTensor>> known = new IdentityHashMap<>();
    private int depth;

    TensorInterpreter(ByteSource source, StorageInterpreter storages) {
        this.source = source.name();
        this.storages = storages;
    }

    /** The tensor that a node rebuilds, if it is one. */
    Optional<TorchTensor> of(PyValue node) throws IOException {
        if (!(node instanceof PyObject object)
                || !(object.callable() instanceof PyGlobal callable)
                || !callable.module().startsWith("torch")) {
            return Optional.empty();
        }
        Optional<TorchTensor> seen = known.get(object);
        if (seen != null) {
            return seen;
        }
        Optional<TorchTensor> tensor = call(callable, object.args());
        if (tensor.isPresent() && object.state().isPresent()) {
            tensor = Optional.of(withState(tensor.get(), object));
        }
        known.put(object, tensor);
        return tensor;
    }

    /** The storage that a node names, if it does. */
    Optional<TorchStorage> storage(PyValue node) throws IOException {
        return storages.of(node);
    }

    private TorchTensor inner(CallArguments args, int index) throws IOException {
        return of(args.get(index)).orElseThrow(() -> args.malformed("does not have a tensor as argument " + index));
    }

    private Optional<TorchTensor> call(PyGlobal callable, PyValue arguments) throws IOException {
        if (depth >= DEEPEST) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source,
                    "tensors lie inside tensors more than " + DEEPEST + " deep");
        }
        CallArguments args = new CallArguments(source, callable, arguments);
        depth++;
        try {
            return switch (callable.module()) {
                case UTILS -> utils(callable.name(), args);
                case "torch._tensor", "torch.tensor" -> fromType(callable.name(), args);
                case "torch.nn.parameter" -> uninitialized(callable.name());
                default -> Optional.empty();
            };
        } finally {
            depth--;
        }
    }

    private Optional<TorchTensor> utils(String name, CallArguments args) throws IOException {
        return switch (name) {
            case "_rebuild_tensor" -> Optional.of(strided(args, Optional.empty()));
            case "_rebuild_tensor_v2" ->
                Optional.of(flags(strided(args, Optional.empty()), args, 6).withRequiresGrad(args.truth(4)));
            case "_rebuild_tensor_v3" ->
                Optional.of(
                        flags(strided(args, Optional.of(args.get(6))), args, 7).withRequiresGrad(args.truth(4)));
            case "_rebuild_parameter" -> Optional.of(parameter(args));
            case "_rebuild_parameter_with_state" ->
                Optional.of(parameter(args).withAttributes(attributes(args.get(3))));
            case "_rebuild_qtensor" -> Optional.of(quantized(args));
            case "_rebuild_sparse_tensor", "_rebuild_sparse_csr_tensor" -> Optional.of(sparse(args));
            case "_rebuild_nested_tensor" -> Optional.of(nested(args));
            case "_rebuild_meta_tensor_no_storage" ->
                Optional.of(shell(TensorKind.META, args.dtype(0), args, 1)
                        .onDevice(META)
                        .withRequiresGrad(args.truth(3)));
            case "_rebuild_wrapper_subclass" -> Optional.of(wrapper(args));
            case "_rebuild_device_tensor_from_cpu_tensor" ->
                Optional.of(inner(args, 0).onDevice(args.text(2)).withRequiresGrad(args.truth(3)));
            case "_rebuild_device_tensor_from_numpy", "_rebuild_xla_tensor", "_rebuild_mlc_tensor" ->
                Optional.of(TorchTensor.of(TensorKind.FOREIGN, args.dtype(1), Shape.SCALAR, new long[0], args.text(2))
                        .withRequiresGrad(args.truth(3)));
            default -> Optional.empty();
        };
    }

    /** {@code (func, type, args, state)}: what func makes of args, as another class, with attributes. */
    private Optional<TorchTensor> fromType(String name, CallArguments args) throws IOException {
        if (!name.equals("_rebuild_from_type_v2") && !name.equals("_rebuild_from_type")) {
            return Optional.empty();
        }
        if (!(args.get(2) instanceof PyTuple arguments)) {
            throw args.malformed("does not have a tuple as its third argument");
        }
        if (!(args.get(0) instanceof PyGlobal function)) {
            // A function inside a class: none of PyTorch's own.
            return Optional.empty();
        }
        Optional<TorchTensor> made = call(function, arguments);
        if (made.isEmpty()) {
            return made;
        }
        String type = args.className(1);
        boolean parameter = made.get().parameter() || type.equals(TorchTensor.PARAMETER);
        return Optional.of(made.get().withType(type, parameter).withAttributes(attributes(args.get(3))));
    }

    private Optional<TorchTensor> uninitialized(String name) {
        boolean parameter = name.equals("UninitializedParameter");
        return parameter || name.equals("UninitializedBuffer")
                ? Optional.of(
                        TorchTensor.of(TensorKind.UNINITIALIZED, Optional.empty(), Shape.SCALAR, new long[0], "cpu")
                                .withType("torch.nn.parameter." + name, parameter))
                : Optional.empty();
    }

    private TorchTensor parameter(CallArguments args) throws IOException {
        TorchTensor tensor = inner(args, 0).withRequiresGrad(args.truth(1));
        return tensor.withType(tensor.type().equals(TorchTensor.TENSOR) ? TorchTensor.PARAMETER : tensor.type(), true);
    }

    /** {@code (storage, offset, size, stride, …)} */
    private TorchTensor strided(CallArguments args, Optional<PyValue> explicitType) throws IOException {
        Optional<TorchStorage> named = storages.of(args.get(0));
        if (named.isEmpty()) {
            throw args.malformed("does not have a storage as its first argument");
        }
        TorchStorage storage = named.get();
        Optional<DType> dtype = explicitType.isPresent() ? args.dtype(6) : storage.elementType();
        long offset = args.integer(1);
        Shape shape = args.shape(2);
        long[] strides = args.sizes(3);
        if (strides.length != shape.rank()) {
            throw args.malformed("has " + shape.rank() + " sizes, but " + strides.length + " strides");
        }
        if (offset < 0) {
            throw args.malformed("begins at element " + offset + " of its storage");
        }
        Optional<StoredTensor> elements = elements(args, dtype, shape, strides, offset, storage);
        return TorchTensor.strided(dtype, shape, strides, storage, offset, elements);
    }

    private Optional<StoredTensor> elements(
            CallArguments args, Optional<DType> dtype, Shape shape, long[] strides, long offset, TorchStorage storage)
            throws IOException {
        if (dtype.isEmpty()) {
            return Optional.empty();
        }
        DType type = dtype.get();
        long bit;
        try {
            bit = Math.multiplyExact(offset, (long) type.bits());
        } catch (ArithmeticException e) {
            throw (CheckpointException)
                    args.malformed("begins beyond 2^63 bits").causedBy(e);
        }
        if (storage.location().equals(META) && storage.bytes() == 0) {
            return Optional.empty();
        }
        // The source's name tells which storage it is.
        StoredTensor view = StoredTensor.checked("", type, shape, strides, storage.data(), bit / 8, storage.order());
        // Elements below a byte that begin inside one cannot be addressed.
        return bit % 8 == 0 ? Optional.of(view) : Optional.empty();
    }

    private static TorchTensor flags(TorchTensor tensor, CallArguments args, int metadata) {
        boolean conjugate = args.flag(metadata, "conj");
        boolean negative = args.flag(metadata, "neg");
        return conjugate || negative
                ? tensor.in(
                        tensor.storage().orElseThrow(),
                        tensor.storageOffset(),
                        tensor.data().map(data -> data.withFlags(conjugate, negative)))
                : tensor;
    }

    /** {@code (storage, offset, size, stride, qparams, requires_grad, hooks)} */
    private TorchTensor quantized(CallArguments args) throws IOException {
        TorchTensor tensor = strided(args, Optional.empty());
        if (!(args.get(4) instanceof PyTuple parameters)
                || parameters.items().size() < 3
                || !(parameters.items().get(0) instanceof PyGlobal scheme)) {
            throw args.malformed("does not say how it is quantized");
        }
        CallArguments given = new CallArguments(source, scheme, parameters);
        Quantization how = switch (scheme.name()) {
            case "per_tensor_affine", "per_tensor_symmetric" ->
                new Quantization.PerTensor(scheme.name(), given.real(1), given.integer(2));
            case "per_channel_affine", "per_channel_symmetric", "per_channel_affine_float_qparams" ->
                perChannel(scheme.name(), given, tensor.shape());
            default -> throw args.malformed("is quantized by the unknown scheme " + scheme.name());
        };
        return tensor.withQuantization(how).withRequiresGrad(args.truth(5));
    }

    private Quantization perChannel(String scheme, CallArguments given, Shape shape) throws IOException {
        long axis = given.integer(3);
        if (axis < 0 || axis >= shape.rank()) {
            throw given.malformed("has axis " + axis + " for a tensor of shape " + shape);
        }
        for (int i = 1; i <= 2; i++) {
            Optional<TorchTensor> channels = of(given.get(i));
            if (channels.isPresent() && channels.get().shape().elements() != shape.size((int) axis)) {
                throw given.malformed("has " + channels.get().shape().elements() + " scales or zero points for "
                        + shape.size((int) axis) + " channels");
            }
        }
        return new Quantization.PerChannel(scheme, given.get(1), given.get(2), (int) axis);
    }

    /** {@code (layout, (indices…, values, size[, coalesced]))} */
    private TorchTensor sparse(CallArguments args) throws IOException {
        PyValue layout = args.get(0);
        String name = layout instanceof PyObject call
                        && call.args() instanceof PyTuple text
                        && !text.items().isEmpty()
                ? PythonText.string(text.items().get(0)).orElse("")
                : layout.describe();
        TensorKind kind = switch (name) {
            case "torch.sparse_coo" -> TensorKind.SPARSE_COO;
            case "torch.sparse_csr" -> TensorKind.SPARSE_CSR;
            case "torch.sparse_csc" -> TensorKind.SPARSE_CSC;
            case "torch.sparse_bsr" -> TensorKind.SPARSE_BSR;
            case "torch.sparse_bsc" -> TensorKind.SPARSE_BSC;
            default -> throw args.malformed("has the unknown layout " + name);
        };
        CallArguments data = new CallArguments(source, new PyGlobal(UTILS, "_rebuild_sparse_tensor"), args.get(1));
        List<TorchTensor.Part> parts = new ArrayList<>();
        Optional<Boolean> coalesced = Optional.empty();
        int size;
        if (kind == TensorKind.SPARSE_COO) {
            parts.add(new TorchTensor.Part("indices", data.get(0)));
            parts.add(new TorchTensor.Part("values", data.get(1)));
            size = 2;
            coalesced = data.optional(3).filter(PyBool.class::isInstance).map(flag -> ((PyBool) flag).value());
        } else {
            boolean byRow = kind == TensorKind.SPARSE_CSR || kind == TensorKind.SPARSE_BSR;
            parts.add(new TorchTensor.Part(byRow ? "crow_indices" : "ccol_indices", data.get(0)));
            parts.add(new TorchTensor.Part(byRow ? "col_indices" : "row_indices", data.get(1)));
            parts.add(new TorchTensor.Part("values", data.get(2)));
            size = 3;
        }
        TorchTensor values = inner(data, size - 1);
        for (int i = 0; i < size - 1; i++) {
            inner(data, i);
        }
        return TorchTensor.of(kind, values.dtype(), data.shape(size), new long[0], values.device())
                .withParts(parts, coalesced);
    }

    /** {@code (buffer, sizes, strides, storage_offsets)} */
    private TorchTensor nested(CallArguments args) throws IOException {
        TorchTensor buffer = inner(args, 0);
        List<TorchTensor.Part> parts = List.of(
                new TorchTensor.Part("buffer", args.get(0)),
                new TorchTensor.Part("sizes", args.get(1)),
                new TorchTensor.Part("strides", args.get(2)),
                new TorchTensor.Part("storage_offsets", args.get(3)));
        return TorchTensor.of(TensorKind.NESTED, buffer.dtype(), Shape.SCALAR, new long[0], buffer.device())
                .withParts(parts, Optional.empty());
    }

    /** {@code (cls, dtype, size, stride, [storage_offset,] layout, device, requires_grad)} */
    private TorchTensor wrapper(CallArguments args) throws IOException {
        return shell(TensorKind.SUBCLASS, args.dtype(1), args, 2).withType(args.className(0), false);
    }

    private TorchTensor shell(TensorKind kind, Optional<DType> dtype, CallArguments args, int size) throws IOException {
        Shape shape = args.shape(size);
        long[] strides = args.sizes(size + 1);
        if (strides.length != shape.rank()) {
            throw args.malformed("has " + shape.rank() + " sizes, but " + strides.length + " strides");
        }
        return TorchTensor.of(kind, dtype, shape, strides, "cpu");
    }

    /** Attributes given by a BUILD after the call, as older versions did. */
    private static TorchTensor withState(TorchTensor tensor, PyObject object) {
        return object.state()
                .map(state -> tensor.withAttributes(attributes(state)))
                .orElse(tensor);
    }

    /** Attributes are a dict, or a dict or None and a dict of slots. */
    private static List<PyEntry> attributes(PyValue state) {
        List<PyEntry> all = new ArrayList<>();
        List<PyValue> dicts = state instanceof PyTuple both ? both.items() : List.of(state);
        for (PyValue part : dicts) {
            if (part instanceof PyDict dict) {
                all.addAll(dict.entries());
            }
        }
        return all;
    }
}
