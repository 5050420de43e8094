package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** A comparison written down value by value, without a thought of speed: what the fast one has to equal. */
final class NaiveComparison {
    private final DType left;
    private final DType right;
    private final Tolerance tolerance;
    private final List<WorstElement> worst = new ArrayList<>();
    private final long[] ulps = new long[65];
    private long values;
    private long finite;
    private long differing;
    private long beyond;
    private long nans;
    private long infinities;
    private double maxAbs;
    private double maxRel;
    private long maxUlp;
    private double dot;
    private double leftSquares;
    private double rightSquares;
    private double squaredDifferences;

    NaiveComparison(DType left, DType right, Tolerance tolerance) {
        this.left = left;
        this.right = right;
        this.tolerance = tolerance;
    }

    NaiveComparison add(byte[] a, byte[] b) {
        double[] x = decode(left, a);
        double[] y = decode(right, b);
        for (int i = 0; i < x.length; i++) {
            add(i, x[i], y[i], same(a, b, i, x[i], y[i]));
        }
        return this;
    }

    private static double[] decode(DType dtype, byte[] bytes) {
        ElementDecoder decoder = ElementDecoder.of(dtype).orElseThrow();
        int count = bytes.length / dtype.byteSize() * decoder.perElement();
        double[] values = new double[count];
        double[] one = new double[decoder.perElement()];
        for (int i = 0; i < count; i += one.length) {
            decoder.doubles(ByteBuffer.wrap(bytes), i / one.length, one.length, one);
            System.arraycopy(one, 0, values, i, one.length);
        }
        return values;
    }

    private boolean same(byte[] a, byte[] b, int i, double x, double y) {
        if (left != right) {
            return x == y || (Double.isNaN(x) && Double.isNaN(y));
        }
        int perElement = ElementDecoder.of(left).orElseThrow().perElement();
        if (left.byteSize() < perElement) {
            int shift = i % 2 * 4;
            return (a[i / 2] >> shift & 15) == (b[i / 2] >> shift & 15);
        }
        int unit = left.byteSize() / perElement;
        return Arrays.equals(a, i * unit, (i + 1) * unit, b, i * unit, (i + 1) * unit);
    }

    private void add(long index, double x, double y, boolean same) {
        values++;
        if (Double.isFinite(x) && Double.isFinite(y)) {
            finite++;
            dot += x * y;
            leftSquares += x * x;
            rightSquares += y * y;
            squaredDifferences += (x - y) * (x - y);
        }
        if (same) {
            return;
        }
        differing++;
        double difference = Math.abs(x - y);
        if (Double.isNaN(x) || Double.isNaN(y)) {
            boolean oneSide = Double.isNaN(x) != Double.isNaN(y);
            nans += oneSide ? 1 : 0;
            beyond += oneSide || tolerance.isExact() ? 1 : 0;
            worst.add(new WorstElement(index, x, y, oneSide ? Double.POSITIVE_INFINITY : 0));
            return;
        }
        if (Double.isInfinite(x) || Double.isInfinite(y)) {
            infinities++;
            beyond++;
            worst.add(new WorstElement(index, x, y, Double.POSITIVE_INFINITY));
            return;
        }
        UlpScale scale = UlpScale.ofCoarser(left, right);
        BigInteger distance = BigInteger.valueOf(scale.number(x))
                .subtract(BigInteger.valueOf(scale.number(y)))
                .abs();
        long steps = distance.min(BigInteger.valueOf(Long.MAX_VALUE)).longValueExact();
        double larger = Math.max(Math.abs(x), Math.abs(y));
        boolean allowed = difference <= tolerance.absolute() + tolerance.relative() * larger
                || (tolerance.ulps() > 0 && steps <= tolerance.ulps());
        beyond += tolerance.isExact() || !allowed ? 1 : 0;
        ulps[64 - Long.numberOfLeadingZeros(steps)]++;
        maxUlp = Math.max(maxUlp, steps);
        maxAbs = Math.max(maxAbs, difference);
        maxRel = difference > 0 ? Math.max(maxRel, difference / larger) : maxRel;
        worst.add(new WorstElement(index, x, y, difference));
    }

    void assertEqualTo(TensorComparison result) {
        String what = left + " " + right + " " + tolerance;
        assertThat(result.values()).as(what).isEqualTo(values);
        assertThat(result.differing()).as(what).isEqualTo(differing);
        assertThat(result.beyond()).as(what).isEqualTo(beyond);
        assertThat(result.nanMismatches()).as(what).isEqualTo(nans);
        assertThat(result.infinityMismatches()).as(what).isEqualTo(infinities);
        assertThat(result.maxAbs()).as(what).isEqualTo(maxAbs);
        assertThat(result.maxRel()).as(what).isEqualTo(maxRel, within(maxRel * 1e-15));
        assertThat(result.maxUlp()).as(what).isEqualTo(maxUlp);
        assertThat(result.ulpHistogram()).as(what).isEqualTo(ulps);
        worst.sort((one, two) -> one.before(two) ? -1 : two.before(one) ? 1 : 0);
        assertThat(result.worst()).as(what).isEqualTo(worst.subList(0, Math.min(TensorComparison.WORST, worst.size())));
        if (!Double.isFinite(leftSquares + rightSquares + squaredDifferences)) {
            return;
        }
        assertThat(result.rms())
                .as(what)
                .isEqualTo(
                        Math.sqrt(squaredDifferences / Math.max(1, finite)),
                        within(1e-12 * Math.sqrt(leftSquares + rightSquares)));
        if (leftSquares > 0 && rightSquares > 0) {
            double cosine = dot / Math.sqrt(leftSquares) / Math.sqrt(rightSquares);
            assertThat(result.cosine()).as(what).isEqualTo(cosine, within(1e-12));
        }
    }
}
