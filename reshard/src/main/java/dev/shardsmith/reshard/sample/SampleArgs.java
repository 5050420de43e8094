package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.LinkedHashMap;
import java.util.Map;

/** The saved options of a sample: the fields that Megatron compares or copies when it loads a checkpoint. */
final class SampleArgs {
    private SampleArgs() {}

    static MegatronArgs of(SampleSpec spec, HybridPattern pattern, int layers) {
        boolean hybrid = spec.kind() == SampleSpec.Kind.HYBRID;
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(layers));
        fields.put("hidden_size", PyInt.of(spec.hidden()));
        fields.put("ffn_hidden_size", PyInt.of(spec.ffn()));
        fields.put("num_attention_heads", PyInt.of(spec.heads()));
        fields.put("group_query_attention", PyBool.of(spec.queryGroups() != spec.heads()));
        fields.put("num_query_groups", PyInt.of(spec.queryGroups()));
        fields.put("kv_channels", PyInt.of(spec.headDim()));
        fields.put("mamba_state_dim", PyInt.of(spec.mambaState()));
        fields.put("mamba_head_dim", PyInt.of(spec.mambaHeadDim()));
        fields.put("mamba_num_groups", PyInt.of(spec.mambaGroups()));
        fields.put("mamba_num_heads", PyInt.of(spec.mambaHeads()));
        fields.put("is_hybrid_model", PyBool.of(hybrid));
        fields.put(
                "hybrid_layer_pattern",
                hybrid ? new PyStr(pattern.withoutPipes().text()) : PyNone.NONE);
        fields.put("hybrid_override_pattern", PyNone.NONE);
        fields.put("tensor_model_parallel_size", PyInt.of(1));
        fields.put("pipeline_model_parallel_size", PyInt.of(1));
        fields.put("virtual_pipeline_model_parallel_size", PyNone.NONE);
        fields.put("expert_model_parallel_size", PyInt.of(1));
        fields.put("expert_tensor_parallel_size", PyNone.NONE);
        fields.put("sequence_parallel", PyBool.FALSE);
        fields.put("world_size", PyInt.of(1));
        fields.put("rank", PyInt.of(0));
        fields.put("swiglu", PyBool.of(spec.gated()));
        fields.put("squared_relu", PyBool.of(!spec.gated()));
        fields.put("add_bias_linear", PyBool.of(spec.bias()));
        fields.put("normalization", new PyStr("RMSNorm"));
        fields.put("norm_epsilon", new PyFloat(1e-5));
        fields.put("position_embedding_type", new PyStr("none"));
        fields.put("add_position_embedding", PyBool.TRUE);
        fields.put("max_position_embeddings", PyInt.of(4096));
        fields.put("seq_length", PyInt.of(4096));
        fields.put("padded_vocab_size", PyInt.of(spec.vocabulary()));
        fields.put("make_vocab_size_divisible_by", PyInt.of(128));
        fields.put("untie_embeddings_and_output_weights", PyBool.of(!spec.tied()));
        fields.put("num_experts", spec.pattern().contains("E") ? PyInt.of(spec.experts()) : PyNone.NONE);
        fields.put("moe_ffn_hidden_size", PyInt.of(spec.expertFfn()));
        if (spec.sharedFfn() > 0) {
            fields.put("moe_shared_expert_intermediate_size", PyInt.of(spec.sharedFfn()));
            fields.put("moe_shared_expert_gate", PyBool.of(spec.gated()));
        }
        fields.put("moe_grouped_gemm", PyBool.of(spec.groupedExperts()));
        fields.put("mtp_num_layers", pattern.mtpDepths() > 0 ? PyInt.of(pattern.mtpDepths()) : PyNone.NONE);
        latent(fields, spec, pattern);
        delta(fields, spec.delta());
        fields.put("params_dtype", new PyGlobal("torch", spec.dtype().torchName()));
        fields.put("bf16", PyBool.of(spec.dtype() == DType.BF16));
        fields.put("fp16", PyBool.of(spec.dtype() == DType.F16));
        fields.put("transformer_impl", new PyStr(spec.fusedNorms() ? "transformer_engine" : "local"));
        fields.put("ckpt_format", new PyStr("torch"));
        fields.put("tokenizer_type", new PyStr("NullTokenizer"));
        fields.put("iteration", PyInt.of(1));
        fields.put("consumed_train_samples", PyInt.of(0));
        fields.put("consumed_valid_samples", PyInt.of(0));
        return MegatronArgs.create(fields);
    }

    private static void latent(Map<String, PyValue> fields, SampleSpec spec, HybridPattern pattern) {
        LatentSizes sizes = spec.latent();
        fields.put("multi_latent_attention", PyBool.of(pattern.isLatent()));
        fields.put("q_lora_rank", sizes.queryRank() > 0 ? PyInt.of(sizes.queryRank()) : PyNone.NONE);
        fields.put("kv_lora_rank", PyInt.of(sizes.keyValueRank()));
        fields.put("qk_head_dim", PyInt.of(sizes.headDim()));
        fields.put("qk_pos_emb_head_dim", PyInt.of(sizes.positionDim()));
        fields.put("v_head_dim", PyInt.of(sizes.valueDim()));
        fields.put("mla_down_proj_fusion", PyBool.of(sizes.fusedDown()));
        fields.put("dsa_indexer_n_heads", PyInt.of(sizes.indexHeads()));
        fields.put("dsa_indexer_head_dim", PyInt.of(sizes.indexDim()));
    }

    private static void delta(Map<String, PyValue> fields, DeltaSizes sizes) {
        fields.put("linear_conv_kernel_dim", PyInt.of(sizes.kernel()));
        fields.put("linear_key_head_dim", PyInt.of(sizes.keyDim()));
        fields.put("linear_value_head_dim", PyInt.of(sizes.valueDim()));
        fields.put("linear_num_key_heads", PyInt.of(sizes.keyHeads()));
        fields.put("linear_num_value_heads", PyInt.of(sizes.valueHeads()));
    }
}
