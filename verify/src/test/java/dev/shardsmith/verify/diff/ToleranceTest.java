package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class ToleranceTest {
    private static final int VALUES = 2500;
    private static final float[] EXTREMES = {
        0,
        -0f,
        Float.MIN_VALUE,
        -Float.MIN_VALUE,
        Float.MIN_NORMAL,
        1,
        Math.nextUp(1f),
        -1,
        Float.MAX_VALUE,
        -Float.MAX_VALUE
    };

    /** Limits at and next to differences that occur, and limits that allow everything or nothing but zero. */
    private static final List<Tolerance> TOLERANCES = List.of(
            new Tolerance(0, Float.MIN_VALUE, 0),
            new Tolerance(0, Math.nextDown((double) Float.MIN_VALUE), 0),
            new Tolerance(0, 1, 0),
            new Tolerance(0, 2, 0),
            new Tolerance(0, Math.nextDown(2.0), 0),
            new Tolerance(0, 2.0 * Float.MAX_VALUE, 0),
            new Tolerance(0, Math.nextDown(2.0 * Float.MAX_VALUE), 0),
            new Tolerance(0, Double.MAX_VALUE, 0),
            new Tolerance(0, Double.MIN_VALUE, 0),
            new Tolerance(1, 0, 0),
            new Tolerance(2, 0, 0),
            new Tolerance(Math.nextDown(2.0), 0, 0),
            new Tolerance(Double.MAX_VALUE, 0, 0),
            new Tolerance(Double.MIN_VALUE, 0, 0),
            new Tolerance(0x1p-23, 0, 0),
            new Tolerance(0.01, 0.001, 0),
            new Tolerance(0x1p1000, 0x1p1000, 0));

    private static ByteBuffer values(RandomGenerator random) {
        ByteBuffer values = ByteBuffer.allocate(VALUES * Float.BYTES).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < VALUES; i++) {
            boolean extreme = random.nextInt(3) == 0;
            float value = extreme ? EXTREMES[random.nextInt(EXTREMES.length)] : (float) random.nextGaussian();
            values.putFloat(i * Float.BYTES, value);
        }
        return values;
    }

    @Test
    void manyPairsAreJudgedAsEachOfThem() {
        Cases.forAll(20, random -> {
            ByteBuffer left = values(random);
            ByteBuffer right = values(random);
            for (Tolerance tolerance : TOLERANCES) {
                long beyond = 0;
                for (int i = 0; i < VALUES; i++) {
                    double a = left.getFloat(i * Float.BYTES);
                    double b = right.getFloat(i * Float.BYTES);
                    double larger = Math.max(Math.abs(a), Math.abs(b));
                    beyond += tolerance.allows(Math.abs(a - b), larger, Long.MAX_VALUE) ? 0 : 1;
                }
                TensorComparison result = new TensorComparison();
                BlockComparer comparer =
                        BlockComparer.of(DType.F32, DType.F32, tolerance).orElseThrow();
                comparer.compare(left, right, VALUES, 0, result);
                comparer.drainTo(result);
                assertThat(result.beyond()).as("%s", tolerance).isEqualTo(beyond);
            }
        });
    }
}
