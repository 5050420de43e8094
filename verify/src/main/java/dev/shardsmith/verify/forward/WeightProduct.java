package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * What a weight makes of activations.
 *
 * @param values [tokens, rows of the weight]
 * @param largestRow the largest Euclidean norm of a row of the weight
 */
public record WeightProduct(DeviceArray values, double largestRow) {

    /**
     * Makes products; large weights are read in parts.
     *
     * @param backend what multiplies
     * @param weights how weights are read
     * @param tokens rows of the activations
     */
    record Maker(ForwardBackend backend, WeightReader weights, int tokens) {
        /** As many elements of a weight are in the heap at once that cannot be copied to a device as they are stored. */
        private static final long DECODED = 1 << 23;

        WeightProduct of(DeviceArray x, WeightSource weight, Optional<WeightSource> bias, int in, int out)
                throws IOException {
            Optional<DeviceArray> kept = weights.kept(weight);
            Optional<StoredElements> stored = kept.isPresent() ? Optional.empty() : weight.stored();
            if (stored.isPresent()) {
                Optional<WeightProduct> streamed = backend.product(x, stored.get(), bias, tokens, in, out);
                if (streamed.isPresent()) {
                    return streamed.get();
                }
            }
            int rows = (int) Math.max(1, Math.min(out, atOnce(weight) / in));
            if (kept.isPresent() || out <= rows) {
                DeviceArray whole = kept.isPresent() ? kept.get() : weights.upload(weight);
                try {
                    return of(x, whole, bias, in, out);
                } finally {
                    if (kept.isEmpty()) {
                        whole.close();
                    }
                }
            }
            return inParts(x, weight, bias, in, out, rows);
        }

        /** How many elements of a weight are on the device at a time; only stored ones can be read in parts. */
        private long atOnce(WeightSource weight) throws IOException {
            Optional<StoredElements> stored = weight.stored();
            if (stored.isEmpty()) {
                return Long.MAX_VALUE;
            }
            return stored.get().plain().isPresent()
                    ? backend.largestWeight()
                    : Math.min(backend.largestWeight(), DECODED);
        }

        private WeightProduct of(DeviceArray x, DeviceArray weight, Optional<WeightSource> bias, int in, int out)
                throws IOException {
            if (bias.isEmpty()) {
                return backend.product(x, weight, Optional.empty(), tokens, in, out);
            }
            Optional<DeviceArray> kept = weights.kept(bias.get());
            DeviceArray added = kept.isPresent() ? kept.get() : weights.upload(bias.get());
            try {
                return backend.product(x, weight, Optional.of(added), tokens, in, out);
            } finally {
                if (kept.isEmpty()) {
                    added.close();
                }
            }
        }

        /** So many rows of the weight at a time are on the device. */
        private WeightProduct inParts(
                DeviceArray x, WeightSource weight, Optional<WeightSource> bias, int in, int out, int rows)
                throws IOException {
            StoredElements stored = weight.stored().orElseThrow();
            List<DeviceArray> parts = new ArrayList<>();
            List<Integer> widths = new ArrayList<>();
            double largest = 0;
            try {
                for (int first = 0; first < out; first += rows) {
                    int from = first;
                    int count = Math.min(rows, out - from);
                    WeightSource some = new WeightSource.Stretch(stored.part(from * in, count * in), weight.types());
                    DeviceArray there = weights.upload(some);
                    try {
                        WeightProduct part = of(x, there, bias.map(whole -> whole.rows(1, from, count)), in, count);
                        largest = Math.max(largest, part.largestRow());
                        parts.add(part.values());
                        widths.add(count);
                    } finally {
                        there.close();
                    }
                }
                DeviceArray whole = backend.concat(
                        parts.toArray(DeviceArray[]::new),
                        tokens,
                        widths.stream().mapToInt(Integer::intValue).toArray());
                return new WeightProduct(whole, largest);
            } finally {
                parts.forEach(DeviceArray::close);
            }
        }
    }
}
