package dev.shardsmith.reshard.completeness;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MegatronExperts;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * Whether the shapes of a model's parameters fit each other.
 *
 * <p>The table names the axes: upper case for widths of the whole model, lower case for those of one layer, {@code *} for an axis
 * of which others say nothing. Of each width the value that most parameters have is taken, and the others are out of line.
 */
public final class ShapeAgreement {
    private static final Map<String, String[]> AXES = axes("""
            embedding.word_embeddings.weight                 V H
            embedding.position_embeddings.weight             * H
            output_layer.weight                              V H
            output_layer.bias                                V
            decoder.final_norm.weight                        H
            decoder.final_norm.bias                          H
            decoder.final_layernorm.weight                   H
            decoder.final_layernorm.bias                     H
            enorm.weight                                     H
            hnorm.weight                                     H
            eh_proj.weight                                   H *
            final_layernorm.weight                           H
            norm.weight                                      H
            norm.bias                                        H
            input_layernorm.weight                           H
            input_layernorm.bias                             H
            pre_mlp_layernorm.weight                         H
            pre_mlp_layernorm.bias                           H
            mixer.in_proj.layer_norm_weight                  H
            mixer.in_proj.layer_norm_bias                    H
            mixer.in_proj.weight                             i H
            mixer.in_proj.bias                               i
            mixer.conv1d_weight                              c * *
            mixer.conv1d.weight                              c * *
            mixer.conv1d_bias                                c
            mixer.conv1d.bias                                c
            mixer.norm.weight                                d
            mixer.out_proj.weight                            H d
            mixer.out_proj.bias                              H
            self_attention.linear_qkv.layer_norm_weight      H
            self_attention.linear_qkv.layer_norm_bias        H
            self_attention.linear_qkv.weight                 q H
            self_attention.linear_qkv.bias                   q
            self_attention.linear_proj.weight                H *
            self_attention.linear_proj.bias                  H
            self_attention.linear_q_down_proj.weight         * H
            self_attention.linear_kv_down_proj.weight        * H
            self_attention.linear_q_proj.weight              * H
            self_attention.in_proj.layer_norm_weight         H
            self_attention.in_proj.weight                    * H
            self_attention.out_proj.weight                   H *
            mlp.linear_fc1.layer_norm_weight                 H
            mlp.linear_fc1.layer_norm_bias                   H
            mlp.linear_fc1.weight                            f H
            mlp.linear_fc1.bias                              f
            mlp.linear_fc2.weight                            H *
            mlp.linear_fc2.bias                              H
            mlp.router.weight                                e *
            mlp.router.bias                                  e
            mlp.router.expert_bias                           e
            mlp.experts.linear_fc1.weight#                   g l
            mlp.experts.linear_fc1.bias#                     g
            mlp.experts.linear_fc2.weight#                   l x
            mlp.experts.linear_fc2.bias#                     l
            mlp.experts.local_experts.#.linear_fc1.weight    g l
            mlp.experts.local_experts.#.linear_fc1.bias      g
            mlp.experts.local_experts.#.linear_fc2.weight    l x
            mlp.experts.local_experts.#.linear_fc2.bias      l
            mlp.shared_experts.linear_fc1.weight             s H
            mlp.shared_experts.linear_fc1.bias               s
            mlp.shared_experts.linear_fc2.weight             H *
            mlp.shared_experts.linear_fc2.bias               H
            """);

    /** Of a mixer that is no Mamba-1: heads. */
    private static final Map<String, String[]> HEADS = axes("""
            mixer.A_log                                      h
            mixer.dt_bias                                    h
            mixer.D                                          h
            """);

    private static final Map<String, String[]> MAMBA = axes("""
            backbone.embedding.weight   V H
            lm_head.weight              V H
            backbone.norm_f.weight      H
            backbone.norm_f.bias        H
            norm.weight                 H
            norm.bias                   H
            norm2.weight                H
            norm2.bias                  H
            mixer.in_proj.weight        i H
            mixer.in_proj.bias          i
            mixer.out_proj.weight       H *
            mixer.out_proj.bias         H
            mixer.conv1d.weight         c * *
            mixer.conv1d.bias           c
            mixer.dt_bias               h
            mlp.fc1.weight              f H
            mlp.fc1.bias                f
            mlp.fc2.weight              H *
            mlp.fc2.bias                H
            """);

    private static final Map<String, String[]> MAMBA1 = axes("""
            mixer.A_log                 c *
            mixer.D                     c
            mixer.x_proj.weight         * c
            mixer.dt_proj.weight        c *
            mixer.dt_proj.bias          c
            """);

    private static final Map<String, String[]> MAMBA2 = axes("""
            mixer.A_log                 h
            """);

    private static final Map<String, String[]> MAMBA3 = axes("""
            mixer.D                     h
            mixer.B_bias                h * *
            mixer.C_bias                h * *
            """);

    /** Rows of an up projection are as many as the down projection has columns, or twice as many with a gate. */
    private static final List<String[]> PAIRS = List.of(
            new String[] {"mlp.linear_fc1.weight", "mlp.linear_fc2.weight"},
            new String[] {"mlp.shared_experts.linear_fc1.weight", "mlp.shared_experts.linear_fc2.weight"});

    private static final int MOST = 100;

    /** A parameter that does not fit the others. */
    private record Place(String name, Shape shape) {}

    private final List<String> problems = new ArrayList<>();

    private ShapeAgreement() {}

    /** What does not fit, each with tensor, shape and what the others make it; empty for models of no known family. */
    public static List<String> problems(ModelView view) {
        ShapeAgreement check = new ShapeAgreement();
        switch (view.family()) {
            case MEGATRON -> {
                MegatronParts parts = MegatronParts.of(view);
                List<LayerParts> rest = new ArrayList<>(parts.blocks().values());
                rest.add(parts.model());
                check.check(parts.allLayers(), rest, ShapeAgreement::megatron);
            }
            case MAMBA_SSM -> {
                LayerParts model = new LayerParts("");
                view.tensors().forEach(model::add);
                check.check(MambaGaps.layers(view).values(), List.of(model), ShapeAgreement::mamba);
            }
            case HUGGINGFACE, PLAIN -> {}
        }
        return check.problems;
    }

    private void check(
            Collection<LayerParts> layers,
            List<LayerParts> rest,
            BiFunction<LayerParts, String, Optional<String[]>> axes) {
        Map<String, Map<Long, List<Place>>> whole = new LinkedHashMap<>();
        rest.forEach(parts -> gather(parts, axes, whole, new LinkedHashMap<>()));
        for (LayerParts layer : layers) {
            Map<String, Map<Long, List<Place>>> own = new LinkedHashMap<>();
            gather(layer, axes, whole, own);
            own.values().forEach(this::vote);
            pairs(layer);
            projection(layer);
        }
        whole.values().forEach(this::vote);
    }

    private static Optional<String[]> megatron(LayerParts layer, String suffix) {
        String row = MegatronExperts.withoutNumber(suffix);
        boolean heads = !layer.has("mixer.x_proj.weight");
        return Optional.ofNullable(AXES.getOrDefault(row, heads ? HEADS.get(row) : null));
    }

    private static Optional<String[]> mamba(LayerParts layer, String suffix) {
        Map<String, String[]> mixer =
                layer.has("mixer.x_proj.weight") ? MAMBA1 : layer.has("mixer.B_bias") ? MAMBA3 : MAMBA2;
        if (mixer == MAMBA2 && suffix.equals("mixer.D")) {
            // One for each head, or one for each channel of each.
            long skips = layer.size(suffix, 0).orElse(0L);
            long heads = Math.max(1, layer.size("mixer.A_log", 0).orElse(1L));
            return skips > 0 && skips % heads == 0 ? Optional.empty() : Optional.of(new String[] {"h"});
        }
        return Optional.ofNullable(MAMBA.getOrDefault(suffix, mixer.get(suffix)));
    }

    private void gather(
            LayerParts layer,
            BiFunction<LayerParts, String, Optional<String[]>> table,
            Map<String, Map<Long, List<Place>>> whole,
            Map<String, Map<Long, List<Place>>> own) {
        for (String suffix : layer.suffixes()) {
            String[] axes = table.apply(layer, suffix).orElse(null);
            Shape shape = layer.shape(suffix).orElseThrow();
            if (axes == null) {
                continue;
            }
            if (shape.rank() != axes.length) {
                say(layer.prefix() + suffix + " " + shape + " has " + shape.rank() + " dimensions, not " + axes.length);
                continue;
            }
            for (int axis = 0; axis < axes.length; axis++) {
                if (!axes[axis].equals("*")) {
                    boolean global = Character.isUpperCase(axes[axis].charAt(0));
                    (global ? whole : own)
                            .computeIfAbsent(axes[axis], none -> new LinkedHashMap<>())
                            .computeIfAbsent(shape.size(axis), none -> new ArrayList<>())
                            .add(new Place(layer.prefix() + suffix, shape));
                }
            }
        }
    }

    /** Names those that have another size than most. */
    private void vote(Map<Long, List<Place>> sizes) {
        if (sizes.size() < 2) {
            return;
        }
        Map.Entry<Long, List<Place>> most = null;
        for (Map.Entry<Long, List<Place>> size : sizes.entrySet()) {
            most = most == null || size.getValue().size() > most.getValue().size() ? size : most;
        }
        Place example = most.getValue().get(0);
        for (Map.Entry<Long, List<Place>> size : sizes.entrySet()) {
            if (!size.getKey().equals(most.getKey())) {
                for (Place place : size.getValue()) {
                    say("%s %s has %d where %s %s has %d"
                            .formatted(
                                    place.name(),
                                    place.shape(),
                                    size.getKey(),
                                    example.name(),
                                    example.shape(),
                                    most.getKey()));
                }
            }
        }
    }

    private void pairs(LayerParts layer) {
        for (String[] pair : PAIRS) {
            long up = layer.size(pair[0], 0).orElse(0L);
            long down = layer.size(pair[1], 1).orElse(up);
            if (layer.has(pair[0]) && up != down && up != 2 * down) {
                say("%s%s has %d rows for the %d columns of %s, neither as many nor twice as many"
                        .formatted(layer.prefix(), pair[0], up, down, pair[1]));
            }
        }
    }

    /** Of a Mamba-1 mixer: steps, B and C come from one projection. */
    private void projection(LayerParts layer) {
        Optional<Long> rows = layer.size("mixer.x_proj.weight", 0);
        Optional<Long> steps = layer.size("mixer.dt_proj.weight", 1);
        Optional<Long> states = layer.size("mixer.A_log", 1);
        boolean told = rows.isPresent() && steps.isPresent() && states.isPresent();
        if (told && rows.get() - steps.get() != 2 * states.get()) {
            say("%smixer.x_proj.weight has %d rows, but dt_proj.weight has %d columns and A_log has %d states"
                    .formatted(layer.prefix(), rows.get(), steps.get(), states.get()));
        }
    }

    private void say(String problem) {
        if (problems.size() < MOST) {
            problems.add(problem);
        }
    }

    private static Map<String, String[]> axes(String table) {
        Map<String, String[]> axes = new HashMap<>();
        table.lines().map(line -> line.strip().split(" +", 2)).forEach(row -> axes.put(row[0], row[1].split(" ")));
        return axes;
    }
}
