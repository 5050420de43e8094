package dev.shardsmith.verify.inspect;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import dev.shardsmith.verify.inspect.TensorSurvey.Figures;
import java.util.List;
import org.junit.jupiter.api.Test;

class FiguresTest {
    @Test
    void figuresOfPartsAreThoseOfAllValuesTogether() {
        // 1 and 3; then 5, 9, NaN and infinity; then nothing finite at all.
        Figures first = new Figures(2, 2, 1, 3, 2, 1, 0, 0, 0);
        Figures second = new Figures(4, 2, 5, 9, 7, 2, 0, 1, 1);
        Figures third = new Figures(1, 0, 0, 0, 0, 0, 0, 1, 0);
        Figures all = Figures.together(List.of(first, second, third));
        assertThat(all.values()).isEqualTo(7);
        assertThat(all.finite()).isEqualTo(4);
        assertThat(all.min()).isEqualTo(1);
        assertThat(all.max()).isEqualTo(9);
        assertThat(all.mean()).isEqualTo(4.5);
        assertThat(all.std()).isEqualTo(Math.sqrt((3.5 * 3.5 + 1.5 * 1.5 + 0.5 * 0.5 + 4.5 * 4.5) / 4), within(1e-12));
        assertThat(all.nans()).isEqualTo(2);
        assertThat(all.infinities()).isEqualTo(1);
    }

    @Test
    void noValuesHaveFiguresOfZero() {
        assertThat(Figures.together(List.of())).isEqualTo(new Figures(0, 0, 0, 0, 0, 0, 0, 0, 0));
    }
}
