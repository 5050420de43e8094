package dev.shardsmith.verify.forward;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import java.io.IOException;
import java.util.Optional;
import java.util.Set;

/**
 * A weight as a file holds it.
 *
 * @param name for error messages
 * @param tensor where its elements lie; any strides
 */
public record StoredWeight(String name, StoredTensor tensor) implements WeightSource {
    /** Checks that the elements fit an array. */
    public StoredWeight {
        Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public int elements() {
        return Math.toIntExact(tensor.shape().elements());
    }

    @Override
    public Set<DType> types() {
        return Set.of(tensor.dtype());
    }

    @Override
    public Optional<StoredElements> stored() {
        return StoredElements.of(name, tensor);
    }

    @Override
    public float[] load() throws IOException {
        Optional<StoredElements> runs = stored();
        if (runs.isPresent()) {
            return runs.get().load();
        }
        float[] values = new float[elements()];
        rows(tensor, new ElementReader(), values, 0);
        return values;
    }

    /** As deep as the tensor has dimensions; returns where the next element goes. */
    private int rows(StoredTensor view, ElementReader reader, float[] values, int at) throws IOException {
        if (view.isRowMajor()) {
            long count = view.shape().elements();
            reader.read(name, view, view.offset(), count, values, at, (from, to, bytes) -> {});
            return at + Math.toIntExact(view.shape().elements());
        }
        int next = at;
        for (long i = 0; i < view.shape().size(0); i++) {
            next = rows(view.select(0, i), reader, values, next);
        }
        return next;
    }
}
