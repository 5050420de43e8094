package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

class BlockComparerTest {
    private static ByteBuffer floats(float... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 4).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asFloatBuffer().put(values);
        return bytes;
    }

    private static ByteBuffer shorts(int... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 2).order(ByteOrder.LITTLE_ENDIAN);
        for (int i = 0; i < values.length; i++) {
            bytes.putShort(i * 2, (short) values[i]);
        }
        return bytes;
    }

    private static TensorComparison compare(
            DType left, ByteBuffer a, DType right, ByteBuffer b, int elements, Tolerance tolerance) {
        TensorComparison result = new TensorComparison();
        BlockComparer comparer = BlockComparer.of(left, right, tolerance).orElseThrow();
        comparer.compare(a, b, elements, 0, result);
        comparer.drainTo(result);
        return result;
    }

    private static TensorComparison compare(float[] a, float[] b, Tolerance tolerance) {
        return compare(DType.F32, floats(a), DType.F32, floats(b), a.length, tolerance);
    }

    @Test
    void oneFlippedBitIsFoundInEveryTypeAndPlace() {
        Cases.forAll(200, random -> {
            DType[] types = {
                DType.F64,
                DType.F32,
                DType.F16,
                DType.BF16,
                DType.F8_E4M3FN,
                DType.F8_E5M2,
                DType.F8_E8M0FNU,
                DType.I64,
                DType.U64,
                DType.I32,
                DType.U32,
                DType.I16,
                DType.U8,
                DType.I8,
                DType.F4_E2M1FN_X2,
                DType.C64,
                DType.C32,
                DType.C128,
                DType.F8_E4M3FNUZ,
                DType.F8_E5M2FNUZ
            };
            DType dtype = types[random.nextInt(types.length)];
            int elements = 1 + random.nextInt(3000);
            byte[] left = new byte[elements * dtype.byteSize()];
            random.nextBytes(left);
            byte[] right = left.clone();
            int flipped = random.nextInt(right.length);
            right[flipped] ^= (byte) (1 << random.nextInt(8));
            TensorComparison result =
                    compare(dtype, ByteBuffer.wrap(left), dtype, ByteBuffer.wrap(right), elements, Tolerance.EXACT);
            assertThat(result.differing()).as("%s byte %s", dtype, flipped).isEqualTo(1);
            assertThat(result.beyond()).isEqualTo(1);
            int perElement = ElementCount.of(dtype);
            assertThat(result.worst()).hasSize(1);
            assertThat(result.worst().get(0).index() / perElement).isEqualTo(flipped / dtype.byteSize());
        });
    }

    private static ByteBuffer longs(long... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 8).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asLongBuffer().put(values);
        return bytes;
    }

    private static ByteBuffer doubles(double... values) {
        ByteBuffer bytes = ByteBuffer.allocate(values.length * 8).order(ByteOrder.LITTLE_ENDIAN);
        bytes.asDoubleBuffer().put(values);
        return bytes;
    }

    @Test
    void wideIntegersAreTheSameAsFloatsOnlyIfTheirValuesAre() {
        long[] wide = {Long.MAX_VALUE, (1L << 62) + 1, (1L << 53) + 1, 1L << 62, Long.MIN_VALUE, 0, 3, 3, 3, 3};
        double[] real = {
            0x1p63, 0x1p62, 0x1p53, 0x1p62, -0x1p63, -0.0, 3.5, Double.NaN, Double.POSITIVE_INFINITY, 0x1p1000
        };
        for (boolean turned : new boolean[] {false, true}) {
            TensorComparison result = turned
                    ? compare(DType.F64, doubles(real), DType.I64, longs(wide), 10, Tolerance.EXACT)
                    : compare(DType.I64, longs(wide), DType.F64, doubles(real), 10, Tolerance.EXACT);

            assertThat(result.differing()).isEqualTo(7);
            assertThat(result.beyond()).isEqualTo(7);
            assertThat(result.nanMismatches()).isEqualTo(1);
            assertThat(result.infinityMismatches()).isEqualTo(1);
            assertThat(result.maxAbs()).isEqualTo(0x1p1000);
        }
        TensorComparison unsigned = compare(
                DType.U64, longs(-1, -1, Long.MIN_VALUE), DType.F64, doubles(0x1p64, -1, 0x1p63), 3, Tolerance.EXACT);
        assertThat(unsigned.differing()).isEqualTo(2);
        assertThat(unsigned.maxAbs()).isEqualTo(0x1p64);
    }

    @Test
    void integersOfDifferentSignednessAreComparedByValue() {
        TensorComparison wide = compare(DType.I64, longs(-1, 5), DType.U64, longs(-1, 5), 2, Tolerance.EXACT);
        assertThat(wide.differing()).isEqualTo(1);
        assertThat(wide.maxAbs()).isEqualTo(0x1p64);
        assertThat(wide.maxUlp()).isEqualTo(Long.MAX_VALUE);
        ByteBuffer bytes = ByteBuffer.wrap(new byte[] {-1, 1});
        assertThat(compare(DType.I8, bytes, DType.U8, bytes.duplicate(), 2, Tolerance.EXACT)
                        .maxAbs())
                .isEqualTo(256);
        assertThat(compare(DType.I64, longs(255, 1), DType.U8, bytes.duplicate(), 2, Tolerance.EXACT)
                        .differing())
                .isZero();
    }

    @Test
    void differencesOfWideIntegersAreExact() {
        Tolerance tiny = new Tolerance(1e-300, 0, 0);
        long[] left = {(1L << 62) + 1, (1L << 53) + 1};
        long[] right = {1L << 62, 1L << 53};
        for (DType dtype : List.of(DType.I64, DType.U64)) {
            TensorComparison result = compare(dtype, longs(left), dtype, longs(right), 2, tiny);

            assertThat(result.differing()).isEqualTo(2);
            assertThat(result.beyond()).isEqualTo(2);
            assertThat(result.maxAbs()).isEqualTo(1);
            assertThat(result.maxUlp()).isEqualTo(1);
            assertThat(result.rms()).isEqualTo(1);
            assertThat(result.worst().get(0).difference()).isEqualTo(1);
        }
        TensorComparison allowed = compare(DType.I64, longs(left), DType.I64, longs(right), 2, new Tolerance(0, 1, 0));
        assertThat(allowed.beyond()).isZero();
    }

    /** Values in one element, written down apart from the code under test. */
    private static final class ElementCount {
        static int of(DType dtype) {
            return dtype.kind() == DType.Kind.COMPLEX || dtype == DType.F4_E2M1FN_X2 ? 2 : 1;
        }
    }

    @Test
    void theFiguresOfASmallExampleAreRight() {
        TensorComparison result = compare(new float[] {1, 2, 3, 4}, new float[] {1, 2.5f, 3, 3}, Tolerance.EXACT);
        assertThat(result.differing()).isEqualTo(2);
        assertThat(result.maxAbs()).isEqualTo(1);
        assertThat(result.maxRel()).isEqualTo(0.25);
        assertThat(result.rms()).isEqualTo(Math.sqrt(1.25 / 4));
        assertThat(result.cosine())
                .isEqualTo((1 + 5 + 9 + 12) / Math.sqrt(30) / Math.sqrt(1 + 6.25 + 9 + 9), within(1e-15));
        assertThat(result.worst()).containsExactly(new WorstElement(3, 4, 3, 1), new WorstElement(1, 2, 2.5, 0.5));
        assertThat(result.maxUlp()).isEqualTo(1 << 22);
    }

    @Test
    void neighboursAreOneUnitApartAlsoAcrossZero() {
        float tiny = Float.MIN_VALUE;
        TensorComparison result =
                compare(new float[] {1, tiny, 0}, new float[] {Math.nextUp(1f), -tiny, -0f}, Tolerance.EXACT);
        assertThat(result.differing()).isEqualTo(3);
        assertThat(result.ulpHistogram()).startsWith(1, 1, 1, 0);
        assertThat(result.maxUlp()).isEqualTo(2);
    }

    @Test
    void theMeanIsThatOfPairsOfFiniteValues() {
        float[] left = {Float.NaN, 1, Float.POSITIVE_INFINITY, 4, 0};
        float[] right = {Float.NaN, 3, Float.POSITIVE_INFINITY, 4, Float.NEGATIVE_INFINITY};
        assertThat(compare(left, right, Tolerance.EXACT).rms()).isEqualTo(Math.sqrt(4 / 2.0));
        assertThat(compare(new float[] {Float.NaN}, new float[] {1}, Tolerance.EXACT)
                        .rms())
                .isZero();
    }

    @Test
    void nansAndInfinitiesOnOneSideAreCountedApart() {
        float inf = Float.POSITIVE_INFINITY;
        TensorComparison result = compare(
                new float[] {Float.NaN, 1, inf, inf, Float.NaN, 5},
                new float[] {1, Float.NaN, -inf, inf, Float.NaN, 5},
                new Tolerance(1, 1, 1000));
        assertThat(result.nanMismatches()).isEqualTo(2);
        assertThat(result.infinityMismatches()).isEqualTo(1);
        assertThat(result.differing()).isEqualTo(3);
        assertThat(result.beyond()).isEqualTo(3);
        assertThat(result.maxAbs()).isZero();
        assertThat(result.cosine()).isEqualTo(1);
        assertThat(result.worst()).extracting(WorstElement::index).containsExactly(0L, 1L, 2L);
    }

    @Test
    void tolerancesAllowWhatTheySayAndNoMore() {
        float[] left = {100, 0.001f, 1};
        float[] right = {100.5f, 0.002f, Math.nextUp(1f)};
        assertThat(compare(left, right, new Tolerance(0.006, 0, 0)).beyond()).isEqualTo(1);
        assertThat(compare(left, right, new Tolerance(0.004, 0, 0)).beyond()).isEqualTo(2);
        assertThat(compare(left, right, new Tolerance(0, 0.01, 0)).beyond()).isEqualTo(1);
        assertThat(compare(left, right, new Tolerance(0, 0, 1)).beyond()).isEqualTo(2);
        assertThat(compare(left, right, new Tolerance(0, 0, 1)).differing()).isEqualTo(3);
    }

    @Test
    void aSignOfZeroIsADifferenceOnlyWithoutTolerance() {
        assertThat(compare(new float[] {0}, new float[] {-0f}, Tolerance.EXACT).beyond())
                .isEqualTo(1);
        assertThat(compare(new float[] {0}, new float[] {-0f}, new Tolerance(0, 1e-30, 0))
                        .beyond())
                .isZero();
    }

    @Test
    void valuesAreComparedExactlyAcrossTypes() {
        TensorComparison same = compare(
                DType.BF16, shorts(0x3f80, 0x8000, 0x7fc1), DType.F32, floats(1, 0, Float.NaN), 3, Tolerance.EXACT);
        assertThat(same.differing()).isZero();
        TensorComparison rounded =
                compare(DType.BF16, shorts(0x3f80, 0x3f81), DType.F32, floats(1.001f, 1.0078125f), 2, Tolerance.EXACT);
        assertThat(rounded.differing()).isEqualTo(1);
        assertThat(rounded.maxUlp())
                .as("equal after rounding to the coarser type")
                .isZero();
        TensorComparison halves =
                compare(DType.F16, shorts(0x3c00), DType.F32, floats(1.0005f), 1, new Tolerance(0, 0, 1));
        assertThat(halves.maxUlp()).isEqualTo(1);
        assertThat(halves.beyond()).isZero();
    }

    private static final List<List<DType>> PAIRS = List.of(
            List.of(DType.BF16, DType.BF16),
            List.of(DType.F16, DType.F16),
            List.of(DType.F32, DType.F32),
            List.of(DType.F64, DType.F64),
            List.of(DType.C32, DType.C32),
            List.of(DType.C64, DType.C64),
            List.of(DType.F8_E4M3FN, DType.F8_E4M3FN),
            List.of(DType.F8_E5M2, DType.F8_E5M2),
            List.of(DType.F4_E2M1FN_X2, DType.F4_E2M1FN_X2),
            List.of(DType.I8, DType.I8),
            List.of(DType.I32, DType.I32),
            List.of(DType.BF16, DType.F32),
            List.of(DType.F32, DType.F16),
            List.of(DType.F16, DType.BF16),
            List.of(DType.F64, DType.BF16),
            List.of(DType.F8_E5M2, DType.F32),
            List.of(DType.U8, DType.F32));

    /** Elements of every kind; in half of the cases only such as are finite and of usual size. */
    private static byte[] elements(DType dtype, int count, boolean usual, RandomGenerator random) {
        byte[] bytes = new byte[count * dtype.byteSize()];
        random.nextBytes(bytes);
        int unit = dtype.swapUnit();
        int step = random.nextInt(3) == 0 ? 1 : 7;
        ByteBuffer block = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        for (int at = 0; usual && at < bytes.length; at += unit) {
            float value = random.nextInt(9) == 0 ? 0 : (float) random.nextGaussian() * step;
            switch (dtype) {
                case BF16 -> block.putShort(at, (short) (Float.floatToRawIntBits(value) >> 16));
                case F16, C32 -> block.putShort(at, (short) (random.nextInt(0x7c00) | (value < 0 ? 0x8000 : 0)));
                case F32, C64 -> block.putFloat(at, value);
                case F64 -> block.putDouble(at, value);
                default -> {}
            }
        }
        return bytes;
    }

    @Test
    void everyPairOfTypesIsComparedAsValueByValue() {
        Cases.forAll(400, random -> {
            List<DType> pair = PAIRS.get(random.nextInt(PAIRS.size()));
            int count = 1 + random.nextInt(random.nextInt(4) == 0 ? 5000 : 300);
            boolean usual = random.nextBoolean();
            byte[] left = elements(pair.get(0), count, usual, random);
            byte[] right = elements(pair.get(1), count, usual, random);
            if (pair.get(0) == pair.get(1) && random.nextBoolean()) {
                right = left.clone();
                for (int i = random.nextInt(50); i < right.length; i += 1 + random.nextInt(100)) {
                    right[i] ^= (byte) (1 << random.nextInt(8));
                }
            }
            Tolerance tolerance = random.nextBoolean() ? Tolerance.EXACT : new Tolerance(0.01, 1e-3, random.nextInt(5));
            NaiveComparison naive = new NaiveComparison(pair.get(0), pair.get(1), tolerance).add(left, right);
            naive.assertEqualTo(
                    compare(pair.get(0), ByteBuffer.wrap(left), pair.get(1), ByteBuffer.wrap(right), count, tolerance));
        });
    }

    @Test
    void aSignallingNanIsNotTheQuietOne() {
        ByteBuffer quiet = ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, 0x7fc00001);
        ByteBuffer signalling =
                ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, 0x7f800001);
        assertThat(compare(DType.F32, quiet, DType.F32, signalling, 1, Tolerance.EXACT)
                        .beyond())
                .isEqualTo(1);
        assertThat(compare(DType.BF16, shorts(0x7fc1), DType.BF16, shorts(0x7f81), 1, Tolerance.EXACT)
                        .beyond())
                .isEqualTo(1);
        assertThat(compare(DType.F16, shorts(0x7e01), DType.F16, shorts(0x7c01), 1, Tolerance.EXACT)
                        .beyond())
                .isEqualTo(1);
    }

    @Test
    void equalDifferencesAreListedInTheOrderOfTheElements() {
        int[] left = new int[2 * 1024 + 7];
        int[] right = new int[left.length];
        Arrays.fill(left, 0x3f80);
        Arrays.fill(right, 0x4000);
        TensorComparison result =
                compare(DType.BF16, shorts(left), DType.BF16, shorts(right), left.length, Tolerance.EXACT);
        assertThat(result.worst()).extracting(WorstElement::index).containsExactly(0L, 1L, 2L, 3L, 4L);
        assertThat(result.maxUlp()).isEqualTo(128);
        assertThat(result.maxRel()).isEqualTo(0.5);
        assertThat(result.rms()).isEqualTo(1);
    }

    @Test
    void aDifferenceNextAboveAllOthersIsTheWorst() {
        Cases.forAll(50, random -> {
            float[] left = new float[4 * 1024];
            float[] right = new float[left.length];
            float usual = random.nextFloat() * 0x1p-60f;
            Arrays.fill(right, 0, 1024, usual);
            int place = 1024 + random.nextInt(3 * 1024);
            right[place] = Math.nextUp(usual);
            TensorComparison result = compare(left, right, Tolerance.EXACT);
            assertThat(result.maxAbs()).isEqualTo(right[place]);
            assertThat(result.worst().get(0)).isEqualTo(new WorstElement(place, 0, right[place], right[place]));
        });
    }

    @Test
    void moreDifferencesThanACounterOfSixteenBitsHoldsAreCounted() {
        int[] left = new int[1024];
        int[] right = new int[left.length];
        Arrays.fill(left, 0x3f80);
        Arrays.fill(right, 0xbf80);
        ByteBuffer a = shorts(left);
        ByteBuffer b = shorts(right);
        TensorComparison result = new TensorComparison();
        BlockComparer comparer =
                BlockComparer.of(DType.BF16, DType.BF16, Tolerance.EXACT).orElseThrow();
        long chunks = (1 << 16) + 100;
        for (long chunk = 0; chunk < chunks; chunk++) {
            comparer.compare(a, b, 1024, chunk * 1024, result);
        }
        comparer.drainTo(result);
        assertThat(result.differing()).isEqualTo(chunks * 1024);
        assertThat(result.maxUlp()).isEqualTo(2 * 0x3f80);
        assertThat(result.ulpHistogram()[15]).isEqualTo(chunks * 1024);
        assertThat(result.cosine()).isEqualTo(-1);
    }

    @Test
    void sixtyFourBitIntegersAreComparedExactly() {
        ByteBuffer left = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putLong(0, (1L << 53) + 1);
        ByteBuffer right = ByteBuffer.allocate(8).order(ByteOrder.LITTLE_ENDIAN).putDouble(0, 0x1p53);
        assertThat(compare(DType.I64, left, DType.F64, right, 1, Tolerance.EXACT)
                        .differing())
                .isEqualTo(1);
        left.putLong(0, 1L << 53);
        assertThat(compare(DType.I64, left, DType.F64, right, 1, Tolerance.EXACT)
                        .differing())
                .isZero();
    }

    @Test
    void blocksMergedInOrderGiveTheResultOfTheWhole() {
        Cases.forAll(50, random -> {
            int count = 5000;
            float[] left = new float[count];
            float[] right = new float[count];
            for (int i = 0; i < count; i++) {
                left[i] = (float) random.nextGaussian();
                right[i] = random.nextInt(3) == 0 ? left[i] : (float) (left[i] + random.nextGaussian() * 1e-3);
            }
            TensorComparison whole = compare(left, right, new Tolerance(1e-4, 0, 0));
            TensorComparison merged = new TensorComparison();
            int cut = 1024 * (1 + random.nextInt(3));
            BlockComparer comparer = BlockComparer.of(DType.F32, DType.F32, new Tolerance(1e-4, 0, 0))
                    .orElseThrow();
            TensorComparison first = new TensorComparison();
            comparer.compare(floats(left), floats(right), cut, 0, first);
            comparer.drainTo(first);
            TensorComparison second = new TensorComparison();
            comparer.compare(
                    floats(left).position(cut * 4).slice(),
                    floats(right).position(cut * 4).slice(),
                    count - cut,
                    cut,
                    second);
            comparer.drainTo(second);
            merged.merge(first);
            merged.merge(second);
            assertThat(merged.worst()).isEqualTo(whole.worst());
            assertThat(merged.differing()).isEqualTo(whole.differing());
            assertThat(merged.beyond()).isEqualTo(whole.beyond());
            assertThat(merged.ulpHistogram()).isEqualTo(whole.ulpHistogram());
            assertThat(merged.maxRel()).isEqualTo(whole.maxRel());
            assertThat(merged.rms()).isEqualTo(whole.rms(), within(1e-12));
            assertThat(merged.cosine()).isEqualTo(whole.cosine(), within(1e-12));
        });
    }

    @Test
    void theFastPathAgreesWithTheCarefulOne() {
        Cases.forAll(30, random -> {
            int count = 700;
            float[] left = new float[count];
            float[] right = new float[count];
            for (int i = 0; i < count; i++) {
                left[i] = (float) random.nextGaussian();
                right[i] = random.nextInt(3) == 0 ? left[i] : (float) (left[i] + random.nextGaussian() * 1e-3);
            }
            TensorComparison fast = compare(left, right, new Tolerance(1e-4, 1e-5, 3));
            float[] withNan = Arrays.copyOf(left, count + 1);
            withNan[count] = Float.NaN;
            float[] alsoNan = Arrays.copyOf(right, count + 1);
            alsoNan[count] = Float.NaN;
            TensorComparison careful = compare(withNan, alsoNan, new Tolerance(1e-4, 1e-5, 3));
            assertThat(careful.differing()).isEqualTo(fast.differing());
            assertThat(careful.beyond()).isEqualTo(fast.beyond());
            assertThat(careful.worst()).isEqualTo(fast.worst());
            assertThat(careful.maxRel()).isEqualTo(fast.maxRel());
            assertThat(careful.maxUlp()).isEqualTo(fast.maxUlp());
            assertThat(careful.ulpHistogram()).isEqualTo(fast.ulpHistogram());
        });
    }

    /** In the middle of two neighbours PyTorch's cast takes the even code, whether that is the lower or the upper one. */
    @Test
    void valuesInTheMiddleOfTwoCodesAreCastToTheEvenOne() {
        float[] middles = {1.0625f, 1.1875f, -1.1875f, 0.0009765625f, 0.0029296875f};
        byte[] codes = {0x38, 0x3a, (byte) 0xba, 0x00, 0x02};
        TensorComparison e4m3 =
                compare(DType.F32, floats(middles), DType.F8_E4M3FN, ByteBuffer.wrap(codes), 5, Tolerance.EXACT);
        assertThat(e4m3.differing()).isEqualTo(5);
        assertThat(e4m3.maxUlp()).isZero();

        // As float16 against the type that is its upper byte.
        TensorComparison e5m2 = compare(
                DType.F8_E5M2,
                ByteBuffer.wrap(new byte[] {0x3c, 0x3e, 0x3d}),
                DType.F16,
                shorts(0x3c80, 0x3d80, 0x3d80),
                3,
                Tolerance.EXACT);
        assertThat(e5m2.ulpHistogram()).startsWith(2, 1, 0);
    }

    @Test
    void rawBitsAreNotComparedByValue() {
        assertThat(BlockComparer.of(DType.BITS8, DType.BITS8, Tolerance.EXACT)).isEmpty();
        assertThat(BlockComparer.of(DType.C64, DType.F32, Tolerance.EXACT)).isEmpty();
    }
}
