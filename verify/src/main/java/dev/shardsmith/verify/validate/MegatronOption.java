package dev.shardsmith.verify.validate;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * An option of the training program that bears on a checkpoint.
 *
 * @param option the option
 * @param field the argument that it sets, as a checkpoint saves it
 * @param kind what follows it
 * @param otherwise the argument's value where the option is not given
 */
record MegatronOption(String option, String field, Kind kind, String otherwise) {
    /** What follows an option. */
    enum Kind {
        /** Nothing; giving it makes the argument true. */
        ON,
        /** Nothing; giving it makes the argument false. */
        OFF,
        /** One value. */
        ONE,
        /** Any number of values. */
        MANY
    }

    private static final String TABLE = """
            --tensor-model-parallel-size              tensor_model_parallel_size              ONE  1
            --pipeline-model-parallel-size            pipeline_model_parallel_size            ONE  1
            --expert-model-parallel-size              expert_model_parallel_size              ONE  1
            --expert-tensor-parallel-size             expert_tensor_parallel_size             ONE  None
            --context-parallel-size                   context_parallel_size                   ONE  1
            --sequence-parallel                       sequence_parallel                       ON   False
            --num-layers-per-virtual-pipeline-stage   num_layers_per_virtual_pipeline_stage   ONE  None
            --num-virtual-stages-per-pipeline-rank    num_virtual_stages_per_pipeline_rank    ONE  None
            --pipeline-model-parallel-layout          pipeline_model_parallel_layout          ONE  None
            --decoder-first-pipeline-num-layers       decoder_first_pipeline_num_layers       ONE  None
            --decoder-last-pipeline-num-layers        decoder_last_pipeline_num_layers        ONE  None
            --account-for-embedding-in-pipeline-split account_for_embedding_in_pipeline_split ON   False
            --account-for-loss-in-pipeline-split      account_for_loss_in_pipeline_split      ON   False
            --num-layers                              num_layers                              ONE  None
            --hidden-size                             hidden_size                             ONE  None
            --ffn-hidden-size                         ffn_hidden_size                         ONE  None
            --num-attention-heads                     num_attention_heads                     ONE  None
            --kv-channels                             kv_channels                             ONE  None
            --group-query-attention                   group_query_attention                   ON   False
            --num-query-groups                        num_query_groups                        ONE  1
            --attention-output-gate                   attention_output_gate                   ON   False
            --max-position-embeddings                 max_position_embeddings                 ONE  None
            --position-embedding-type                 position_embedding_type                 ONE  learned_absolute
            --no-position-embedding                   add_position_embedding                  OFF  True
            --rotary-base                             rotary_base                             ONE  10000
            --rotary-percent                          rotary_percent                          ONE  1.0
            --rotary-interleaved                      rotary_interleaved                      ON   False
            --make-vocab-size-divisible-by            make_vocab_size_divisible_by            ONE  128
            --vocab-size                              vocab_size                              ONE  None
            --padded-vocab-size                       padded_vocab_size                       ONE  None
            --vocab-file                              vocab_file                              ONE  None
            --tokenizer-type                          tokenizer_type                          ONE  None
            --tokenizer-model                         tokenizer_model                         ONE  None
            --normalization                           normalization                           ONE  LayerNorm
            --norm-epsilon                            norm_epsilon                            ONE  1e-05
            --apply-layernorm-1p                      apply_layernorm_1p                      ON   False
            --untie-embeddings-and-output-weights     untie_embeddings_and_output_weights     ON   False
            --swiglu                                  swiglu                                  ON   False
            --squared-relu                            squared_relu                            ON   False
            --disable-bias-linear                     add_bias_linear                         OFF  True
            --add-qkv-bias                            add_qkv_bias                            ON   False
            --qk-layernorm                            qk_layernorm                            ON   False
            --hybrid-layer-pattern                    hybrid_layer_pattern                    ONE  None
            --hybrid-override-pattern                 hybrid_override_pattern                 ONE  None
            --hybrid-attention-ratio                  hybrid_attention_ratio                  ONE  0.0
            --hybrid-mlp-ratio                        hybrid_mlp_ratio                        ONE  0.0
            --is-hybrid-model                         is_hybrid_model                         ON   False
            --mtp-num-layers                          mtp_num_layers                          ONE  None
            --mtp-hybrid-override-pattern             mtp_hybrid_override_pattern             ONE  None
            --mtp-use-repeated-layer                  mtp_use_repeated_layer                  ON   False
            --mamba-state-dim                         mamba_state_dim                         ONE  128
            --mamba-head-dim                          mamba_head_dim                          ONE  64
            --mamba-num-groups                        mamba_num_groups                        ONE  8
            --mamba-num-heads                         mamba_num_heads                         ONE  None
            --gdp-num-householder                     gdp_num_householder                     ONE  3
            --linear-conv-kernel-dim                  linear_conv_kernel_dim                  ONE  4
            --linear-value-head-dim                   linear_value_head_dim                   ONE  128
            --linear-num-value-heads                  linear_num_value_heads                  ONE  32
            --spec                                    spec                                    MANY None
            --num-experts                             num_experts                             ONE  None
            --moe-ffn-hidden-size                     moe_ffn_hidden_size                     ONE  None
            --moe-grouped-gemm                        moe_grouped_gemm                        ON   False
            --moe-shared-expert-intermediate-size     moe_shared_expert_intermediate_size     ONE  None
            --moe-latent-size                         moe_latent_size                         ONE  None
            --moe-router-enable-expert-bias           moe_router_enable_expert_bias           ON   False
            --moe-router-topk                         moe_router_topk                         ONE  2
            --moe-router-score-function               moe_router_score_function               ONE  softmax
            --moe-layer-freq                          moe_layer_freq                          ONE  1
            --multi-latent-attention                  multi_latent_attention                  ON   False
            --q-lora-rank                             q_lora_rank                             ONE  None
            --kv-lora-rank                            kv_lora_rank                            ONE  32
            --fp16                                    fp16                                    ON   False
            --bf16                                    bf16                                    ON   False
            --use-distributed-optimizer               use_distributed_optimizer               ON   False
            --no-load-optim                           no_load_optim                           ON   False
            --no-load-rng                             no_load_rng                             ON   False
            --finetune                                finetune                                ON   False
            --load                                    load                                    ONE  None
            --pretrained-checkpoint                   pretrained_checkpoint                   ONE  None
            --ckpt-step                               ckpt_step                               ONE  None
            --use-checkpoint-args                     use_checkpoint_args                     ON   False
            --exit-on-missing-checkpoint              exit_on_missing_checkpoint              ON   False
            """;

    /** Options that the training program no longer accepts or warns of, and what to write instead. */
    private static final Map<String, String> OUTDATED = Map.of(
            "--model-parallel-size", "--tensor-model-parallel-size",
            "--batch-size", "--micro-batch-size",
            "--warmup", "--lr-warmup-fraction",
            "--layernorm-epsilon", "--norm-epsilon",
            "--encoder-num-layers", "--num-layers",
            "--hybrid-attention-ratio", "--hybrid-layer-pattern",
            "--hybrid-mlp-ratio", "--hybrid-layer-pattern",
            "--hybrid-override-pattern", "--hybrid-layer-pattern",
            "--mtp-hybrid-override-pattern", "--hybrid-layer-pattern",
            "--use-rotary-position-embeddings", "--position-embedding-type rope");

    private static final Map<String, MegatronOption> BY_OPTION = parse();

    /** Every option, in the order of the table. */
    static List<MegatronOption> all() {
        return List.copyOf(BY_OPTION.values());
    }

    /** The option of this name. */
    static Optional<MegatronOption> of(String option) {
        return Optional.ofNullable(BY_OPTION.get(option));
    }

    /** The option that sets an argument. */
    static Optional<MegatronOption> ofField(String field) {
        return BY_OPTION.values().stream()
                .filter(option -> option.field().equals(field))
                .findFirst();
    }

    /** What to write instead of an option of older releases. */
    static Optional<String> instead(String option) {
        return Optional.ofNullable(OUTDATED.get(option));
    }

    /** How to give the argument this value; what to leave out if it has it by default. */
    String giving(String value) {
        boolean wanted = value.equals("True");
        return switch (kind) {
            case ON -> wanted ? "add " + option : "remove " + option;
            case OFF -> wanted ? "remove " + option : "add " + option;
            case ONE, MANY -> value.equals("None") ? "remove " + option : option + " " + value;
        };
    }

    private static Map<String, MegatronOption> parse() {
        Map<String, MegatronOption> options = new LinkedHashMap<>();
        for (String line : TABLE.lines().toList()) {
            String[] cells = line.strip().split(" +");
            options.put(cells[0], new MegatronOption(cells[0], cells[1], Kind.valueOf(cells[2]), cells[3]));
        }
        return options;
    }
}
