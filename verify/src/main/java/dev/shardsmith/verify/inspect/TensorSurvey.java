package dev.shardsmith.verify.inspect;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.TensorReading;
import dev.shardsmith.verify.digest.TensorStatistics;
import dev.shardsmith.verify.digest.ValueHistogram;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;

/**
 * What reading one tensor tells.
 *
 * @param tensor the tensor
 * @param figures of its values; empty if its type has no numeric meaning
 * @param bars where its finite values lie, in equal steps; counted one by one where the tensor is one block; empty if it has
 *     none
 * @param disagreements copies on other ranks that are different
 */
public record TensorSurvey(
        LogicalTensor tensor,
        Optional<Figures> figures,
        Optional<ValueHistogram.Bars> bars,
        List<ReplicaDisagreement> disagreements) {
    private static final int BARS = 40;

    /**
     * Figures of values; minimum, maximum, mean and deviation are of the finite ones.
     *
     * @param values number of values of every kind
     * @param finite number of finite values
     * @param min the smallest, 0 if there is none
     * @param max the largest, 0 if there is none
     * @param mean their mean
     * @param std their standard deviation
     * @param zeros number of zeros
     * @param nans number of NaN values
     * @param infinities number of infinities
     */
    public record Figures(
            long values,
            long finite,
            double min,
            double max,
            double mean,
            double std,
            long zeros,
            long nans,
            long infinities) {
        /** The figures of several tensors as if they were one. */
        public static Figures together(Collection<Figures> parts) {
            long values = 0;
            long finite = 0;
            long zeros = 0;
            long nans = 0;
            long infinities = 0;
            double min = Double.POSITIVE_INFINITY;
            double max = Double.NEGATIVE_INFINITY;
            double sum = 0;
            for (Figures part : parts) {
                values += part.values;
                finite += part.finite;
                zeros += part.zeros;
                nans += part.nans;
                infinities += part.infinities;
                sum += part.finite * part.mean;
                if (part.finite > 0) {
                    min = Math.min(min, part.min);
                    max = Math.max(max, part.max);
                }
            }
            double mean = finite == 0 ? 0 : sum / finite;
            double squares = 0;
            for (Figures part : parts) {
                double apart = part.mean - mean;
                squares += part.finite * (part.std * part.std + apart * apart);
            }
            boolean any = finite > 0;
            double std = any ? Math.sqrt(squares / finite) : 0;
            return new Figures(values, finite, any ? min : 0, any ? max : 0, mean, std, zeros, nans, infinities);
        }
    }

    /** Reads tensors, side by side, and tells of each in the given order. */
    public static List<TensorSurvey> of(Collection<LogicalTensor> tensors, int workers, LongConsumer progress)
            throws IOException {
        List<TensorSurvey> surveys = new ArrayList<>();
        List<Callable<TensorSurvey>> tasks = new ArrayList<>();
        for (LogicalTensor tensor : tensors) {
            tasks.add(() -> of(tensor));
        }
        try (OrderedWork work = new OrderedWork(workers)) {
            work.inOrder(tasks.iterator(), survey -> {
                surveys.add(survey);
                progress.accept(survey.tensor().bytes());
            });
        }
        return surveys;
    }

    private static TensorSurvey of(LogicalTensor tensor) throws IOException {
        TensorReading reading = TensorReading.of(tensor);
        boolean oneBlock = reading.grid().blocks() == 1;
        Optional<TensorStatistics> statistics =
                oneBlock ? TensorStatistics.withoutHistogram(tensor.dtype()) : TensorStatistics.of(tensor.dtype());
        Optional<ValueHistogram.Bars> bars = Optional.empty();
        if (statistics.isPresent()) {
            TensorStatistics values = statistics.get();
            BlockReader reader = BlockReader.ofThisThread();
            ByteBuffer block = reading.buffer(reader, 0);
            int elements = 0;
            for (long i = 0; i < reading.grid().blocks(); i++) {
                reading.read(reader, i, block);
                elements = block.remaining() / reading.dtype().byteSize();
                values.add(block, elements);
            }
            bars = oneBlock
                    ? values.bars(block, elements, BARS)
                    : values.histogram().linear(values.min(), values.max(), BARS);
        }
        return new TensorSurvey(tensor, statistics.map(TensorSurvey::figures), bars, ReplicaDisagreement.of(tensor));
    }

    private static Figures figures(TensorStatistics statistics) {
        boolean any = statistics.finite() > 0;
        return new Figures(
                statistics.values(),
                statistics.finite(),
                any ? statistics.min() : 0,
                any ? statistics.max() : 0,
                statistics.mean(),
                statistics.std(),
                statistics.zeros(),
                statistics.nans(),
                statistics.infinities());
    }
}
