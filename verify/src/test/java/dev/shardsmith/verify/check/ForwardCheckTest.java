package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.forward.LayeredModel;
import java.util.List;
import java.util.Map;
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
