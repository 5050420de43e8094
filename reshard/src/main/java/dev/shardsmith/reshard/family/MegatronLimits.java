package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.World;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntPredicate;

/** Which tensor-parallel sizes Megatron accepts for a model; every violation is reported, before a byte is written. */
public final class MegatronLimits {
    private static final int SHOWN = 3;

    private MegatronLimits() {}

    /**
     * Fails if the model cannot be divided so.
     *
     * @param shapes shapes of the undivided parameters by canonical name
     * @param divisions how each is divided
     * @param args the saved options, if there are any
     */
    public static void require(
            Map<String, Shape> shapes,
            MegatronDivisions divisions,
            Optional<MegatronArgs> args,
            int tensor,
            int expertTensor)
            throws CheckpointException {
        Set<String> problems = new LinkedHashSet<>();
        for (Map.Entry<String, MegatronDivisions.Entry> entry :
                divisions.entries().entrySet()) {
            int world = entry.getValue().world() == World.TENSOR ? tensor : expertTensor;
            if (entry.getValue().division() instanceof Division.Split split) {
                check(entry.getKey(), shapes.get(entry.getKey()), split, world, problems);
            }
        }
        args.ifPresent(given -> checkHeads(given, divisions, tensor, problems));
        if (!problems.isEmpty()) {
            List<String> shown = new ArrayList<>(problems);
            String rest = shown.size() > SHOWN ? "; and " + (shown.size() - SHOWN) + " more" : "";
            throw CheckpointException.of(
                            Kind.REFUSED,
                            "",
                            "TP " + tensor + " does not divide this model: "
                                    + String.join("; ", shown.subList(0, Math.min(SHOWN, shown.size()))) + rest)
                    .withHint("TP sizes that divide it: " + legal(shapes, divisions, args));
        }
    }

    private static void check(String key, Shape shape, Division.Split split, int world, Set<String> problems) {
        for (Component component : split.components()) {
            if (!component.dividesEvenly(world)) {
                problems.add(key + " " + shape + ": "
                        + (component.name().isEmpty() ? "axis " + split.axis() : "its part " + component.name())
                        + " of "
                        + component.width());
            }
        }
    }

    private static void checkHeads(MegatronArgs args, MegatronDivisions divisions, int tensor, Set<String> problems) {
        boolean mixers = has(divisions, "mixer.A_log");
        boolean attention = has(divisions, "self_attention.linear_qkv.weight");
        boolean latent = has(divisions, "self_attention.linear_kv_up_proj.weight")
                || has(divisions, "self_attention.linear_k_up_proj.weight");
        if (has(divisions, "self_attention.A_log")) {
            whole(args, "linear_num_key_heads", "key heads of gated delta nets", tensor, problems);
            whole(args, "linear_num_value_heads", "value heads of gated delta nets", tensor, problems);
        }
        if (latent) {
            whole(args, "num_attention_heads", "attention heads", tensor, problems);
        }
        if (mixers) {
            long groups = args.integer("mamba_num_groups", 8);
            if (groups % tensor != 0) {
                problems.add(groups + " Mamba groups: every rank needs whole groups");
            }
        }
        if (attention) {
            long heads = args.integer("num_attention_heads", tensor);
            long groups = args.flag("group_query_attention", false) ? args.integer("num_query_groups", heads) : heads;
            if (heads % tensor != 0) {
                problems.add(heads + " attention heads");
            }
            if (groups > 0 && groups % tensor != 0 && tensor % groups != 0) {
                problems.add(groups + " query groups: neither divides the other");
            }
        }
    }

    private static boolean has(MegatronDivisions divisions, String suffix) {
        return divisions.entries().keySet().stream().anyMatch(key -> key.endsWith(suffix));
    }

    /** A head is never cut, even where its rows could be. */
    private static void whole(MegatronArgs args, String field, String what, int tensor, Set<String> problems) {
        long heads = args.integer(field, tensor);
        if (heads % tensor != 0) {
            problems.add(heads + " " + what);
        }
    }

    private static String legal(Map<String, Shape> shapes, MegatronDivisions divisions, Optional<MegatronArgs> args) {
        IntPredicate divides = size -> {
            Set<String> problems = new LinkedHashSet<>();
            divisions.entries().forEach((key, entry) -> {
                if (entry.division() instanceof Division.Split split) {
                    check(key, shapes.get(key), split, size, problems);
                }
            });
            args.ifPresent(given -> checkHeads(given, divisions, size, problems));
            return problems.isEmpty();
        };
        List<String> sizes = new ArrayList<>();
        for (int size = 1; size <= 128; size++) {
            if (divides.test(size)) {
                sizes.add(Integer.toString(size));
            }
        }
        return String.join(", ", sizes);
    }
}
