package dev.shardsmith.reshard.placement;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlacementReportTest {
    private static final String LARGE = "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-";

    private static ModelView large() throws Exception {
        return SampleModel.of(new SampleSpec(
                LARGE,
                4096,
                256_000,
                32,
                8,
                128,
                128,
                64,
                8,
                128,
                16_384,
                false,
                false,
                false,
                true,
                true,
                1,
                1,
                0,
                false,
                DType.BF16,
                1));
    }

    private static ModelView small(boolean tied) throws Exception {
        return SampleModel.of(new SampleSpec(
                "M*-E",
                64,
                128,
                8,
                4,
                8,
                8,
                16,
                4,
                8,
                96,
                false,
                false,
                tied,
                true,
                true,
                8,
                32,
                16,
                true,
                DType.BF16,
                1));
    }

    /** Parameters by the formulas of the layers, which are independent of any table of divisions. */
    @Test
    void theLargePublishedModelHasItsParameters() throws Exception {
        long hidden = 4096;
        long inner = 8192;
        long shared = 2 * 8 * 128;
        long mamba =
                (2 * inner + shared + 128) * hidden + hidden + (inner + shared) * 5 + 3 * 128 + inner + inner * hidden;
        long attention = (32 + 16) * 128 * hidden + hidden * hidden + hidden;
        long mlp = 2 * 16_384 * hidden + hidden;
        long expected = 24 * mamba + 4 * attention + 28 * mlp + 2 * 256_000 * hidden + hidden;
        PlacementReport report = PlacementReport.of(large(), PlacementRequest.parse("tp=1"));
        assertThat(report.parameters()).isEqualTo(expected);
        assertThat(report.ranks()).hasSize(1);
        assertThat(report.ranks().get(0).parameters()).isEqualTo(expected);
        assertThat(report.ranks().get(0).total()).isEqualTo(18 * expected);
        assertThat(report.whole().weights()).isEqualTo(2 * expected);
        assertThat(report.dataParallelSuffices()).isFalse();
    }

    @Test
    void tensorParallelismDividesAllButTheNormsAndTheOptimizerDividesByTheReplicas() throws Exception {
        PlacementReport report = PlacementReport.of(large(), PlacementRequest.parse("tp=4,pp=2,dp=8"));
        assertThat(report.problems()).isEmpty();
        assertThat(report.request().world()).isEqualTo(64);
        assertThat(report.ranks()).hasSize(8);
        assertThat(report.ranks()).extracting(RankPlacement::layers).containsOnly(28);
        long sum = 0;
        for (RankPlacement rank : report.ranks()) {
            sum += rank.parameters();
            assertThat(rank.bytes().master()).isEqualTo(4 * rank.parameters());
            assertThat(rank.totalDistributed()).isEqualTo(6 * rank.parameters() + (12 * rank.parameters() + 7) / 8);
        }
        // A norm of 4096 before each of 56 layers and one at the end, on three ranks more than once.
        assertThat(sum).isEqualTo(report.parameters() + 3 * 57 * 4096L);
        assertThat(report.fits()).isTrue();
        assertThat(report.arithmetic()).contains("GPUs: TP 4 x PP 2 x CP 1 x DP 8 = 64");
        assertThat(report.unevenness()).isBetween(1.0, 1.1);
    }

    @Test
    void aSharedEmbeddingIsOnBothEndsOfThePipeline() throws Exception {
        PlacementReport tied = PlacementReport.of(small(true), PlacementRequest.parse("pp=2"));
        PlacementReport untied = PlacementReport.of(small(false), PlacementRequest.parse("pp=2"));
        assertThat(sum(tied)).isEqualTo(tied.parameters() + 128 * 64);
        assertThat(sum(untied)).isEqualTo(untied.parameters());
        assertThat(tied.parameters()).isEqualTo(untied.parameters() - 128 * 64);
    }

    private static long sum(PlacementReport report) {
        return report.ranks().stream().mapToLong(RankPlacement::parameters).sum();
    }

    @Test
    void expertsAreDealtOutAndTheirOptimizerHasReplicasOfItsOwn() throws Exception {
        PlacementReport report = PlacementReport.of(small(false), PlacementRequest.parse("ep=4,dp=8"));
        assertThat(report.ranks()).hasSize(4);
        assertThat(report.request().expertReplicas()).isEqualTo(2);
        for (RankPlacement rank : report.ranks()) {
            assertThat(rank.expertParameters()).isEqualTo(2 * 2 * 32 * 64);
            assertThat(rank.totalDistributed())
                    .isEqualTo(rank.bytes().weights()
                            + rank.bytes().gradients()
                            + (rank.dense().optimizer() + 7) / 8
                            + rank.experts().optimizer() / 2);
            assertThat(rank.experts().optimizer()).isEqualTo(12 * rank.expertParameters());
            // The bias of the router's 8 experts is float32 and needs no master copy.
            assertThat(rank.dense().optimizer()).isEqualTo(12 * rank.denseParameters() - 4 * 8);
        }
    }

    @Test
    void sizesThatDoNotDivideAreProblems() throws Exception {
        assertThat(PlacementReport.of(small(false), PlacementRequest.parse("tp=3"))
                        .problems())
                .isNotEmpty()
                .anyMatch(problem -> problem.contains("does not divide by TP 3"));
        assertThat(PlacementReport.of(small(false), PlacementRequest.parse("ep=3,dp=3"))
                        .problems())
                .contains("8 experts do not divide by EP 3");
        assertThat(PlacementReport.of(small(false), PlacementRequest.parse("tp=2,pp=4,dp=2"))
                        .problems())
                .isEmpty();
    }

    @Test
    void weightsInFloat32NeedNoMasterCopy() throws Exception {
        ModelView view = SampleModel.of(SampleSpec.of("M-", 64, DType.F32, 1));
        PlacementReport report = PlacementReport.of(view, PlacementRequest.parse("dp=2,memory=16"));
        assertThat(report.whole().master()).isZero();
        assertThat(report.largest().total()).isEqualTo(16 * report.parameters());
        assertThat(report.dataParallelSuffices()).isTrue();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "tp", "tp=0", "tp=x", "tp=4,tp=2", "gp=1", "tp=99999999", "tp=4,,dp=2"})
    void aRequestThatIsNoneIsRefused(String text) {
        assertThatThrownBy(() -> PlacementRequest.parse(text)).hasMessageContaining("--placement");
    }

    @Test
    void allSizesAreRead() throws Exception {
        PlacementRequest request = PlacementRequest.parse("tp=4, pp=2,vpp=3,ep=8,etp=1,cp=2,dp=16,memory=141");
        assertThat(request).isEqualTo(new PlacementRequest(4, 2, 3, 8, 1, 2, 16, 141));
        assertThat(List.of(request.world(), request.denseReplicas())).containsExactly(256L, 32L);
    }
}
