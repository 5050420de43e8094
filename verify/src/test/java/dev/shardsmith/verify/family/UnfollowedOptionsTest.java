package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.check.CheckOptions;
import dev.shardsmith.verify.check.CheckReport;
import dev.shardsmith.verify.check.ForwardCheck;
import dev.shardsmith.verify.check.LayerRow;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Mamba1Mixer;
import dev.shardsmith.verify.forward.Mixer;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

final class UnfollowedOptionsTest {
    private static final int WIDTH = 8;

    static Stream<Arguments> megatronOptions() {
        return Stream.of(
                Arguments.of("window_size", List.of(128L, 0L), List.of("attention")),
                Arguments.of("use_rope_scaling", true, List.of("attention")),
                Arguments.of("rotary_seq_len_interpolation_factor", 2L, List.of("attention")),
                Arguments.of("no_rope_freq", 4L, List.of("attention")),
                Arguments.of("position_embedding_type", "yarn", List.of("attention")),
                Arguments.of("position_embedding_type", "relative", List.of("attention")),
                Arguments.of("mrope_section", List.of(16L, 24L, 24L), List.of("attention")),
                Arguments.of("softmax_type", "off-by-one", List.of("attention")),
                Arguments.of("qk_l2_norm", true, List.of("attention")),
                Arguments.of("quick_geglu", true, List.of("mlp", "moe")),
                Arguments.of("activation_func_clamp_value", 7.0, List.of("mlp", "moe")),
                Arguments.of("glu_linear_offset", 1.0, List.of("mlp", "moe")),
                Arguments.of("moe_router_load_balancing_type", "sinkhorn", List.of("moe")),
                Arguments.of("moe_router_load_balancing_type", List.of("aux_loss", "sinkhorn"), List.of("moe")),
                Arguments.of("moe_router_score_function", "sqrtsoftplus", List.of("moe")),
                Arguments.of("moe_expert_capacity_factor", 1.25, List.of("moe")),
                Arguments.of("moe_apply_probs_on_input", true, List.of("moe")),
                Arguments.of("moe_router_topk_limited_devices", 2L, List.of("moe")),
                Arguments.of("apply_residual_connection_post_layernorm", true, List.of("attention", "mlp", "moe")),
                Arguments.of("use_mup", true, List.of("attention", "mlp", "moe")),
                Arguments.of("normalization", "L2Norm", List.of("attention", "mlp", "moe")));
    }

    @ParameterizedTest
    @MethodSource("megatronOptions")
    void layersOnWhichAnOptionActsThatIsNotFollowedAreNotRun(String option, Object value, List<String> kinds)
            throws Exception {
        LayeredModel plain = megatron(Map.of());
        LayeredModel special = megatron(Map.of(option, value));
        assertThat(special.blocks().stream().filter(block -> block.notRun().isPresent()))
                .extracting(Block::kind)
                .containsExactlyElementsOf(kinds);
        for (List<LayeredModel> sides : List.of(List.of(plain, special), List.of(special, plain))) {
            CheckReport report =
                    new ForwardCheck(new CpuBackend(), sides.get(0), sides.get(1), CheckOptions.DEFAULT).run(row -> {});
            assertThat(report.rows().stream().filter(row -> row.verdict() == LayerRow.Verdict.NOT_RUN))
                    .extracting(LayerRow::kind)
                    .containsExactlyElementsOf(kinds);
            assertThat(report.notRun()).isEqualTo(kinds.size());
            assertThat(report.ok()).isFalse();
            assertThat(report.rows().stream().filter(row -> row.verdict() == LayerRow.Verdict.NOT_RUN))
                    .allSatisfy(
                            row -> assertThat(row.explanation().orElseThrow()).contains(option));
        }
        assertThatThrownBy(() -> special.logits(new CpuBackend(), new int[] {0, 1}, 1, 2, (done, all) -> {}))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(option);
    }

    static Stream<Arguments> harmless() {
        return Stream.of(
                Arguments.of("window_size", List.of(-1L, -1L)),
                Arguments.of("window_size", null),
                Arguments.of("use_rope_scaling", false),
                Arguments.of("rotary_seq_len_interpolation_factor", null),
                Arguments.of("position_embedding_type", "learned_absolute"),
                Arguments.of("softmax_type", "vanilla"),
                Arguments.of("glu_linear_offset", 0.0),
                Arguments.of("moe_router_load_balancing_type", List.of("seq_aux_loss", "global_aux_loss")),
                Arguments.of("moe_expert_capacity_factor", -1.0),
                Arguments.of("experimental_attention_variant", "gated_delta_net"),
                Arguments.of("fp8", "hybrid"),
                Arguments.of("recompute_granularity", "selective"));
    }

    @ParameterizedTest
    @MethodSource("harmless")
    void valuesThatChangeNothingAreRun(String option, Object value) throws Exception {
        Map<String, Object> options = new LinkedHashMap<>();
        options.put(option, value);
        assertThat(megatron(options).blocks())
                .hasSize(3)
                .allSatisfy(block -> assertThat(block.notRun()).isEmpty());
    }

    @Test
    void configurationsOfHuggingFaceAreReadToo() {
        assertThat(huggingFace("bamba", "hidden_act", "gelu")).isTrue();
        assertThat(huggingFace("zamba2", "hidden_act", "gelu")).isFalse();
        assertThat(huggingFace("nemotron_h", "mamba_hidden_act", "relu2")).isTrue();
        assertThat(huggingFace("granitemoehybrid", "rope_parameters", Map.of("rope_type", "yarn")))
                .isTrue();
        assertThat(huggingFace("granitemoehybrid", "rope_parameters", Map.of("rope_type", "default")))
                .isFalse();
        assertThat(huggingFace("bamba", "rope_scaling", Map.of("type", "linear", "factor", 2)))
                .isTrue();
        assertThat(huggingFace("nemotron_h", "sliding_window", 512)).isTrue();
        assertThat(huggingFace("zamba2", "use_long_context", true)).isTrue();
    }

    private static boolean huggingFace(String type, String option, Object value) {
        Settings config = new Settings("test", Map.of("model_type", type, option, value));
        LayeredModel model = mixed();
        return UnfollowedOptions.huggingFace(config).mark(model).blocks().stream()
                .anyMatch(block -> block.notRun().isPresent());
    }

    @Test
    void anyOptionOfMambaSsmThatIsNotKnownCounts() {
        Settings known = new Settings("test", Map.of("ssm_cfg", Map.of("d_state", 4, "chunk_size", 8)));
        Settings unknown = new Settings("test", Map.of("ssm_cfg", Map.of("d_state", 4, "new_gate", "relu")));
        assertThat(UnfollowedOptions.mambaSsm(known).mark(mixed()).blocks())
                .allSatisfy(block -> assertThat(block.notRun()).isEmpty());
        assertThat(UnfollowedOptions.mambaSsm(unknown)
                        .mark(mixed())
                        .blocks()
                        .get(0)
                        .notRun())
                .hasValueSatisfying(reason -> assertThat(reason).contains("new_gate = relu"));
    }

    /** A Mamba-1 layer and an attention layer, which nobody runs. */
    private static LayeredModel mixed() {
        WeightSource none = WeightSource.of(new float[0]);
        PreNorm norm = new PreNorm(Norm.rms(1e-5f), none, Optional.empty());
        Mixer mamba =
                new Mamba1Mixer(WIDTH, new Mamba1Mixer.Options(1, 1, Optional.empty()), List.of(), Optional.empty());
        Mixer attention = new AttentionMixer(
                WIDTH, new AttentionMixer.Options(1, 1, true, Optional.empty(), false), List.of(), Optional.empty());
        List<Block> blocks = List.of(
                new Block(0, "mamba", norm, List.of(mamba)), new Block(1, "attention", norm, List.of(attention)));
        return new LayeredModel(WIDTH, List.of(none), 1, blocks, Optional.of(norm), List.of(none), 1);
    }

    private static LayeredModel megatron(Map<String, Object> more) throws CheckpointException {
        Map<String, Object> args = new LinkedHashMap<>();
        args.put("num_attention_heads", 2);
        args.put("normalization", "RMSNorm");
        args.put("position_embedding_type", "rope");
        args.put("moe_router_topk", 1);
        args.put("moe_router_score_function", "sigmoid");
        args.putAll(more);
        Random random = new Random(5);
        Map<String, NamedWeights.Entry> weights = new LinkedHashMap<>();
        put(weights, random, "embedding.word_embeddings.weight", 4, WIDTH);
        put(weights, random, "decoder.final_norm.weight", WIDTH);
        put(weights, random, "decoder.layers.0.self_attention.linear_qkv.layer_norm_weight", WIDTH);
        put(weights, random, "decoder.layers.0.self_attention.linear_qkv.weight", 3 * WIDTH, WIDTH);
        put(weights, random, "decoder.layers.0.self_attention.linear_proj.weight", WIDTH, WIDTH);
        put(weights, random, "decoder.layers.1.mlp.linear_fc1.layer_norm_weight", WIDTH);
        put(weights, random, "decoder.layers.1.mlp.linear_fc1.weight", 12, WIDTH);
        put(weights, random, "decoder.layers.1.mlp.linear_fc2.weight", WIDTH, 6);
        put(weights, random, "decoder.layers.2.pre_mlp_layernorm.weight", WIDTH);
        put(weights, random, "decoder.layers.2.mlp.router.weight", 2, WIDTH);
        for (int e = 0; e < 2; e++) {
            String expert = "decoder.layers.2.mlp.experts.local_experts." + e + ".";
            put(weights, random, expert + "linear_fc1.weight", 12, WIDTH);
            put(weights, random, expert + "linear_fc2.weight", WIDTH, 6);
        }
        return MegatronModels.of(new Settings("test", args), List.of(new NamedWeights(weights)), 1);
    }

    private static void put(Map<String, NamedWeights.Entry> weights, Random random, String name, int... shape) {
        float[] values = new float[Arrays.stream(shape).reduce(1, (a, b) -> a * b)];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        weights.put(name, new NamedWeights.Entry(shape, WeightSource.of(values)));
    }
}
