package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Layers that samples do not have: their fused rows, rank by rank, against ranges counted by hand. */
class MegatronDivisionsTest {
    private static final String LAYER = "decoder.layers.0.";

    private static Map<String, Shape> shapes(Object... pairs) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            shapes.put(LAYER + pairs[i], (Shape) pairs[i + 1]);
        }
        return shapes;
    }

    /** The global rows (or columns) that a rank holds, in the order of its shard. */
    private static List<Long> held(Map<String, Shape> shapes, String suffix, int axis, int rank, int world)
            throws CheckpointException {
        Division division = MegatronDivisions.of(shapes, false, List.of())
                .get(LAYER + suffix)
                .orElseThrow()
                .division();
        List<Long> held = new ArrayList<>();
        for (Placement placement : division.placements(shapes.get(LAYER + suffix), rank, world)) {
            for (long i = 0; i < placement.logical().size()[axis]; i++) {
                held.add(placement.logical().offset()[axis] + i);
            }
        }
        return held;
    }

    private static List<Long> ranges(long... bounds) {
        List<Long> rows = new ArrayList<>();
        for (int i = 0; i < bounds.length; i += 2) {
            for (long row = bounds[i]; row < bounds[i + 1]; row++) {
                rows.add(row);
            }
        }
        return rows;
    }

    /** Two Householder steps, 4 heads of 2 channels, groups times states 4: z 8, V 8+8, K 4+4, Q 4, b 4+4, a 4. */
    @Test
    void gatedDeltaProductsHavePartsForEveryStep() throws Exception {
        Map<String, Shape> shapes = shapes(
                "mixer.dt_bias", Shape.of(4),
                "mixer.A_log", Shape.of(4),
                "mixer.in_proj.weight", Shape.of(48, 6),
                "mixer.conv1d.weight", Shape.of(28, 1, 4),
                "mixer.out_proj.weight", Shape.of(6, 8));
        assertThat(held(shapes, "mixer.in_proj.weight", 0, 1, 2))
                .isEqualTo(ranges(4, 8, 12, 16, 20, 24, 26, 28, 30, 32, 34, 36, 38, 40, 42, 44, 46, 48));
        assertThat(held(shapes, "mixer.conv1d.weight", 0, 0, 2)).isEqualTo(ranges(0, 4, 8, 12, 16, 18, 20, 22, 24, 26));
    }

    /** Query and key 4, value 6; the second form has f and b as wide as keys and w as wide as values. */
    @Test
    void theSecondGatedDeltaNetHasSevenParts() throws Exception {
        Map<String, Shape> shapes = shapes(
                "self_attention.dt_bias", Shape.of(4),
                "self_attention.A_log", Shape.of(2),
                "self_attention.in_proj.weight", Shape.of(34, 5),
                "self_attention.conv1d.weight", Shape.of(14, 1, 4),
                "self_attention.out_proj.weight", Shape.of(5, 6));
        assertThat(held(shapes, "self_attention.in_proj.weight", 0, 1, 2))
                .isEqualTo(ranges(2, 4, 6, 8, 11, 14, 17, 20, 22, 24, 26, 28, 31, 34));
        assertThat(held(shapes, "self_attention.conv1d.weight", 0, 0, 2)).isEqualTo(ranges(0, 2, 4, 6, 8, 11));
    }

    @Test
    void firstMambaLayersHaveTwoHalvesAndAProjectionThatIsDividedByColumns() throws Exception {
        Map<String, Shape> shapes = shapes(
                "mixer.A_log", Shape.of(8, 4),
                "mixer.D", Shape.of(8),
                "mixer.in_proj.weight", Shape.of(16, 4),
                "mixer.conv1d.weight", Shape.of(8, 1, 4),
                "mixer.x_proj.weight", Shape.of(9, 8),
                "mixer.dt_proj.weight", Shape.of(8, 1),
                "mixer.out_proj.weight", Shape.of(4, 8));
        assertThat(held(shapes, "mixer.in_proj.weight", 0, 1, 2)).isEqualTo(ranges(4, 8, 12, 16));
        assertThat(held(shapes, "mixer.x_proj.weight", 1, 1, 2)).isEqualTo(ranges(4, 8));
        assertThat(held(shapes, "mixer.conv1d.weight", 0, 1, 2)).isEqualTo(ranges(4, 8));
    }

    @Test
    void oneDownProjectionIsDividedWithItsNormAndWholeWithoutIt() throws Exception {
        Map<String, Shape> fused = shapes(
                "self_attention.linear_qkv_down_proj.layer_norm_weight", Shape.of(8),
                "self_attention.linear_qkv_down_proj.weight", Shape.of(14, 8),
                "self_attention.linear_q_up_proj.weight", Shape.of(8, 6),
                "self_attention.linear_kv_up_proj.weight", Shape.of(8, 4));
        assertThat(held(fused, "self_attention.linear_qkv_down_proj.weight", 0, 1, 2))
                .isEqualTo(ranges(3, 6, 10, 14));
        Map<String, Shape> duplicated = new LinkedHashMap<>(fused);
        duplicated.remove(LAYER + "self_attention.linear_qkv_down_proj.layer_norm_weight");
        assertThat(held(duplicated, "self_attention.linear_qkv_down_proj.weight", 0, 1, 2))
                .isEqualTo(ranges(0, 14));
    }

    @Test
    void partsThatDoNotAddUpAreRefusedWithTheirWidths() {
        Map<String, Shape> shapes = shapes(
                "mixer.dt_bias", Shape.of(4),
                "mixer.A_log", Shape.of(4),
                "mixer.D", Shape.of(4),
                "mixer.in_proj.weight", Shape.of(30, 6),
                "mixer.conv1d.weight", Shape.of(12, 1, 4),
                "mixer.out_proj.weight", Shape.of(6, 8));
        assertThatThrownBy(() -> MegatronDivisions.of(shapes, false, List.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("z 8, x 8, B 2, C 2, dt 4 add up to 24, but its size is 30");
    }
}
