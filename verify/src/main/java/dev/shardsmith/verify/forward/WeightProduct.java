package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * What a weight makes of activations.
 *
 * @param values [tokens, rows of the weight]
 * @param largestRow the largest Euclidean norm of a row of the weight
 */
record WeightProduct(DeviceArray values, double largestRow) {

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
            double largest = Pass.largest(backend.rowNorms(weight, out, in));
            if (bias.isEmpty()) {
                return new WeightProduct(backend.linear(x, weight, Optional.empty(), tokens, in, out), largest);
            }
            Optional<DeviceArray> kept = weights.kept(bias.get());
            DeviceArray added = kept.isPresent() ? kept.get() : weights.upload(bias.get());
            try {
                return new WeightProduct(backend.linear(x, weight, Optional.of(added), tokens, in, out), largest);
            } finally {
                if (kept.isEmpty()) {
                    added.close();
                }
            }
        }

        /** So many rows of the weight at a time are on the device; several such parts at once where the backend likes it so. */
        private WeightProduct inParts(
                DeviceArray x, WeightSource weight, Optional<WeightSource> bias, int in, int out, int rows)
                throws IOException {
            StoredElements stored = weight.stored().orElseThrow();
            int count = (out + rows - 1) / rows;
            WeightProduct[] parts = new WeightProduct[count];
            int[] widths = new int[count];
            try {
                IntStream all = IntStream.range(0, count);
                (backend.multipliesPartsAtOnce() ? all.parallel() : all).forEach(i -> {
                    int from = i * rows;
                    widths[i] = Math.min(rows, out - from);
                    WeightSource some =
                            new WeightSource.Stretch(stored.part(from * in, widths[i] * in), weight.types());
                    parts[i] = part(x, some, bias.map(whole -> whole.rows(1, from, widths[i])), in, widths[i]);
                });
                DeviceArray whole = backend.concat(
                        Stream.of(parts).map(WeightProduct::values).toArray(DeviceArray[]::new), tokens, widths);
                return new WeightProduct(
                        whole,
                        Stream.of(parts)
                                .mapToDouble(WeightProduct::largestRow)
                                .max()
                                .orElse(0));
            } catch (UncheckedIOException e) {
                throw e.getCause();
            } finally {
                Stream.of(parts)
                        .filter(Objects::nonNull)
                        .map(WeightProduct::values)
                        .forEach(DeviceArray::close);
            }
        }

        private WeightProduct part(DeviceArray x, WeightSource weight, Optional<WeightSource> bias, int in, int count) {
            try {
                return of(x, weight, bias, in, count);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
