package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.family.ParameterRule.Part;
import dev.shardsmith.reshard.family.ParameterRule.When;
import dev.shardsmith.reshard.family.ParameterRule.World;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * The parameters of Megatron-LM's hybrid and GPT models and how each is divided.
 *
 * <p>Columns: key after the layer prefix ({@code #} is an expert's number); kind of layer where the division depends on it;
 * group of ranks ({@code tp}, {@code etp}) and axis, or {@code -} for replicated; parts along the axis as {@code name=width};
 * key in torch_dist, {@code =} if it is the same.
 */
final class MegatronTable {
    private static final String MODEL = """
            embedding.word_embeddings.weight                     any     tp  0  V=*                          =
            embedding.position_embeddings.weight                 any     -   -  -                            =
            decoder.final_norm.weight                            any     -   -  -                            =
            decoder.final_norm.bias                              any     -   -  -                            =
            decoder.final_layernorm.weight                       any     -   -  -                            =
            decoder.final_layernorm.bias                         any     -   -  -                            =
            output_layer.weight                                  any     tp  0  V=*                          =
            output_layer.bias                                    any     tp  0  V=*                          =
            """;

    private static final String MTP = """
            enorm.weight                                         any     -   -  -                            =
            enorm.bias                                           any     -   -  -                            =
            hnorm.weight                                         any     -   -  -                            =
            hnorm.bias                                           any     -   -  -                            =
            eh_proj.weight                                       any     tp  0  -                            =
            final_layernorm.weight                               any     -   -  -                            =
            final_layernorm.bias                                 any     -   -  -                            =
            """;

    private static final String LAYER = """
            input_layernorm.weight                               any     -   -  -                            =
            input_layernorm.bias                                 any     -   -  -                            =
            mixer.conv1d_weight                                  mamba2  tp  0  x=DI,B=GN,C=GN               mixer.conv1d.weight.*
            mixer.conv1d_bias                                    mamba2  tp  0  x=DI,B=GN,C=GN               mixer.conv1d.bias.*
            mixer.conv1d_weight                                  gdp     tp  0  V#=DI,K#=GN,Q=GN             mixer.conv1d.weight.*
            mixer.conv1d_bias                                    gdp     tp  0  V#=DI,K#=GN,Q=GN             mixer.conv1d.bias.*
            mixer.conv1d_weight                                  mamba1  tp  0  -                            mixer.conv1d.weight
            mixer.conv1d_bias                                    mamba1  tp  0  -                            mixer.conv1d.bias
            mixer.dt_bias                                        any     tp  0  -                            =
            mixer.A_log                                          any     tp  0  -                            =
            mixer.D                                              any     tp  0  -                            =
            mixer.in_proj.weight                                 mamba2  tp  0  z=DI,x=DI,B=GN,C=GN,dt=NH    mixer.in_proj.weight.*
            mixer.in_proj.bias                                   mamba2  tp  0  z=DI,x=DI,B=GN,C=GN,dt=NH    mixer.in_proj.bias.*
            mixer.in_proj.weight                                 gdp     tp  0  z=DI,V#=DI,K#=GN,Q=GN,b#=NH,a=NH  mixer.in_proj.weight.*
            mixer.in_proj.weight                                 mamba1  tp  0  x=DI,z=DI                    mixer.in_proj.weight.*
            mixer.in_proj.bias                                   mamba1  tp  0  x=DI,z=DI                    mixer.in_proj.bias.*
            mixer.in_proj.layer_norm_weight                      any     -   -  -                            =
            mixer.in_proj.layer_norm_bias                        any     -   -  -                            =
            mixer.conv1d.weight                                  mamba2  tp  0  x=DI,B=GN,C=GN               mixer.conv1d.weight.*
            mixer.conv1d.bias                                    mamba2  tp  0  x=DI,B=GN,C=GN               mixer.conv1d.bias.*
            mixer.conv1d.weight                                  gdp     tp  0  V#=DI,K#=GN,Q=GN             mixer.conv1d.weight.*
            mixer.conv1d.bias                                    gdp     tp  0  V#=DI,K#=GN,Q=GN             mixer.conv1d.bias.*
            mixer.conv1d.weight                                  mamba1  tp  0  -                            =
            mixer.conv1d.bias                                    mamba1  tp  0  -                            =
            mixer.x_proj.weight                                  mamba1  tp  1  -                            =
            mixer.dt_proj.weight                                 mamba1  tp  0  -                            =
            mixer.dt_proj.bias                                   mamba1  tp  0  -                            =
            mixer.norm.weight                                    any     tp  0  -                            =
            mixer.out_proj.weight                                any     tp  1  -                            =
            mixer.out_proj.bias                                  any     -   -  -                            =
            norm.weight                                          any     -   -  -                            =
            norm.bias                                            any     -   -  -                            =
            self_attention.dt_bias                               any     tp  0  -                            =
            self_attention.A_log                                 any     tp  0  -                            =
            self_attention.in_proj.weight                        gdn     tp  0  query=QK,key=QK,value=VD,z=VD,beta=NV,alpha=NV  self_attention.in_proj.weight.*
            self_attention.in_proj.weight                        gdn2    tp  0  query=QK,key=QK,value=VD,z=VD,f=QK,b=QK,w=VD    self_attention.in_proj.weight.*
            self_attention.in_proj.layer_norm_weight             any     -   -  -                            =
            self_attention.in_proj.layer_norm_bias               any     -   -  -                            =
            self_attention.conv1d.weight                         any     tp  0  query=QK,key=QK,value=VD     self_attention.conv1d.weight.*
            self_attention.conv1d.bias                           any     tp  0  query=QK,key=QK,value=VD     self_attention.conv1d.bias.*
            self_attention.out_norm.weight                       any     -   -  -                            =
            self_attention.out_norm.bias                         any     -   -  -                            =
            self_attention.out_proj.weight                       any     tp  1  -                            =
            self_attention.out_proj.bias                         any     -   -  -                            =
            self_attention.linear_proj.weight                    any     tp  1  -                            =
            self_attention.linear_proj.bias                      any     -   -  -                            =
            self_attention.linear_qkv.layer_norm_weight          any     -   -  -                            =
            self_attention.linear_qkv.layer_norm_bias            any     -   -  -                            =
            self_attention.linear_qkv.weight                     any     tp  0  -                            =
            self_attention.linear_qkv.bias                       any     tp  0  -                            =
            self_attention.q_layernorm.weight                    any     -   -  -                            =
            self_attention.q_layernorm.bias                      any     -   -  -                            =
            self_attention.k_layernorm.weight                    any     -   -  -                            =
            self_attention.k_layernorm.bias                      any     -   -  -                            =
            self_attention.core_attention.softmax_offset         any     tp  0  -                            =
            self_attention.linear_q_proj.weight                  any     tp  0  -                            =
            self_attention.linear_q_proj.layer_norm_weight       any     -   -  -                            =
            self_attention.linear_q_proj.layer_norm_bias         any     -   -  -                            =
            self_attention.linear_qkv_down_proj.weight           fused_down tp 0 q=QR,kv=REST                self_attention.linear_*_down_proj.weight
            self_attention.linear_qkv_down_proj.weight           any     -   -  -                            =
            self_attention.linear_qkv_down_proj.layer_norm_weight any    -   -  -                            input_layernorm.weight
            self_attention.linear_qkv_down_proj.layer_norm_bias  any     -   -  -                            input_layernorm.bias
            self_attention.linear_q_down_proj.weight             any     -   -  -                            =
            self_attention.linear_kv_down_proj.weight            any     -   -  -                            =
            self_attention.linear_q_up_proj.layer_norm_weight    any     -   -  -                            =
            self_attention.linear_q_up_proj.layer_norm_bias      any     -   -  -                            =
            self_attention.linear_q_up_proj.weight               any     tp  0  -                            =
            self_attention.linear_kv_up_proj.layer_norm_weight   any     -   -  -                            =
            self_attention.linear_kv_up_proj.layer_norm_bias     any     -   -  -                            =
            self_attention.linear_kv_up_proj.weight              any     tp  0  -                            =
            self_attention.linear_k_up_proj.weight               any     tp  0  -                            =
            self_attention.linear_v_up_proj.weight               any     tp  0  -                            =
            self_attention.kv_layernorm.weight                   any     -   -  -                            =
            self_attention.kv_layernorm.bias                     any     -   -  -                            =
            self_attention.core_attention.indexer.linear_wq_b.weight         any  -  -  -                    =
            self_attention.core_attention.indexer.linear_wk.weight           any  -  -  -                    =
            self_attention.core_attention.indexer.k_norm.weight              any  -  -  -                    =
            self_attention.core_attention.indexer.k_norm.bias                any  -  -  -                    =
            self_attention.core_attention.indexer.linear_weights_proj.weight any  -  -  -                    =
            pre_mlp_layernorm.weight                             any     -   -  -                            =
            pre_mlp_layernorm.bias                               any     -   -  -                            =
            mlp.router.weight                                    any     -   -  -                            =
            mlp.router.bias                                      any     -   -  -                            =
            mlp.router.expert_bias                               any     -   -  -                            =
            mlp.router.qb_beta                                   any     -   -  -                            =
            mlp.fc1_latent_proj.weight                           any     -   -  -                            =
            mlp.fc1_latent_proj.bias                             any     -   -  -                            =
            mlp.fc2_latent_proj.weight                           any     -   -  -                            =
            mlp.fc2_latent_proj.bias                             any     -   -  -                            =
            mlp.experts.linear_fc1.weight#                       any     etp 0  gate=HALF,up=HALF            mlp.experts.experts.linear_fc1.weight
            mlp.experts.linear_fc1.bias#                         any     etp 0  gate=HALF,up=HALF            mlp.experts.experts.linear_fc1.bias
            mlp.experts.linear_fc2.weight#                       any     etp 1  -                            mlp.experts.experts.linear_fc2.weight
            mlp.experts.linear_fc2.bias#                         any     etp -  -                            mlp.experts.experts.linear_fc2.bias
            mlp.experts.local_experts.#.linear_fc1.weight        any     etp 0  gate=HALF,up=HALF            mlp.experts.experts.linear_fc1.weight
            mlp.experts.local_experts.#.linear_fc1.bias          any     etp 0  gate=HALF,up=HALF            mlp.experts.experts.linear_fc1.bias
            mlp.experts.local_experts.#.linear_fc2.weight        any     etp 1  -                            mlp.experts.experts.linear_fc2.weight
            mlp.experts.local_experts.#.linear_fc2.bias          any     etp -  -                            mlp.experts.experts.linear_fc2.bias
            mlp.shared_experts.gate_weight                       any     -   -  -                            =
            mlp.shared_experts.linear_fc1.weight                 any     tp  0  gate=HALF,up=HALF            =
            mlp.shared_experts.linear_fc1.bias                   any     tp  0  gate=HALF,up=HALF            =
            mlp.shared_experts.linear_fc2.weight                 any     tp  1  -                            =
            mlp.shared_experts.linear_fc2.bias                   any     -   -  -                            =
            mlp.linear_fc1.layer_norm_weight                     any     -   -  -                            =
            mlp.linear_fc1.layer_norm_bias                       any     -   -  -                            =
            mlp.linear_fc1.weight                                any     tp  0  gate=HALF,up=HALF            =
            mlp.linear_fc1.bias                                  any     tp  0  gate=HALF,up=HALF            =
            mlp.linear_fc2.weight                                any     tp  1  -                            =
            mlp.linear_fc2.bias                                  any     -   -  -                            =
            """;

    private static final String EXPERTS = "mlp.experts.";
    private static final String MODULE = "local_experts.";
    private static final List<String> GROUPED =
            List.of("linear_fc1.weight", "linear_fc1.bias", "linear_fc2.weight", "linear_fc2.bias");

    private static final List<ParameterRule> MODEL_RULES = parse(MODEL);
    private static final List<ParameterRule> MTP_RULES = parse(MTP);
    private static final List<ParameterRule> LAYER_RULES = parse(LAYER);

    private static final Map<String, List<ParameterRule>> MODEL_SUFFIXES = bySuffix(MODEL_RULES);
    private static final Map<String, List<ParameterRule>> MTP_SUFFIXES = bySuffix(MTP_RULES);
    private static final Map<String, List<ParameterRule>> LAYER_SUFFIXES = bySuffix(LAYER_RULES);

    private MegatronTable() {}

    /** The rows of a scope in the order of registration in the model. */
    static List<ParameterRule> rules(MegatronName.Scope scope) {
        return switch (scope) {
            case MODEL -> MODEL_RULES;
            case MTP -> MTP_RULES;
            case LAYER, MTP_LAYER -> LAYER_RULES;
        };
    }

    /** The rows of a scope for one suffix, {@code #} in place of an expert's number; several where kinds of layer differ. */
    static List<ParameterRule> rules(MegatronName.Scope scope, String suffix) {
        Map<String, List<ParameterRule>> suffixes = switch (scope) {
            case MODEL -> MODEL_SUFFIXES;
            case MTP -> MTP_SUFFIXES;
            case LAYER, MTP_LAYER -> LAYER_SUFFIXES;
        };
        return suffixes.getOrDefault(suffix, List.of());
    }

    /** The row for a parameter in a layer of the given kind, if the table knows it. */
    static Optional<ParameterRule> find(MegatronName name, When kind) {
        for (ParameterRule rule : rules(name.scope(), withoutExpertNumber(name.suffix()))) {
            if (rule.when() == When.ANY || rule.when() == kind) {
                return Optional.of(rule);
            }
        }
        return Optional.empty();
    }

    /** {@code mlp.experts.linear_fc1.weight12} as {@code mlp.experts.linear_fc1.weight#}. */
    static String withoutExpertNumber(String suffix) {
        int start = expertDigits(suffix);
        return start < 0 ? suffix : suffix.substring(0, start) + "#" + suffix.substring(Digits.end(suffix, start));
    }

    /** The expert's number in a suffix, or -1 if there is none. */
    static int expertNumber(String suffix) {
        int start = expertDigits(suffix);
        return start < 0 ? -1 : Integer.parseInt(suffix, start, Digits.end(suffix, start), 10);
    }

    /** Where the expert's number begins, or -1. */
    private static int expertDigits(String suffix) {
        int at = suffix.indexOf(EXPERTS);
        while (at >= 0) {
            int behind = at + EXPERTS.length();
            if (suffix.startsWith(MODULE, behind)) {
                int start = behind + MODULE.length();
                int end = Digits.end(suffix, start);
                if (end > start && end < suffix.length() && suffix.charAt(end) == '.') {
                    return start;
                }
            }
            for (String parameter : GROUPED) {
                int start = behind + parameter.length();
                if (suffix.startsWith(parameter, behind)
                        && start < suffix.length()
                        && Digits.end(suffix, start) == suffix.length()) {
                    return start;
                }
            }
            at = suffix.indexOf(EXPERTS, behind);
        }
        return -1;
    }

    private static Map<String, List<ParameterRule>> bySuffix(List<ParameterRule> rules) {
        return rules.stream().collect(Collectors.groupingBy(ParameterRule::suffix));
    }

    private static List<ParameterRule> parse(String table) {
        List<ParameterRule> rules = new ArrayList<>();
        for (String line : table.lines().toList()) {
            String[] cells = line.trim().split(" +");
            List<Part> parts = new ArrayList<>();
            if (!cells[4].equals("-")) {
                for (String part : cells[4].split(",")) {
                    parts.add(new Part(part.substring(0, part.indexOf('=')), part.substring(part.indexOf('=') + 1)));
                }
            }
            rules.add(new ParameterRule(
                    cells[0],
                    When.valueOf(cells[1].toUpperCase(Locale.ROOT)),
                    cells[2].equals("etp") ? World.EXPERT_TENSOR : World.TENSOR,
                    cells[3].equals("-") ? -1 : Integer.parseInt(cells[3]),
                    List.copyOf(parts),
                    cells[5].equals("=") ? cells[0] : cells[5],
                    rules.size()));
        }
        return List.copyOf(rules);
    }
}
