package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class LeftoversTest {

    @Test
    void whatTheFirstRankWasAskedForIsACopyOnTheOthers() throws Exception {
        NamedWeights first = weights("decoder.layers.3.norm.weight", "decoder.layers.3.mixer.D");
        NamedWeights second = weights("decoder.layers.3.norm.weight", "decoder.layers.3.mixer.D");
        first.under("decoder.layers.3.").get("norm.weight");
        first.find("decoder.layers.3.mixer.D");
        second.find("decoder.layers.3.mixer.D");

        Remainder rest = Leftovers.of(List.of(first, second), List.of());

        assertThat(rest.notRun()).isEmpty();
        assertThat(rest.copies()).hasSize(1);
        assertThat(rest.copies().get(0).layer()).contains(3);
        assertThat(rest.copies().get(0).name()).isEqualTo("decoder.layers.3.norm.weight on rank 1");
    }

    @Test
    void whatNobodyWasAskedForIsNotRunAndNamedByLayer() throws Exception {
        NamedWeights only = weights(
                "decoder.layers.0.mixer.in_proj.weight",
                "decoder.layers.1.self_attention.A_log",
                "decoder.layers.1.self_attention.conv1d.weight",
                "decoder.layers.1.self_attention._extra_state",
                "mtp.layers.0.enorm.weight",
                "output_layer.bias");
        only.get("decoder.layers.0.mixer.in_proj.weight");
        only.has("output_layer.bias");

        assertThat(Leftovers.of(List.of(only), List.of()).notRun())
                .containsExactly(
                        new Remainder.NotRun(
                                Optional.of(1), "part", "decoder.layers.1.self_attention.A_log and 1 more"),
                        new Remainder.NotRun(Optional.empty(), "mtp", "mtp.layers.0.enorm.weight"),
                        new Remainder.NotRun(Optional.empty(), "part", "output_layer.bias"));
    }

    private static NamedWeights weights(String... names) {
        Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
        for (String name : names) {
            entries.put(name, new NamedWeights.Entry(new int[] {2}, WeightSource.of(new float[] {1, 2})));
        }
        return new NamedWeights(entries);
    }
}
