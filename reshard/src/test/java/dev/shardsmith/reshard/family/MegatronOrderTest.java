package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class MegatronOrderTest {
    /** As a model with two predictions registers them. */
    private static final List<String> MODEL = List.of(
            "embedding.word_embeddings.weight",
            "decoder.layers.0.mixer.dt_bias",
            "decoder.layers.0.mixer.A_log",
            "decoder.layers.0.mixer.D",
            "decoder.layers.0.mixer.in_proj.weight",
            "decoder.layers.0.mixer.in_proj.layer_norm_weight",
            "decoder.layers.0.mixer.in_proj._extra_state",
            "decoder.layers.2.mlp.router.weight",
            "decoder.layers.2.mlp.experts.linear_fc1.weight0",
            "decoder.layers.2.mlp.experts.linear_fc1.weight1",
            "decoder.layers.2.mlp.experts.linear_fc2.weight0",
            "decoder.layers.2.mlp.experts.linear_fc2.weight1",
            "decoder.layers.9.mlp.experts.local_experts.0.linear_fc1.weight",
            "decoder.layers.9.mlp.experts.local_experts.0.linear_fc2.weight",
            "decoder.layers.9.mlp.experts.local_experts.2.linear_fc1.weight",
            "decoder.layers.9.mlp.experts.local_experts.10.linear_fc1.weight",
            "decoder.layers.9.unknown.a",
            "decoder.layers.9.unknown.b",
            "decoder.layers.10.mixer.D",
            "decoder.final_norm.weight",
            "mtp.layers.0.enorm.weight",
            "mtp.layers.0.eh_proj.weight",
            "mtp.layers.0.mtp_model_layer.layers.9.mixer.D",
            "mtp.layers.0.mtp_model_layer.layers.10.mixer.D",
            "mtp.layers.0.final_layernorm.weight",
            "mtp.layers.1.enorm.weight",
            "mtp.layers.1.mtp_model_layer.layers.0.mixer.D",
            "mtp.layers.1.final_layernorm.weight",
            "output_layer.weight");

    @Test
    void namesInAnyOrderAreSortedAsTheModelRegistersThem() {
        for (int seed = 0; seed < 100; seed++) {
            List<String> shuffled = new ArrayList<>(MODEL);
            Collections.shuffle(shuffled, new Random(seed));

            assertThat(sorted(shuffled)).isEqualTo(MODEL);
        }
    }

    @Test
    void equalNamesStayInTheirOrder() {
        NameTable names = NameTable.of(
                List.of("decoder.layers.1.mixer.D", "decoder.layers.0.mixer.D", "decoder.layers.1.mixer.D"));

        assertThat(MegatronOrder.of(names)).containsExactly(1, 0, 2);
    }

    private static List<String> sorted(List<String> names) {
        List<String> sorted = new ArrayList<>();
        for (int number : MegatronOrder.of(NameTable.of(names))) {
            sorted.add(names.get(number));
        }
        return sorted;
    }
}
