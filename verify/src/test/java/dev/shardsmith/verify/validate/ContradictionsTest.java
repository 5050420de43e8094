package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.validate.Finding.Effect;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What contradictions between saved options and weights mean to a forward pass. */
final class ContradictionsTest {
    private static Contradictions of(String checkpoint, Map<String, String> set) throws IOException {
        try (ModelView view =
                Checkpoints.open(TestData.path("megatron-legacy", checkpoint, "tp1pp1"), OpenOptions.defaults())) {
            return Contradictions.of(view, set, Optional.empty());
        }
    }

    private static void assertOnly(Contradictions contradictions, String code, String where, Effect effect) {
        assertThat(contradictions.findings()).hasSize(1);
        Finding finding = contradictions.findings().get(0);
        assertThat(finding.code()).isEqualTo(code);
        assertThat(finding.where()).isEqualTo(where);
        assertThat(finding.effect()).isEqualTo(effect);
        assertThat(contradictions.doubts().contains(finding)).isEqualTo(effect == Effect.DOUBT);
        assertThat(contradictions.preventing().isPresent()).isEqualTo(effect == Effect.PREVENTS);
    }

    @Test
    void optionsThatTheWeightsBearOutAreNone() throws Exception {
        assertThat(of("current_plain_bf16", Map.of()).findings()).isEmpty();
        assertThat(of("current_bias_fp32", Map.of()).findings()).isEmpty();
    }

    @Test
    void biasesThatArePromisedAndNotStoredLeaveNoDoubt() throws Exception {
        assertOnly(
                of("current_plain_bf16", Map.of("add_bias_linear", "True")),
                "args.weights",
                "args.add_bias_linear",
                Effect.NONE);
    }

    @Test
    void biasesThatAreStoredAndDeniedLeaveOne() throws Exception {
        assertOnly(
                of("current_bias_fp32", Map.of("add_bias_linear", "False")),
                "args.weights",
                "args.add_bias_linear",
                Effect.DOUBT);
    }

    @Test
    void anOptionThatIsMissingLeavesNoDoubt() throws Exception {
        assertOnly(
                of("current_plain_bf16", Map.of("num_layers", "None")), "args.missing", "args.num_layers", Effect.NONE);
    }

    @Test
    void widthsThatNoTensorHasPreventIt() throws Exception {
        assertOnly(
                of("current_plain_bf16", Map.of("kv_channels", "2")),
                "shape.args",
                "decoder.layers.2.self_attention.linear_proj.weight",
                Effect.PREVENTS);
    }
}
