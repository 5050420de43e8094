package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class UlpCountsTest {
    private static int distance(RandomGenerator random) {
        return random.nextInt() >>> random.nextInt(32);
    }

    private static void add(UlpCounts counts, int[] distances) {
        System.arraycopy(distances, 0, counts.nextRow(), 0, distances.length);
    }

    @Test
    void distancesAreCountedByTheirBinaryDigits() {
        Cases.forAll(40, random -> {
            UlpCounts counts = new UlpCounts();
            long[] expected = new long[33];
            for (int chunk = random.nextInt(200); chunk >= 0; chunk--) {
                int[] distances = new int[FloatChunk.ROW];
                for (int i = 0; i < distances.length; i++) {
                    distances[i] = random.nextInt(4) == 0 ? 0 : distance(random);
                    if (distances[i] != 0) {
                        expected[32 - Integer.numberOfLeadingZeros(distances[i])]++;
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

    @Test
    void countsBeyondTheDigitsOfTheAddersAreKept() {
        UlpCounts counts = new UlpCounts();
        int[] distances = new int[FloatChunk.ROW];
        Arrays.fill(distances, 5);
        long rows = 4099L * UlpCounts.ROWS + 3;
        for (int i = 0; i < rows; i++) {
            add(counts, distances);
        }
        long[] found = new long[33];
        counts.drainTo(found);
        assertThat(found[3]).isEqualTo(rows * FloatChunk.ROW);
        assertThat(Arrays.stream(found).sum()).isEqualTo(found[3]);
    }
}
