package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.sample.SampleSpec;
import java.util.ArrayList;
import java.util.List;

/** Divides a tensor as the field's papers and sources describe it, row by row and by name alone. */
final class SlowDivider {
    private SlowDivider() {}

    /** The elements of rank {@code rank}, in the order in which its file has them. */
    static int[] shard(SampleSpec spec, String name, Shape shape, int[] whole, int rank, int world) {
        String module =
                name.replaceFirst("^(mtp\\.layers\\.\\d+\\.mtp_model_layer\\.)?(decoder\\.)?(layers\\.\\d+\\.)?", "");
        if (module.startsWith("self_attention.in_proj.weight") || module.startsWith("self_attention.conv1d")) {
            return deltaNet(spec, module, shape, whole, rank, world);
        }
        if (module.startsWith("mixer.")) {
            return mixer(spec, module, shape, whole, rank, world);
        }
        if (module.startsWith("self_attention.linear_qkv_down_proj.weight")) {
            long queries = spec.latent().queryRank();
            return rows(shape, whole, rank, world, queries, shape.size(0) - queries);
        }
        boolean gatedRows = spec.gated() && name.contains("linear_fc1.") && !name.contains("layer_norm");
        if (gatedRows) {
            return rows(shape, whole, rank, world, shape.size(0) / 2, shape.size(0) / 2);
        }
        if (name.contains("fc2.weight") || name.endsWith("out_proj.weight") || name.endsWith("linear_proj.weight")) {
            return columns(shape, whole, rank, world);
        }
        return everywhere(name, module) ? whole : rows(shape, whole, rank, world, shape.size(0));
    }

    private static boolean everywhere(String name, String module) {
        return name.contains("layer_norm_")
                || name.contains("layernorm")
                || module.equals("norm.weight")
                || module.equals("self_attention.out_norm.weight")
                || name.endsWith("enorm.weight")
                || name.endsWith("hnorm.weight")
                || name.contains("final_norm")
                || name.contains("router")
                || name.contains(".indexer.")
                || name.endsWith("gate_weight")
                || name.endsWith("linear_q_down_proj.weight")
                || name.endsWith("linear_kv_down_proj.weight")
                || name.contains("linear_proj.bias")
                || name.contains("fc2.bias");
    }

    private static int[] mixer(SampleSpec spec, String module, Shape shape, int[] whole, int rank, int world) {
        long inner = spec.mambaHeads() * spec.mambaHeadDim();
        long shared = spec.mambaGroups() * spec.mambaState();
        if (module.equals("mixer.in_proj.weight")) {
            return rows(shape, whole, rank, world, inner, inner, shared, shared, spec.mambaHeads());
        }
        if (module.contains("conv1d")) {
            return rows(shape, whole, rank, world, inner, shared, shared);
        }
        if (module.equals("mixer.out_proj.weight")) {
            return columns(shape, whole, rank, world);
        }
        return module.contains("layer_norm") ? whole : rows(shape, whole, rank, world, shape.size(0));
    }

    private static int[] deltaNet(SampleSpec spec, String module, Shape shape, int[] whole, int rank, int world) {
        long keys = spec.delta().keyHeads() * spec.delta().keyDim();
        long heads = spec.delta().valueHeads();
        long values = heads * spec.delta().valueDim();
        return module.contains("conv1d")
                ? rows(shape, whole, rank, world, keys, keys, values)
                : rows(shape, whole, rank, world, keys, keys, values, values, heads, heads);
    }

    private static int[] rows(Shape shape, int[] whole, int rank, int world, long... parts) {
        int rowLength = whole.length / (int) shape.size(0);
        List<Integer> taken = new ArrayList<>();
        long base = 0;
        for (long part : parts) {
            for (long row = base + part / world * rank; row < base + part / world * (rank + 1); row++) {
                for (int column = 0; column < rowLength; column++) {
                    taken.add(whole[(int) row * rowLength + column]);
                }
            }
            base += part;
        }
        return taken.stream().mapToInt(Integer::intValue).toArray();
    }

    private static int[] columns(Shape shape, int[] whole, int rank, int world) {
        int width = (int) shape.size(1);
        List<Integer> taken = new ArrayList<>();
        for (int i = 0; i < whole.length; i++) {
            int column = i % width;
            if (column >= width / world * rank && column < width / world * (rank + 1)) {
                taken.add(whole[i]);
            }
        }
        return taken.stream().mapToInt(Integer::intValue).toArray();
    }
}
