package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.VocabularySize;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

final class ForwardCheckTest {

    @Test
    void neverCallsACorrectDivisionWrong() {
        Cases.forAll(200, random -> {
            HybridModel.Sizes sizes = HybridModel.randomSizes(random);
            HybridModel model = new HybridModel(random, sizes);
            int left = 1 << random.nextInt(2);
            int right = 1 << random.nextInt(1, 2 + (sizes.groups() == 4 ? 1 : 0));
            CheckReport report = new ForwardCheck(
                            CheckBackend.get(), model.model(left), model.model(right), CheckOptions.DEFAULT)
                    .run(row -> {});
            assertThat(report.rows().stream().filter(row -> !row.ok()))
                    .as("%s, TP %d and %d", sizes, left, right)
                    .isEmpty();
            assertThat(report.notes()).isEmpty();
            assertThat(report.rows())
                    .allSatisfy(row -> assertThat(row.resolution()).isLessThan(1e-9));
        });
    }

    @Test
    void gatesAndPredictionLayersAreRunAndDamageToThemIsFound() throws Exception {
        HybridModel.Sizes sizes =
                new HybridModel.Sizes("M*E", 32, 8, 4, 4, 8, 8, 4, 8, 16, 4, 32, true, true, true, false, true, true);
        HybridModel model = new HybridModel(Cases.random(4), sizes);
        assertThat(kinds(model.model(1), model.model(2), row -> true))
                .containsExactly(
                        "embedding",
                        "mamba",
                        "attention",
                        "moe",
                        "mtp join",
                        "mtp attention",
                        "mtp moe",
                        "mtp norm",
                        "head");
        assertThat(damaged(model, "mtp.layers.0.enorm.weight")).containsExactly("mtp join");
        assertThat(damaged(model, "mtp.layers.0.eh_proj.weight")).containsExactly("mtp join");
        assertThat(damaged(model, "mtp.layers.0.final_layernorm.weight")).containsExactly("mtp norm");
        assertThat(damaged(model, "mtp.layers.0.mtp_model_layer.layers.0.self_attention.linear_proj.weight"))
                .containsExactly("mtp attention");
        assertThat(damaged(model, "decoder.layers.2.mlp.shared_experts.gate_weight"))
                .containsExactly("moe");
        assertThat(damaged(model, "decoder.layers.1.self_attention.linear_qkv.weight"))
                .containsExactly("attention");
    }

    @Test
    void everyRowOfTheVocabularyIsComparedWhetherAnyTokenTakesItOrNot() throws Exception {
        HybridModel model = new HybridModel(Cases.random(6), vocabularyOf(4096));
        String name = "embedding.word_embeddings.weight";
        for (int row : new int[] {1, 777, 2047, 2048, 4095}) {
            List<Map<String, Grid>> shards = model.shards(2);
            Map<String, Grid> own = shards.get(row / 2048);
            own.put(name, own.get(name).with(row % 2048 * 16 + 5, 0.5f));
            LayerRow embedding =
                    check(model.model(1), model.model(shards)).rows().get(0);
            assertThat(embedding.verdict()).isEqualTo(LayerRow.Verdict.DIFFERENT);
            assertThat(embedding.where().orElseThrow().channel()).isEqualTo(5);
        }
    }

    @Test
    void everyLearnedPositionIsComparedAlsoBeyondTheLongestSequenceThatIsRun() throws Exception {
        HybridModel model = new HybridModel(Cases.random(7), vocabularyOf(32));
        Grid places = Grid.normal(Cases.random(8), 300, 16, 1, 0);
        assertThat(check(positioned(model, places), positioned(model, places)).ok())
                .isTrue();
        CheckReport damaged = check(positioned(model, places), positioned(model, places.with(299 * 16, 0.5f)));
        assertThat(damaged.rows().get(0).explanation()).contains("row 299 of the learned positions differs");
        assertThat(damaged.different()).isEqualTo(1);
        CheckReport shorter = check(positioned(model, places), positioned(model, first(places, 200)));
        assertThat(shorter.rows().get(0).verdict()).isEqualTo(LayerRow.Verdict.INCONCLUSIVE);
        assertThat(shorter.rows().get(0).explanation().orElseThrow())
                .startsWith("100 learned positions on one side only");
    }

    @Test
    void rowsOfTheVocabularyOnOneSideOnlyProveNothingUnlessTheyArePadding() throws Exception {
        HybridModel model = new HybridModel(Cases.random(9), vocabularyOf(64));
        List<Map<String, Grid>> cut = model.shards(1);
        for (String name : List.of("embedding.word_embeddings.weight", "output_layer.weight")) {
            cut.get(0).computeIfPresent(name, (key, grid) -> first(grid, 40));
        }
        LayeredModel whole = model.model(2);
        LayeredModel shorter = model.model(cut);
        for (CheckReport report : List.of(check(whole, shorter), check(shorter, whole))) {
            assertThat(report.different()).isZero();
            assertThat(report.rows().stream().filter(row -> !row.ok()))
                    .extracting(LayerRow::kind)
                    .containsExactly("embedding", "head");
            assertThat(report.rows().get(0).verdict()).isEqualTo(LayerRow.Verdict.INCONCLUSIVE);
            assertThat(report.rows().get(0).explanation().orElseThrow())
                    .startsWith("24 rows of the vocabulary on one side only");
        }
        assertThat(check(whole.withVocabulary(new VocabularySize(OptionalInt.of(40), 1)), shorter)
                        .ok())
                .isTrue();
        assertThat(check(whole.withVocabulary(new VocabularySize(OptionalInt.of(41), 1)), shorter)
                        .ok())
                .isFalse();
        assertThat(check(whole.withVocabulary(new VocabularySize(OptionalInt.empty(), 32)), shorter)
                        .ok())
                .isTrue();
        assertThat(check(whole.withVocabulary(new VocabularySize(OptionalInt.empty(), 16)), shorter)
                        .ok())
                .isFalse();
    }

    @Test
    void noHiddenChannelOfManyExpertsIsSilent() throws Exception {
        int experts = 64;
        HybridModel.Sizes sizes = new HybridModel.Sizes(
                "E", 16, 8, 4, 4, 8, 8, 4, 8, 8, experts, 32, false, false, false, false, false, false);
        HybridModel model = new HybridModel(Cases.random(10), sizes);
        CheckOptions brief = new CheckOptions(1, 8, 0, layer -> true, Optional.empty());
        List<String> unseen = new ArrayList<>();
        for (int expert = 0; expert < experts; expert++) {
            List<Map<String, Grid>> shards = model.shards(1);
            int row = expert % 8;
            shards.get(0)
                    .computeIfPresent(
                            "decoder.layers.0.mlp.experts.local_experts." + expert + ".linear_fc1.weight",
                            (name, grid) -> withoutRow(grid, row));
            CheckReport report =
                    new ForwardCheck(CheckBackend.get(), model.model(1), model.model(shards), brief).run(each -> {});
            if (report.ok()) {
                unseen.add("expert " + expert + ", row " + row);
            }
        }
        assertThat(unseen).isEmpty();
    }

    private static Grid withoutRow(Grid grid, int row) {
        float[] values = grid.values().clone();
        Arrays.fill(values, row * grid.columns(), (row + 1) * grid.columns(), 0);
        return new Grid(grid.rows(), grid.columns(), values);
    }

    private static HybridModel.Sizes vocabularyOf(int rows) {
        return new HybridModel.Sizes(
                "-", 16, 8, 4, 4, 8, 8, 4, 8, 16, 4, rows, true, false, false, false, false, false);
    }

    private static LayeredModel positioned(HybridModel model, Grid places) throws Exception {
        return model.model(1).with(Optional.of(WeightSource.of(places.values())), List.of());
    }

    private static Grid first(Grid grid, int rows) {
        return new Grid(rows, grid.columns(), Arrays.copyOf(grid.values(), rows * grid.columns()));
    }

    private static CheckReport check(LayeredModel left, LayeredModel right) throws Exception {
        return new ForwardCheck(CheckBackend.get(), left, right, CheckOptions.DEFAULT).run(row -> {});
    }

    /** The kinds of the rows that differ when one rank's tensor is halved. */
    private static List<String> damaged(HybridModel model, String tensor) throws Exception {
        List<Map<String, Grid>> shards = model.shards(2);
        shards.forEach(shard -> shard.put(tensor, shard.get(tensor).times(0.5f)));
        return kinds(model.model(1), model.model(shards), row -> !row.ok());
    }

    private static List<String> kinds(LayeredModel left, LayeredModel right, Predicate<LayerRow> which)
            throws Exception {
        CheckReport report = new ForwardCheck(CheckBackend.get(), left, right, CheckOptions.DEFAULT).run(row -> {});
        return report.rows().stream().filter(which).map(LayerRow::kind).toList();
    }
}
