package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.sample.DeltaSizes;
import dev.shardsmith.reshard.sample.LatentSizes;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Rows that divide are not enough: heads and groups are never cut. */
class MegatronLimitsTest {
    private static SampleSpec spec(String pattern, long heads, long groups, long mambaHeads, long mambaGroups) {
        SampleSpec plain = new SampleSpec(
                pattern,
                24,
                48,
                heads,
                groups,
                24,
                mambaHeads,
                24,
                mambaGroups,
                24,
                48,
                true,
                false,
                false,
                true,
                true,
                4,
                48,
                0,
                true,
                DType.BF16,
                1);
        return plain.as(
                SampleSpec.Kind.HYBRID,
                new LatentSizes(24, 24, 24, 24, 24, true, false, 2, 24),
                new DeltaSizes(2, 24, 4, 24, 4));
    }

    private static void require(SampleSpec spec, int tensor) throws CheckpointException {
        ModelView model = SampleModel.of(spec);
        Map<String, Shape> shapes = new LinkedHashMap<>();
        model.tensors().values().forEach(each -> shapes.put(each.name(), each.shape()));
        MegatronDivisions divisions = MegatronDivisions.of(shapes, true, List.of());
        MegatronLimits.require(shapes, divisions, model.state().args(), tensor, tensor);
    }

    @ParameterizedTest
    @CsvSource({
        "M,8,8,8,8,4",
        "M,8,8,8,2,2",
        "*,8,8,8,8,8",
        "*,8,2,8,8,4",
        "*,8,1,8,8,4",
        "+,6,6,8,8,3",
        "D,6,6,8,8,2",
        "G,8,8,8,8,2",
        "E,8,8,8,8,8"
    })
    void sizesThatLeaveHeadsAndGroupsWholeAreAccepted(
            String pattern, long heads, long groups, long mambaHeads, long mambaGroups, int tensor) {
        assertThatCode(() -> require(spec(pattern, heads, groups, mambaHeads, mambaGroups), tensor))
                .doesNotThrowAnyException();
    }

    @ParameterizedTest
    @CsvSource({
        "M,8,8,8,1,4,1 Mamba groups: every rank needs whole groups",
        "M,8,8,6,3,2,3 Mamba groups: every rank needs whole groups",
        "M,8,8,6,2,4,of 6",
        "*,6,6,8,8,4,6 attention heads",
        "*,12,3,8,8,2,3 query groups: neither divides the other",
        "+,6,6,8,8,4,6 attention heads",
        "D,6,6,8,8,4,6 attention heads",
        "G,8,8,8,8,4,2 key heads of gated delta nets",
        "-,8,8,8,8,5,of 48"
    })
    void sizesThatWouldCutThemAreRefusedWithTheReason(
            String pattern, long heads, long groups, long mambaHeads, long mambaGroups, int tensor, String reason) {
        assertThatThrownBy(() -> require(spec(pattern, heads, groups, mambaHeads, mambaGroups), tensor))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(reason);
    }
}
