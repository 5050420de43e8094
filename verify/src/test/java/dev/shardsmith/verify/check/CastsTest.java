package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.LayeredModel;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** A cast on one side neither hides a damage nor is called one. */
final class CastsTest {
    private static final HybridModel MODEL = MutationTest.MODEL;

    /** What is stored on either side. */
    enum Cast {
        FLOAT_TO_BFLOAT16(new DType[] {DType.F32}, new DType[] {DType.BF16}),
        FLOAT_TO_HALF(new DType[] {DType.F32}, new DType[] {DType.F16}),
        BFLOAT16_TO_HALF(new DType[] {DType.BF16}, new DType[] {DType.BF16, DType.F16}),
        HALF_TO_BFLOAT16(new DType[] {DType.F16}, new DType[] {DType.F16, DType.BF16}),
        BFLOAT16_TO_FLOAT(new DType[] {DType.BF16}, new DType[] {DType.BF16, DType.F32});

        private final DType[] source;
        private final DType[] target;

        Cast(DType[] source, DType[] target) {
            this.source = source;
            this.target = target;
        }
    }

    static Stream<Arguments> damagesAndCasts() {
        return MutationTest.mutants()
                .flatMap(mutant -> Stream.of(Cast.FLOAT_TO_BFLOAT16, Cast.BFLOAT16_TO_HALF, Cast.FLOAT_TO_HALF)
                        .map(cast -> Arguments.of(mutant, cast)));
    }

    @ParameterizedTest
    @MethodSource("damagesAndCasts")
    void everyDamageIsFoundInItsLayerThroughACast(MutationTest.Mutant mutant, Cast cast) throws Exception {
        List<Map<String, Grid>> shards = MODEL.shards(MutationTest.RANKS);
        mutant.damage().accept(shards);
        CheckReport report = check(MODEL.model(MODEL.shards(1), cast.source), MODEL.model(shards, cast.target));
        assertThat(report.rows().stream().filter(row -> !row.ok())).hasSize(1);
        LayerRow row = report.firstDivergence().orElseThrow();
        switch (mutant.layer()) {
            case -1 -> assertThat(row.kind()).isEqualTo("embedding");
            case -2 -> assertThat(row.kind()).isEqualTo("head");
            default -> assertThat(row.layer()).contains(mutant.layer());
        }
        assertThat(report.notes()).isNotEmpty();
    }

    @ParameterizedTest
    @EnumSource(Cast.class)
    void aCastIsNoDifferenceWhicheverSideIsTheSource(Cast cast) {
        Cases.forAll(40, random -> {
            HybridModel model = new HybridModel(random, HybridModel.randomSizes(random));
            LayeredModel source = model.model(model.shards(1), cast.source);
            LayeredModel target = model.model(model.shards(2), cast.target);
            for (CheckReport report : List.of(check(source, target), check(target, source))) {
                assertThat(report.rows().stream().filter(row -> !row.ok())).isEmpty();
                assertThat(report.rows())
                        .allSatisfy(row -> assertThat(row.resolution()).isLessThan(1e-9));
            }
        });
    }

    @ParameterizedTest
    @EnumSource(Cast.class)
    void unrelatedModelsOfTheSameShapeDifferInEveryPart(Cast cast) throws Exception {
        HybridModel other = new HybridModel(Cases.random(12), MODEL.sizes);
        CheckReport report =
                check(MODEL.model(MODEL.shards(1), cast.source), other.model(other.shards(1), cast.target));
        assertThat(report.rows()).hasSize(7).allMatch(row -> row.verdict() == LayerRow.Verdict.DIFFERENT);
    }

    @Test
    void twoCastsOfOneModelAreNoCastsOfEachOther() throws Exception {
        CheckReport report = check(MODEL.model(MODEL.shards(1), DType.BF16), MODEL.model(MODEL.shards(1), DType.F16));
        assertThat(report.firstDivergence()).isPresent();
    }

    @Test
    void weightsThatWereRoundedAndWidenedAgainAreExplained() throws Exception {
        CheckReport report = check(MODEL.model(1), MODEL.model(MODEL.shards(2), DType.BF16, DType.F32));
        assertThat(report.rows().get(1).explanation()).contains("its weights are rounded to bfloat16");
    }

    /** Of each tensor one small value: changed by a hundredth of the tensor's size, or turned over. */
    @ParameterizedTest
    @EnumSource(
            value = Cast.class,
            names = {"FLOAT_TO_BFLOAT16", "BFLOAT16_TO_HALF"})
    void oneSmallValueOfAnyTensorIsSeen(Cast cast) throws Exception {
        LayeredModel source = MODEL.model(MODEL.shards(1), cast.source);
        LayeredModel sameType = MODEL.model(1);
        List<String> unseen = new ArrayList<>();
        for (String name : MODEL.whole.keySet()) {
            if (name.startsWith("embedding.")) {
                continue;
            }
            List<Map<String, Grid>> shards = MODEL.shards(1);
            Grid grid = shards.get(0).get(name);
            int small = smallDecile(grid);
            float value = grid.values()[small];
            for (float damaged : new float[] {value + 0.01f * rms(grid), -value}) {
                shards.get(0).put(name, grid.with(small, damaged));
                if (check(sameType, MODEL.model(shards)).firstDivergence().isEmpty()) {
                    unseen.add(name + ", " + damaged + " for " + value);
                }
                if (check(source, MODEL.model(shards, cast.target))
                        .firstDivergence()
                        .isEmpty()) {
                    unseen.add(name + ", " + damaged + " for " + value + ", cast");
                }
            }
        }
        assertThat(unseen).isEmpty();
    }

    /** The place of a value that a tenth of all are smaller than. */
    private static int smallDecile(Grid grid) {
        return IntStream.range(0, grid.values().length)
                .boxed()
                .sorted(Comparator.comparingDouble(i -> Math.abs(grid.values()[i])))
                .skip(grid.values().length / 10)
                .findFirst()
                .orElseThrow();
    }

    private static float rms(Grid grid) {
        double squares = 0;
        for (float value : grid.values()) {
            squares += (double) value * value;
        }
        return (float) Math.sqrt(squares / grid.values().length);
    }

    private static CheckReport check(LayeredModel left, LayeredModel right) throws Exception {
        return new ForwardCheck(CheckBackend.get(), left, right, CheckOptions.DEFAULT).run(row -> {});
    }
}
