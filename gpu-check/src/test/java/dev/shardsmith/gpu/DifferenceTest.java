package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

final class DifferenceTest {

    private static float[] record(float absolute, float relative, int ulp, int beyond, int worst) {
        return new float[] {
            absolute,
            relative,
            Float.intBitsToFloat(ulp),
            0,
            Float.intBitsToFloat(beyond),
            0,
            Float.intBitsToFloat(worst),
            0
        };
    }

    private static float[] join(float[] a, float[] b) {
        float[] both = new float[a.length + b.length];
        System.arraycopy(a, 0, both, 0, a.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    @Test
    void takesTheWorstOfAllBlocks() {
        float[] records = join(record(1, 0.5f, 9, 2, 7), record(3, 0.25f, 4, 5, 12));
        assertThat(Difference.of(records, 100)).isEqualTo(new Difference(3, 0.5, 9, 7, 12));
    }

    @Test
    void theFirstOfEqualDifferencesIsNamed() {
        assertThat(Difference.of(join(record(3, 0, 0, 0, 12), record(3, 0, 0, 0, 7)), 100)
                        .worst())
                .isEqualTo(7);
    }

    @Test
    void aNanOnOneSideIsTheWorstThereIs() {
        Difference found = Difference.of(join(record(Float.NaN, Float.NaN, -1, 1, 50), record(3, 1, 0, 0, 7)), 100);
        assertThat(found.maxAbsolute()).isNaN();
        assertThat(found.maxRelative()).isNaN();
        assertThat(found.maxUlp()).isEqualTo(0xFFFF_FFFFL);
        assertThat(found.worst()).isEqualTo(50);
    }

    @Test
    void nothingDiffersInNothing() {
        assertThat(Difference.of(new float[0], 0)).isEqualTo(new Difference(0, 0, 0, 0, -1));
    }
}
