package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.LinkedHashMap;
import java.util.Map;

/** The saved options of a sample: the fields that Megatron compares or copies when it loads a checkpoint. */
final class SampleArgs {
    private SampleArgs() {}

    static MegatronArgs of(SampleSpec spec, int layers) {
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
        fields.put("is_hybrid_model", PyBool.TRUE);
        fields.put("hybrid_layer_pattern", new PyStr(spec.pattern().replace("|", "")));
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
        fields.put("moe_grouped_gemm", PyBool.of(spec.groupedExperts()));
        fields.put("params_dtype", new PyGlobal("torch", spec.dtype().torchName()));
        fields.put("bf16", PyBool.of(spec.dtype() == DType.BF16));
        fields.put("fp16", PyBool.of(spec.dtype() == DType.F16));
        fields.put("ckpt_format", new PyStr("torch"));
        fields.put("tokenizer_type", new PyStr("NullTokenizer"));
        fields.put("iteration", PyInt.of(1));
        fields.put("consumed_train_samples", PyInt.of(0));
        fields.put("consumed_valid_samples", PyInt.of(0));
        return MegatronArgs.create(fields);
    }
}
