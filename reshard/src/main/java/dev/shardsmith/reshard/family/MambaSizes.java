package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The widths of one layer of a mamba_ssm model, found from the shapes of its parameters.
 *
 * <p>Works on the whole layer as on one rank's shard of it: a shard is a smaller layer. Symbols are those of mamba_ssm's sources:
 * dm bypass channels, ds channels of the scan, GN groups times states, H heads, di inner channels.
 */
final class MambaSizes {
    /** Kind of mixer. */
    enum Kind {
        MAMBA1,
        MAMBA2,
        MAMBA3,
        ATTENTION,
        /** No mixer: the model itself. */
        NONE
    }

    private final Kind kind;
    private final Map<String, Long> widths = new LinkedHashMap<>();

    /**
     * The widths of a layer.
     *
     * @param shapes shapes by suffix, such as {@code mixer.in_proj.weight}
     * @param config what {@code config.json} says where shapes cannot tell
     */
    MambaSizes(Map<String, Shape> shapes, MambaConfig config) {
        this.kind = kind(shapes);
        switch (kind) {
            case MAMBA1 -> put("di", size(shapes, "mixer.A_log", 0));
            case MAMBA2 -> mamba2(shapes);
            case MAMBA3 -> mamba3(shapes, config);
            case ATTENTION -> attention(shapes, config);
            case NONE -> {}
        }
        long rows = size(shapes, "mlp.fc1.weight", 0);
        put("h", rows / 2);
    }

    private static Kind kind(Map<String, Shape> shapes) {
        if (shapes.containsKey("mixer.x_proj.weight")) {
            return Kind.MAMBA1;
        }
        if (shapes.containsKey("mixer.B_bias")) {
            return Kind.MAMBA3;
        }
        if (shapes.containsKey("mixer.A_log")) {
            return Kind.MAMBA2;
        }
        return shapes.containsKey("mixer.in_proj.weight") ? Kind.ATTENTION : Kind.NONE;
    }

    private void mamba2(Map<String, Shape> shapes) {
        long inner = size(shapes, "mixer.out_proj.weight", 1);
        long heads = size(shapes, "mixer.dt_bias", 0);
        long channels = size(shapes, "mixer.conv1d.weight", 0);
        long scan = shapes.containsKey("mixer.norm.weight") ? size(shapes, "mixer.norm.weight", 0) : inner;
        put("dm", inner - scan);
        put("ds", scan);
        put("GN", (channels - scan) / 2);
        put("H", heads);
        put("D", size(shapes, "mixer.D", 0));
    }

    private void mamba3(Map<String, Shape> shapes, MambaConfig config) {
        long heads = size(shapes, "mixer.B_bias", 0);
        long ranks = size(shapes, "mixer.B_bias", 1);
        long states = size(shapes, "mixer.B_bias", 2);
        long inner = size(shapes, "mixer.out_proj.weight", 1);
        long rest = size(shapes, "mixer.in_proj.weight", 0) - 2 * inner - 3 * heads;
        long angles = angles(states, rest, ranks, config);
        put("di", inner);
        put("H", heads);
        put("R", ranks);
        put("GN", ranks == 0 ? 0 : (rest - angles) / (2 * ranks));
        put("angle", angles);
    }

    /** Half of the rotated states; half or all of them are rotated, and only one of both leaves whole groups. */
    private static long angles(long states, long rest, long ranks, MambaConfig config) {
        for (double fraction : new double[] {config.ropeFraction(), 0.5, 1.0}) {
            long rotated = (long) (states * fraction);
            long angles = (rotated - rotated % 2) / 2;
            if (angles > 0 && states > 0 && ranks > 0 && (rest - angles) % (2 * states * ranks) == 0) {
                return angles;
            }
        }
        return 0;
    }

    private void attention(Map<String, Shape> shapes, MambaConfig config) {
        long rows = size(shapes, "mixer.in_proj.weight", 0);
        long columns = size(shapes, "mixer.out_proj.weight", 1);
        long convolved = size(shapes, "mixer.conv1d.weight", 0);
        long mlp = convolved > 0 ? rows - convolved : config.attentionMlp(rows, columns);
        long queries = columns - mlp / 2;
        put("mlp", mlp / 2);
        put("q", queries);
        put("kv", (rows - mlp - queries) / 2);
    }

    /** Kind of mixer. */
    Kind kind() {
        return kind;
    }

    /** A width by its symbol; 0 where the layer has no such part. */
    long width(String symbol) {
        return widths.getOrDefault(symbol, 0L);
    }

    private void put(String symbol, long width) {
        widths.put(symbol, Math.max(0, width));
    }

    private static long size(Map<String, Shape> shapes, String suffix, int axis) {
        Shape shape = shapes.get(suffix);
        return shape == null || shape.rank() <= axis ? 0 : shape.size(axis);
    }
}
