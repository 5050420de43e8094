package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.ElementDecoder;
import dev.shardsmith.verify.digest.TensorReading;
import dev.shardsmith.verify.digest.TensorStatistics;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.zip.CRC32C;

/** Reads one tensor block by block: statistics, a checksum, and its copies compared with it. */
final class ValuePass {
    private final LogicalTensor tensor;
    private final BlockReader reader = BlockReader.ofThisThread();
    private ByteBuffer other;

    ValuePass(LogicalTensor tensor) {
        this.tensor = tensor;
    }

    ValueSummary run() throws IOException {
        TensorReading reading = TensorReading.of(tensor);
        Optional<TensorStatistics> statistics = TensorStatistics.withoutHistogram(reading.dtype());
        CRC32C checksum = new CRC32C();
        ByteBuffer block = reading.buffer(reader, 0);
        List<Copy> copies = copies(reading);
        other = copies.isEmpty() ? block : reading.buffer(reader, 1);
        for (long i = 0; i < reading.grid().blocks(); i++) {
            reading.read(reader, i, block);
            int elements = block.remaining() / reading.dtype().byteSize();
            statistics.ifPresent(gathered -> gathered.add(block, elements));
            Box box = reading.grid().box(i);
            for (Copy copy : copies) {
                copy.compare(box, block.duplicate().order(block.order()));
            }
            checksum.update(block);
        }
        double worst = 0;
        int differing = 0;
        for (Copy copy : copies) {
            worst = Double.isNaN(worst) || Double.isNaN(copy.worst) ? Double.NaN : Math.max(worst, copy.worst);
            differing += copy.differs ? 1 : 0;
        }
        return new ValueSummary(tensor.name(), statistics, checksum.getValue(), worst, copies.size(), differing);
    }

    private List<Copy> copies(TensorReading reading) throws IOException {
        List<Copy> copies = new ArrayList<>();
        if (tensor.dtype().byteAligned()) {
            for (Piece replica : tensor.replicas()) {
                copies.add(new Copy(replica, reading));
            }
        }
        return copies;
    }

    /** A further copy of some of the elements. */
    private final class Copy {
        private final Piece piece;
        private final DType dtype;
        private final Optional<ElementDecoder> decoder;
        private double worst;
        private boolean differs;

        Copy(Piece piece, TensorReading reading) {
            this.piece = piece;
            this.dtype = reading.dtype();
            this.decoder = ElementDecoder.of(dtype);
        }

        /** Compares what of the box this copy holds; {@code block} is the box in row-major order. */
        void compare(Box box, ByteBuffer block) throws IOException {
            Optional<Box> common = piece.box().intersect(box);
            if (common.isEmpty() || common.get().elements() == 0) {
                return;
            }
            ByteBuffer expected = block;
            if (!common.get().equals(box)) {
                expected = ByteBuffer.allocateDirect(
                                Math.toIntExact(dtype.bytes(common.get().elements())))
                        .order(block.order());
                reader.read(tensor.pieces(), common.get(), dtype, expected);
            }
            reader.read(List.of(piece), common.get(), dtype, other);
            if (expected.mismatch(other) >= 0) {
                differs = true;
                measure(expected, Math.toIntExact(common.get().elements()));
            }
        }

        private void measure(ByteBuffer expected, int elements) {
            if (decoder.isEmpty()) {
                return;
            }
            ElementDecoder decode = decoder.get();
            double[] ours = new double[ElementDecoder.CHUNK];
            double[] theirs = new double[ElementDecoder.CHUNK];
            int step = ElementDecoder.CHUNK / decode.perElement();
            for (int first = 0; first < elements; first += step) {
                int count = Math.min(step, elements - first) * decode.perElement();
                decode.doubles(expected, first, count, ours);
                decode.doubles(other, first, count, theirs);
                for (int i = 0; i < count; i++) {
                    if (Double.compare(ours[i], theirs[i]) != 0) {
                        double difference = Math.abs(ours[i] - theirs[i]);
                        worst = Double.isNaN(worst) || Double.isNaN(difference)
                                ? Double.NaN
                                : Math.max(worst, difference);
                    }
                }
            }
        }
    }
}
