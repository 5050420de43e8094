package dev.shardsmith.verify.forward;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products in blocks against the same sums written out one by one; they have to agree to the last bit. */
final class WideProductTest {
    private final RandomGenerator random = Cases.random(29);
    private final WideBackend backend = new WideBackend();

    private float[] numbers(int count) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    private static StoredTensor stored(float[] values, int out, int in) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return StoredTensor.contiguous("w", DType.F32, Shape.of(out, in), ByteSource.of("test", bytes.array()), 0);
    }

    private static double[] oneByOne(double[] x, float[] weight, float[] bias, int rows, int in, int out) {
        double[] y = new double[rows * out];
        for (int r = 0; r < rows; r++) {
            for (int o = 0; o < out; o++) {
                double sum = bias.length == 0 ? 0 : bias[o];
                for (int i = 0; i < in; i++) {
                    sum = Math.fma((double) weight[o * in + i], x[r * in + i], sum);
                }
                y[r * out + o] = sum;
            }
        }
        return y;
    }

    private static double largestRow(float[] weight, int in, int out) {
        double largest = 0;
        for (int o = 0; o < out; o++) {
            double squares = 0;
            for (int i = 0; i < in; i++) {
                squares = Math.fma((double) weight[o * in + i], weight[o * in + i], squares);
            }
            largest = Math.max(largest, squares);
        }
        return Math.sqrt(largest);
    }

    @ParameterizedTest
    @CsvSource({
        "16, 64, 128",
        "16, 300, 700",
        "1, 1, 1",
        "3, 5, 7",
        "2, 129, 33",
        "17, 131, 257",
        "4, 20011, 40",
        "7, 8, 1000",
        "0, 8, 9",
        "5, 12, 0"
    })
    void blocksChangeNoBit(int rows, int in, int out) throws Exception {
        float[] weight = numbers(in * out);
        double[] x = WideArray.widened(numbers(rows * in));
        for (int i = 0; i < x.length; i++) {
            x[i] += 0x1p-40 * random.nextGaussian();
        }
        float[] bias = numbers(out);
        for (float[] start : new float[][] {bias, new float[0]}) {
            Optional<WeightSource> source = start.length == 0 ? Optional.empty() : Optional.of(WeightSource.of(start));
            WeightProduct inMemory = backend.product(
                    backend.uploadWide(x),
                    backend.upload(weight),
                    start.length == 0 ? Optional.empty() : Optional.of(backend.upload(start)),
                    rows,
                    in,
                    out);
            StoredElements elements =
                    StoredElements.of("w", stored(weight, out, in)).orElseThrow();
            WeightProduct inFile = backend.product(backend.uploadWide(x), elements, source, rows, in, out)
                    .orElseThrow();
            double[] expected = oneByOne(x, weight, start, rows, in, out);
            assertThat(backend.downloadWide(inMemory.values())).isEqualTo(expected);
            assertThat(backend.downloadWide(inFile.values())).isEqualTo(expected);
            assertThat(inMemory.largestRow()).isEqualTo(largestRow(weight, in, out));
            assertThat(inFile.largestRow()).isEqualTo(inMemory.largestRow());
        }
    }

    @Test
    void rowsFromSeveralFilesAreOneWeight() throws Exception {
        float[] top = numbers(50 * 36);
        float[] bottom = numbers(90 * 36);
        double[] x = WideArray.widened(numbers(6 * 36));
        WeightSource joined = WeightSource.concat(List.of(
                new StoredWeight("top", stored(top, 50, 36)), new StoredWeight("bottom", stored(bottom, 90, 36))));
        WeightProduct product = backend.product(
                        backend.uploadWide(x), joined.stored().orElseThrow(), Optional.empty(), 6, 36, 140)
                .orElseThrow();
        assertThat(backend.downloadWide(product.values()))
                .isEqualTo(oneByOne(x, joined.load(), new float[0], 6, 36, 140));
    }

    @Test
    void aWeightThatIsNoNumberSpoilsItsOutputsAndTheBound() throws Exception {
        float[] weight = numbers(200 * 16);
        weight[150 * 16 + 3] = Float.NaN;
        WeightProduct product = backend.product(
                backend.uploadWide(new double[4 * 16]), backend.upload(weight), Optional.empty(), 4, 16, 200);
        double[] y = backend.downloadWide(product.values());
        assertThat(y[150]).isNaN();
        assertThat(y[149]).isZero();
        assertThat(product.largestRow()).isNaN();
    }

    @Test
    void anUnreadableFileIsReportedAsSuch() throws Exception {
        StoredTensor whole = stored(numbers(300 * 64), 300, 64);
        ByteSource broken = new ByteSource() {
            @Override
            public String name() {
                return "broken";
            }

            @Override
            public long size() {
                return whole.source().size();
            }

            @Override
            public void read(long position, ByteBuffer target) throws IOException {
                throw CheckpointException.truncated("broken", position, "the file was cut");
            }

            @Override
            public Optional<FileRange> inFile() {
                return Optional.empty();
            }
        };
        StoredTensor cut = StoredTensor.contiguous("w", DType.F32, Shape.of(300, 64), broken, 0);
        StoredElements elements = StoredElements.of("w", cut).orElseThrow();
        assertThatThrownBy(() ->
                        backend.product(backend.uploadWide(new double[2 * 64]), elements, Optional.empty(), 2, 64, 300))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("the file was cut");
    }

    @ParameterizedTest
    @CsvSource({"1, 1024", "64, 1024", "1025, 1024", "18560, 128", "2320, 128", "768, 128", "0, 128"})
    void everyOutputBelongsToOneBlock(int out, int most) {
        int[] seen = new int[out];
        OutputBlocks.of(out, most, 32, 8).forEach((first, count) -> {
            assertThat(count).isBetween(1, most);
            for (int o = first; o < first + count; o++) {
                seen[o]++;
            }
        });
        assertThat(seen).containsOnly(out == 0 ? new int[0] : new int[] {1});
    }
}
