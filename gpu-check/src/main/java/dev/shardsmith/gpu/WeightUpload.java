package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.StoredElements;
import java.io.IOException;
import java.util.Optional;

/**
 * Brings stored weights to a card: their bytes go from the file into pinned memory and from there to the card, which widens
 * them to float32.
 */
final class WeightUpload {
    private final Gpu gpu;

    WeightUpload(Gpu gpu) {
        this.gpu = gpu;
    }

    /** The array, or nothing if the card cannot widen the type or has no room; nothing was read then. */
    Optional<DeviceArray> of(StoredElements weight) throws IOException {
        Optional<DType> dtype = weight.plain();
        if (dtype.equals(Optional.of(DType.F32))) {
            return whole(weight);
        } else if (dtype.equals(Optional.of(DType.BF16))) {
            return widened(weight, "to_float32");
        } else if (dtype.equals(Optional.of(DType.F16))) {
            return widened(weight, "half_to_float32");
        }
        return Optional.empty();
    }

    private Optional<DeviceArray> whole(StoredElements weight) throws IOException {
        Optional<GpuArray> array = gpu.memory().tryFloats(weight.elements());
        if (array.isPresent()) {
            fill(weight, Float.BYTES, array.get());
        }
        return array.map(DeviceArray.class::cast);
    }

    private Optional<DeviceArray> widened(StoredElements weight, String kernel) throws IOException {
        Optional<GpuArray> stored = gpu.memory().tryArray(weight.elements(), Short.BYTES);
        if (stored.isEmpty()) {
            return Optional.empty();
        }
        try (GpuArray bytes = stored.get()) {
            Optional<GpuArray> array = gpu.memory().tryFloats(weight.elements());
            if (array.isPresent()) {
                fill(weight, Short.BYTES, bytes);
                new LayerKernels(gpu).convert(kernel, bytes, array.get());
            }
            return array.map(DeviceArray.class::cast);
        }
    }

    private void fill(StoredElements weight, int width, GpuArray array) throws IOException {
        try {
            gpu.<IOException>beside(own -> own.in(weight, width, array));
        } catch (IOException | RuntimeException e) {
            array.close();
            throw e;
        }
    }

    /** How many elements there is room for beside what a layer needs: of an eighth of what is free. */
    long room() throws CheckpointException {
        return gpu.memory().available() / 8 / Float.BYTES;
    }
}
