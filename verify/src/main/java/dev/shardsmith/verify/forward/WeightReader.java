package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.Optional;

/** How a pass gets at the weights of its layer. */
public interface WeightReader {

    /** All elements of a weight; nobody changes the array that is returned. */
    float[] load(WeightSource source) throws IOException;

    /** A weight on the device, which the caller closes. */
    DeviceArray upload(WeightSource source) throws IOException;

    /** A weight that is on the device already and stays there until its layer is done; the reader closes it. */
    Optional<DeviceArray> kept(WeightSource source) throws IOException;

    /** Reads when it is asked, and nothing before. */
    static WeightReader direct(ForwardBackend backend) {
        return new WeightReader() {
            @Override
            public float[] load(WeightSource source) throws IOException {
                return source.load();
            }

            @Override
            public DeviceArray upload(WeightSource source) throws IOException {
                Optional<StoredElements> stored = source.stored();
                Optional<DeviceArray> copied = stored.isPresent() ? backend.upload(stored.get()) : Optional.empty();
                return copied.isPresent() ? copied.get() : backend.upload(source.load());
            }

            @Override
            public Optional<DeviceArray> kept(WeightSource source) {
                return Optional.empty();
            }
        };
    }
}
