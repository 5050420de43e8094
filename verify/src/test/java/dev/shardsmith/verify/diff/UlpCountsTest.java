package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class UlpCountsTest {
    private static long distance(FloatLayout layout, RandomGenerator random) {
        return random.nextLong() >>> Long.SIZE - layout.bits + random.nextInt(layout.bits);
    }

    private static void add(UlpCounts counts, long[] distances) {
        System.arraycopy(distances, 0, counts.nextRow(), 0, distances.length);
    }

    @ParameterizedTest
    @EnumSource
    void distancesAreCountedByTheirBinaryDigits(FloatLayout layout) {
        Cases.forAll(40, random -> {
            UlpCounts counts = new UlpCounts(layout);
            long[] expected = new long[33];
            for (int chunk = random.nextInt(200); chunk >= 0; chunk--) {
                long[] distances = new long[FloatChunk.ROW];
                for (int i = 0; i < distances.length * layout.perWord(); i++) {
                    long distance = random.nextInt(4) == 0 ? 0 : distance(layout, random);
                    distances[i / layout.perWord()] |= distance << i % layout.perWord() * layout.bits;
                    if (distance != 0) {
                        expected[64 - Long.numberOfLeadingZeros(distance)]++;
                    }
                }
                add(counts, distances);
            }
            long[] found = new long[33];
            counts.drainTo(found);
            assertThat(found).isEqualTo(expected);
            counts.drainTo(found);
            assertThat(found).as("drained").isEqualTo(expected);
        });
    }

    @ParameterizedTest
    @EnumSource
    void countsBeyondTheDigitsOfTheAddersAreKept(FloatLayout layout) {
        UlpCounts counts = new UlpCounts(layout);
        long[] distances = new long[FloatChunk.ROW];
        Arrays.fill(distances, layout.inEach(5));
        long rows = 4099L * UlpCounts.ROWS + 3;
        for (int i = 0; i < rows; i++) {
            add(counts, distances);
        }
        long[] found = new long[33];
        counts.drainTo(found);
        assertThat(found[3]).isEqualTo(rows * FloatChunk.ROW * layout.perWord());
        assertThat(Arrays.stream(found).sum()).isEqualTo(found[3]);
    }
}
