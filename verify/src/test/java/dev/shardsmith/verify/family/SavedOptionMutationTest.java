package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import java.math.BigInteger;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Whatever the saved options of a Megatron run are, its layers run or are refused as a fault of the checkpoint. */
final class SavedOptionMutationTest {
    /** Options that forward passes and validation ask for. */
    private static final List<String> OPTIONS = List.of(
            "num_layers",
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "group_query_attention",
            "num_query_groups",
            "kv_channels",
            "attention_output_gate",
            "rotary_percent",
            "rotary_base",
            "rotary_interleaved",
            "position_embedding_type",
            "softmax_scale",
            "norm_epsilon",
            "layernorm_epsilon",
            "normalization",
            "apply_layernorm_1p",
            "swiglu",
            "squared_relu",
            "bias_gelu_fusion",
            "add_bias_linear",
            "mamba_state_dim",
            "mamba_head_dim",
            "mamba_num_groups",
            "mamba_num_heads",
            "linear_key_head_dim",
            "num_experts",
            "moe_ffn_hidden_size",
            "moe_router_topk",
            "moe_router_num_groups",
            "moe_router_group_topk",
            "moe_router_topk_scaling_factor",
            "moe_router_score_function",
            "moe_router_pre_softmax",
            "vocab_size",
            "padded_vocab_size",
            "make_vocab_size_divisible_by",
            "untie_embeddings_and_output_weights",
            "mtp_num_layers",
            "mtp_use_repeated_layer");

    private static List<Object> values() {
        List<Object> values = new ArrayList<>(List.of(
                0L,
                -1L,
                1L,
                3L,
                1_000_000_000_000L,
                BigInteger.ONE.shiftLeft(80),
                0.3,
                -0.5,
                1.5,
                Double.NaN,
                Double.POSITIVE_INFINITY,
                true,
                false,
                "text",
                List.of(1L)));
        values.add(null);
        return values;
    }

    @Test
    void everyOptionIsFollowedOrRefused() throws Exception {
        run("megatron-legacy/current_plain_bf16/tp2pp2", List.of(-1L, 0L, 0.3, Double.NaN, "text"));
    }

    @ParameterizedTest
    @Tag("soak")
    @ValueSource(
            strings = {
                "megatron-legacy/current_plain_bf16/tp2pp2",
                "megatron-legacy/current_qkvbias_swiglu/tp1pp1",
                "megatron-torch-dist/moe_swiglu_tied_tp2pp1"
            })
    void everyOptionOfOtherModelsIsFollowedOrRefused(String checkpoint) throws Exception {
        run(checkpoint, values());
    }

    private static void run(String checkpoint, List<Object> values) throws Exception {
        List<String> faults = new ArrayList<>();
        int refused = 0;
        try (ModelView view = Checkpoints.open(TestData.path(checkpoint), OpenOptions.defaults())) {
            for (String option : OPTIONS) {
                for (Object value : values) {
                    Map<String, Object> override = new LinkedHashMap<>();
                    override.put(option, value);
                    try {
                        LayeredModel model = CheckpointModels.of(view, rotated(override));
                        model.logits(new CpuBackend(), new int[] {1, 2, 3}, 1, 3, (done, all) -> {});
                    } catch (CheckpointException expected) {
                        refused++;
                    } catch (RuntimeException fault) {
                        faults.add(override + ": " + fault);
                    }
                }
            }
        }
        assertThat(faults).isEmpty();
        assertThat(refused).isGreaterThan(OPTIONS.size());
    }

    @ParameterizedTest
    @CsvSource({
        "rotary_percent, -0.5",
        "rotary_percent, 1.5",
        "rotary_percent, 0.3",
        "rotary_base, 0",
        "norm_epsilon, -1",
        "norm_epsilon, NaN",
        "num_attention_heads, 0",
        "num_attention_heads, 3",
        "attention_output_gate, true",
        "mamba_state_dim, 0",
        "mamba_num_groups, -1"
    })
    void whatNoModelIsIsRefused(String option, String value) throws Exception {
        Path checkpoint = TestData.path("megatron-legacy/current_plain_bf16/tp2pp2");
        Object parsed = value.equals("true")
                ? (Object) true
                : value.matches("-?\\d+") ? (Object) Long.valueOf(value) : Double.valueOf(value);
        try (ModelView view = Checkpoints.open(checkpoint, OpenOptions.defaults())) {
            assertThatThrownBy(() -> CheckpointModels.of(view, rotated(Map.of(option, parsed))))
                    .isInstanceOf(CheckpointException.class)
                    .extracting(failure -> ((CheckpointException) failure).kind())
                    .isEqualTo(CheckpointException.Kind.INCONSISTENT);
        }
    }

    /** The same with rotary embeddings, which the golden models have not. */
    private static Map<String, Object> rotated(Map<String, Object> override) {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put("position_embedding_type", "rope");
        options.putAll(override);
        return options;
    }
}
