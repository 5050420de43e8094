package dev.shardsmith.formats.safetensors;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import java.util.Optional;

/** One tensor of a safetensors file, as its header declares it. */
public final class SafetensorsEntry {
    private final SafetensorsFile file;
    private final SafetensorsHeader.Declaration declared;
    private final Optional<DType> dtype;

    SafetensorsEntry(SafetensorsFile file, SafetensorsHeader.Declaration declared) {
        this.file = file;
        this.declared = declared;
        this.dtype = representable(declared);
    }

    /** The tensor's name. */
    public String name() {
        return declared.name();
    }

    /** The type code as written in the header. */
    public String code() {
        return declared.code();
    }

    /** The element type; empty for a code, or an odd F4 shape, that cannot be represented. */
    public Optional<DType> dtype() {
        return dtype;
    }

    /** Sizes in elements of {@link #dtype}: the last one of an F4 tensor is half of what the header says. */
    public Shape shape() {
        return dtype.isPresent() && dtype.get() == DType.F4_E2M1FN_X2 ? halved(declared.shape()) : declared.shape();
    }

    /** Bytes of data. */
    public long bytes() {
        return declared.end() - declared.begin();
    }

    /**
     * The tensor's place in the file.
     *
     * @throws CheckpointException of kind UNSUPPORTED if the element type is not known
     */
    public StoredTensor tensor() throws CheckpointException {
        if (dtype.isEmpty()) {
            String what = DType.ofSafetensorsName(code()).isPresent()
                    ? "has shape " + declared.shape() + ", whose last dimension does not fill whole bytes of type "
                    : "has the unknown element type ";
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            file.source().name() + ", tensor " + name(),
                            "tensor " + name() + " " + what + code())
                    .withHint("leave the tensor out, or use a release that knows " + code());
        }
        return StoredTensor.contiguous(
                name(), dtype.get(), shape(), file.source(), file.dataOffset() + declared.begin());
    }

    @Override
    public String toString() {
        return name() + " " + code() + " " + declared.shape();
    }

    private static Optional<DType> representable(SafetensorsHeader.Declaration declared) {
        Shape shape = declared.shape();
        return DType.ofSafetensorsName(declared.code())
                .filter(dtype ->
                        dtype != DType.F4_E2M1FN_X2 || (shape.rank() > 0 && shape.size(shape.rank() - 1) % 2 == 0));
    }

    private static Shape halved(Shape shape) {
        int last = shape.rank() - 1;
        return shape.with(last, shape.size(last) / 2);
    }
}
