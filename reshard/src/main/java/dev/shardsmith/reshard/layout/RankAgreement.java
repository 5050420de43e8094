package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Whether rank files are of one checkpoint: same iteration, same counters, same model.
 *
 * <p>Every rank saves the same options but for its own number and what its machine is called; compared is what tells runs,
 * iterations and models apart.
 */
final class RankAgreement {
    private static final List<String> ENTRIES =
            List.of("iteration", "checkpoint_version", "num_floating_point_operations_so_far");

    private static final List<String> OPTIONS = List.of(
            "iteration",
            "consumed_train_samples",
            "num_layers",
            "hidden_size",
            "ffn_hidden_size",
            "num_attention_heads",
            "num_query_groups",
            "kv_channels",
            "padded_vocab_size",
            "hybrid_layer_pattern",
            "hybrid_override_pattern",
            "mamba_state_dim",
            "mamba_head_dim",
            "mamba_num_groups",
            "mamba_num_heads",
            "num_experts",
            "moe_ffn_hidden_size",
            "swiglu",
            "normalization",
            "add_bias_linear",
            "untie_embeddings_and_output_weights",
            "params_dtype",
            "tensor_model_parallel_size",
            "pipeline_model_parallel_size",
            "virtual_pipeline_model_parallel_size",
            "expert_model_parallel_size",
            "expert_tensor_parallel_size");

    private RankAgreement() {}

    /** What the files contradict each other on, each with two files and their values; empty if they are of one checkpoint. */
    static List<String> conflicts(Collection<RankFile> files) {
        Map<String, RankFile> first = new LinkedHashMap<>();
        Map<String, String> conflicts = new LinkedHashMap<>();
        Map<String, PyValue> said = new LinkedHashMap<>();
        for (RankFile file : files) {
            values(file).forEach((what, value) -> {
                PyValue other = said.putIfAbsent(what, value);
                first.putIfAbsent(what, file);
                if (other != null && !other.equals(value)) {
                    conflicts.putIfAbsent(
                            what,
                            "%s is %s in %s, but %s in %s"
                                    .formatted(
                                            what, text(other), first.get(what).name(), text(value), file.name()));
                }
            });
        }
        return new ArrayList<>(conflicts.values());
    }

    /**
     * What the ranks' own numbers say against the places of their files.
     *
     * <p>Processes are numbered tensor parallelism first and pipeline last, so numbers rise with both. A conversion gives all files
     * the same number, which says nothing.
     */
    static List<String> order(Map<RankGrid.Rank, RankFile> files) {
        Map<RankGrid.Rank, Long> numbers = new LinkedHashMap<>();
        files.forEach((rank, file) -> Optional.ofNullable(file.entries().get("args"))
                .flatMap(MegatronArgs::of)
                .map(args -> args.integer("rank"))
                .filter(OptionalLong::isPresent)
                .ifPresent(number -> numbers.put(rank, number.getAsLong())));
        if (numbers.size() < files.size()
                || numbers.values().stream().distinct().count() < 2) {
            return List.of();
        }
        List<String> remarks = new ArrayList<>();
        numbers.forEach((rank, number) -> numbers.forEach((other, next) -> {
            boolean stageBehind = rank.tensor() == other.tensor()
                    && rank.expert() == other.expert()
                    && rank.pipeline() + 1 == other.pipeline();
            boolean shardBehind = rank.pipeline() == other.pipeline()
                    && rank.expert() == 0
                    && other.expert() == 0
                    && rank.tensor() + 1 == other.tensor();
            if (number >= next && (stageBehind || shardBehind) && remarks.isEmpty()) {
                remarks.add("process %d saved %s, and process %d %s: see whether files are swapped or copied"
                        .formatted(
                                number,
                                files.get(rank).name(),
                                next,
                                files.get(other).name()));
            }
        }));
        return remarks;
    }

    private static Map<String, PyValue> values(RankFile file) {
        Map<String, PyValue> values = new LinkedHashMap<>();
        for (String entry : ENTRIES) {
            Optional.ofNullable(file.entries().get(entry)).ifPresent(value -> values.put(entry, value));
        }
        Optional<MegatronArgs> args =
                Optional.ofNullable(file.entries().get("args")).flatMap(MegatronArgs::of);
        args.ifPresent(saved -> {
            for (String option : OPTIONS) {
                if (saved.has(option)) {
                    values.put("args." + option, saved.value(option).orElse(PyNone.NONE));
                }
            }
        });
        return values;
    }

    private static String text(PyValue value) {
        return MegatronArgs.shown(value).orElse("another value");
    }
}
