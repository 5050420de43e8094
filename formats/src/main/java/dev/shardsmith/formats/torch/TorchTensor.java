package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;

/**
 * A tensor as a file describes it.
 *
 * @param kind how its values are kept
 * @param type its class: {@code torch.Tensor}, {@code torch.nn.parameter.Parameter}, or that of a subclass
 * @param parameter true if it is a parameter, or a subclass of one
 * @param dtype element type; empty where the file does not say or it is none that is known
 * @param shape sizes, outermost dimension first
 * @param strides one per dimension, in elements; empty for kinds without
 * @param storageOffset position of the first element in the storage, in elements
 * @param storage the storage that it looks at, for strided and quantized tensors
 * @param data its elements, where they can be read one by one
 * @param requiresGrad whether PyTorch would record operations on it
 * @param device where it lived when it was saved
 * @param quantization how integers stand for numbers, for quantized tensors
 * @param coalesced whether a sparse tensor's coordinates are unique and sorted, if it says so
 * @param parts the tensors it is made of, by name, for sparse, nested and foreign kinds
 * @param attributes Python attributes set on it
 */
public record TorchTensor(
        TensorKind kind,
        String type,
        boolean parameter,
        Optional<DType> dtype,
        Shape shape,
        long[] strides,
        long storageOffset,
        Optional<TorchStorage> storage,
        Optional<StoredTensor> data,
        boolean requiresGrad,
        String device,
        Optional<Quantization> quantization,
        Optional<Boolean> coalesced,
        List<Part> parts,
        List<PyEntry> attributes) {

    static final String TENSOR = "torch.Tensor";
    static final String PARAMETER = "torch.nn.parameter.Parameter";

    /** One of the tensors that a tensor is made of. */
    public record Part(String name, PyValue node) {}

    /** A plain tensor of a kind, without storage, parts or attributes. */
    static TorchTensor of(TensorKind kind, Optional<DType> dtype, Shape shape, long[] strides, String device) {
        return new TorchTensor(
                kind,
                TENSOR,
                false,
                dtype,
                shape,
                strides,
                0,
                Optional.empty(),
                Optional.empty(),
                false,
                device,
                Optional.empty(),
                Optional.empty(),
                List.of(),
                List.of());
    }

    /** A plain tensor that looks at a storage. */
    static TorchTensor strided(
            Optional<DType> dtype,
            Shape shape,
            long[] strides,
            TorchStorage where,
            long offset,
            Optional<StoredTensor> elements) {
        return new TorchTensor(
                TensorKind.STRIDED,
                TENSOR,
                false,
                dtype,
                shape,
                strides,
                offset,
                Optional.of(where),
                elements,
                false,
                where.location(),
                Optional.empty(),
                Optional.empty(),
                List.of(),
                List.of());
    }

    TorchTensor in(TorchStorage where, long offset, Optional<StoredTensor> elements) {
        return with(draft -> {
            draft.storage = Optional.of(where);
            draft.storageOffset = offset;
            draft.data = elements;
            draft.device = where.location();
        });
    }

    TorchTensor withRequiresGrad(boolean required) {
        return with(draft -> draft.requiresGrad = required);
    }

    TorchTensor withType(String name, boolean isParameter) {
        return with(draft -> {
            draft.type = name;
            draft.parameter = isParameter;
        });
    }

    TorchTensor withQuantization(Quantization how) {
        return with(draft -> {
            draft.kind = TensorKind.QUANTIZED;
            draft.quantization = Optional.of(how);
        });
    }

    TorchTensor withParts(List<Part> madeOf, Optional<Boolean> isCoalesced) {
        return with(draft -> {
            draft.parts = List.copyOf(madeOf);
            draft.coalesced = isCoalesced;
        });
    }

    TorchTensor withAttributes(List<PyEntry> set) {
        return with(draft -> draft.attributes = List.copyOf(set));
    }

    TorchTensor onDevice(String name) {
        return with(draft -> draft.device = name);
    }

    private TorchTensor with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.tensor();
    }

    /** A tensor as it is being changed. */
    private static final class Draft {
        private TensorKind kind;
        private String type;
        private boolean parameter;
        private Optional<DType> dtype;
        private Shape shape;
        private long[] strides;
        private long storageOffset;
        private Optional<TorchStorage> storage;
        private Optional<StoredTensor> data;
        private boolean requiresGrad;
        private String device;
        private Optional<Quantization> quantization;
        private Optional<Boolean> coalesced;
        private List<Part> parts;
        private List<PyEntry> attributes;

        Draft(TorchTensor of) {
            kind = of.kind;
            type = of.type;
            parameter = of.parameter;
            dtype = of.dtype;
            shape = of.shape;
            strides = of.strides;
            storageOffset = of.storageOffset;
            storage = of.storage;
            data = of.data;
            requiresGrad = of.requiresGrad;
            device = of.device;
            quantization = of.quantization;
            coalesced = of.coalesced;
            parts = of.parts;
            attributes = of.attributes;
        }

        TorchTensor tensor() {
            return new TorchTensor(
                    kind,
                    type,
                    parameter,
                    dtype,
                    shape,
                    strides,
                    storageOffset,
                    storage,
                    data,
                    requiresGrad,
                    device,
                    quantization,
                    coalesced,
                    parts,
                    attributes);
        }
    }
}
