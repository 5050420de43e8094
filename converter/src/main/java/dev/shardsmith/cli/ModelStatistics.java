package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorDigest;
import dev.shardsmith.verify.digest.TensorReading;
import dev.shardsmith.verify.digest.TensorStatistics;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;

/**
 * Statistics of tensors and the copies that disagree; reads all tensor data.
 *
 * @param tensors one entry a tensor, in their order; empty for types without a numeric meaning
 * @param warnings what is odd about the values
 */
record ModelStatistics(List<Optional<TensorStatistics>> tensors, List<String> warnings) {
    private record Found(Optional<TensorStatistics> statistics, List<String> warnings) {}

    /** Reads the tensors. */
    static ModelStatistics of(List<LogicalTensor> tensors, int workers, Out out) throws IOException {
        List<Optional<TensorStatistics>> statistics = new ArrayList<>();
        List<String> warnings = new ArrayList<>();
        List<Callable<Found>> tasks = new ArrayList<>();
        tensors.forEach(tensor -> tasks.add(() -> read(tensor)));
        long bytes = tensors.stream().mapToLong(LogicalTensor::bytes).sum();
        try (OrderedWork work = new OrderedWork(workers);
                ProgressMeter meter = out.progress("read", bytes)) {
            work.inOrder(tasks.iterator(), found -> {
                meter.advance(tensors.get(statistics.size()).bytes());
                statistics.add(found.statistics());
                warnings.addAll(found.warnings());
            });
        }
        return new ModelStatistics(statistics, warnings);
    }

    private static Found read(LogicalTensor tensor) throws IOException {
        TensorReading reading = TensorReading.of(tensor);
        BlockReader reader = new BlockReader();
        Optional<TensorStatistics> statistics = TensorStatistics.of(tensor.dtype());
        List<String> warnings = new ArrayList<>();
        if (statistics.isPresent()) {
            ByteBuffer block = reading.newBuffer();
            for (long i = 0; i < reading.grid().blocks(); i++) {
                reading.read(reader, i, block);
                statistics.get().add(block, block.remaining() / reading.dtype().byteSize());
            }
            long odd = statistics.get().nans() + statistics.get().infinities();
            if (odd > 0) {
                warnings.add("%s has %d NaN and %d infinite values"
                        .formatted(
                                tensor.name(),
                                statistics.get().nans(),
                                statistics.get().infinities()));
            }
        }
        for (Piece replica : tensor.replicas()) {
            if (disagrees(tensor, replica, reader)) {
                warnings.add("copies of %s disagree: the one in %s differs from the first"
                        .formatted(tensor.name(), replica.data().source().name()));
            }
        }
        return new Found(statistics, warnings);
    }

    /** Compares a copy with the piece that holds the same elements; a copy cut across pieces is left to diff. */
    private static boolean disagrees(LogicalTensor tensor, Piece replica, BlockReader reader) throws IOException {
        for (Piece piece : tensor.pieces()) {
            if (piece.box().contains(replica.box())) {
                StoredTensor first = piece.view(replica.box());
                return !Arrays.equals(digest(tensor, first, reader), digest(tensor, replica.data(), reader));
            }
        }
        return false;
    }

    private static byte[] digest(LogicalTensor tensor, StoredTensor data, BlockReader reader) throws IOException {
        return TensorDigest.of(TensorReading.of(tensor.name(), data), reader).sha256();
    }
}
