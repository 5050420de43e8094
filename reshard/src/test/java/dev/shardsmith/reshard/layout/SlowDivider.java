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
        long inner = spec.mambaHeads() * spec.mambaHeadDim();
        long shared = spec.mambaGroups() * spec.mambaState();
        boolean gatedRows = spec.gated() && name.contains("linear_fc1.") && !name.contains("layer_norm");
        if (name.endsWith("in_proj.weight")) {
            return rows(shape, whole, rank, world, inner, inner, shared, shared, spec.mambaHeads());
        }
        if (name.contains("conv1d")) {
            return rows(shape, whole, rank, world, inner, shared, shared);
        }
        if (gatedRows) {
            return rows(shape, whole, rank, world, shape.size(0) / 2, shape.size(0) / 2);
        }
        if (name.contains("fc2.weight") || name.endsWith("out_proj.weight") || name.endsWith("linear_proj.weight")) {
            return columns(shape, whole, rank, world);
        }
        boolean everywhere = name.contains("layer_norm_weight")
                || name.contains("layernorm")
                || name.matches(".*layers\\.\\d+\\.norm\\.weight")
                || name.contains("final_norm")
                || name.contains("router")
                || name.contains("linear_proj.bias")
                || name.contains("fc2.bias");
        return everywhere ? whole : rows(shape, whole, rank, world, shape.size(0));
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
