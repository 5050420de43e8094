package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.WeightSource;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tables that are long enough for several threads. */
final class TableComparisonTest {
    private static final int WIDTH = 64;
    private static final int ROWS = 20_000;

    /** A table divided evenly among ranks, with some numbers changed. */
    private static LayeredModel model(int ranks, int... changed) {
        float[] values = new float[ROWS * WIDTH];
        for (int i = 0; i < values.length; i++) {
            values[i] = i % 1021;
        }
        for (int at : changed) {
            values[at] = -1;
        }
        WeightSource whole = WeightSource.of(values);
        List<WeightSource> shards = new ArrayList<>();
        for (int rank = 0; rank < ranks; rank++) {
            shards.add(whole.rows(WIDTH, rank * (ROWS / ranks), ROWS / ranks));
        }
        return model(shards);
    }

    private static LayeredModel model(List<WeightSource> shards) {
        return new LayeredModel(WIDTH, shards, 1, List.of(), Optional.empty(), shards, 1);
    }

    @Test
    void oneRankAgainstManyIsNoDifference() throws Exception {
        assertThat(TableComparison.ofTokens(model(1), model(16)).difference()).isEmpty();
        assertThat(TableComparison.ofTokens(model(625), model(16)).difference()).isEmpty();
    }

    @Test
    void theFirstOfSeveralDifferencesIsTold() throws Exception {
        int[] changed = {19_999 * WIDTH + 63, 7_001 * WIDTH + 5, 12_345 * WIDTH};
        Deviation difference = TableComparison.ofTokens(model(1), model(16, changed))
                .difference()
                .orElseThrow();
        assertThat(difference.where()).contains(new LayerRow.Place(7_001, 5));
        assertThat(TableComparison.ofTokens(model(4, changed[0]), model(1)).difference())
                .map(found -> found.where().orElseThrow())
                .contains(new LayerRow.Place(19_999, 63));
    }

    @Test
    void anUnreadableRankIsAnErrorUnlessADifferenceComesBefore() throws Exception {
        List<WeightSource> broken = new ArrayList<>(model(2).embedding());
        broken.set(1, new Unreadable(ROWS / 2 * WIDTH));
        assertThatThrownBy(
                        () -> TableComparison.ofTokens(model(1), model(broken)).difference())
                .isInstanceOf(IOException.class)
                .hasMessage("unreadable");
        assertThat(TableComparison.ofTokens(model(1, 3), model(broken)).difference())
                .map(found -> found.where().orElseThrow())
                .contains(new LayerRow.Place(0, 3));
    }

    private record Unreadable(int elements) implements WeightSource {
        @Override
        public Set<DType> types() {
            return Set.of(DType.F32);
        }

        @Override
        public float[] load() throws IOException {
            throw new IOException("unreadable");
        }
    }
}
