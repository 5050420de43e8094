package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.rule.Component;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
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
    private final Map<String, List<Long>> each = new LinkedHashMap<>();

    /**
     * The widths of a layer.
     *
     * @param shapes shapes by suffix, such as {@code mixer.in_proj.weight}
     * @param config what {@code config.json} says where shapes cannot tell
     * @param rank the rank whose shard this is, 0 for a whole layer
     * @param world the number of ranks, 1 for a whole layer
     */
    MambaSizes(Map<String, Shape> shapes, MambaConfig config, int rank, int world) {
        this.kind = kind(shapes);
        switch (kind) {
            case MAMBA1 -> put("di", size(shapes, "mixer.A_log", 0));
            case MAMBA2 -> mamba2(shapes);
            case MAMBA3 -> mamba3(shapes, config);
            case ATTENTION -> attention(shapes, config, rank, world);
            case NONE -> {}
        }
        long rows = size(shapes, "mlp.fc1.weight", 0);
        put("h", rows / 2);
    }

    private MambaSizes(Kind kind) {
        this.kind = kind;
    }

    /** The undivided layer whose shards are given; what all of them share is added up as well. */
    static MambaSizes sum(List<MambaSizes> shards) {
        MambaSizes sum = new MambaSizes(shards.get(0).kind);
        for (MambaSizes shard : shards) {
            shard.widths.forEach((symbol, width) -> {
                sum.widths.merge(symbol, width, Long::sum);
                sum.each.computeIfAbsent(symbol, none -> new ArrayList<>()).add(width);
            });
        }
        return sum;
    }

    /** Of a sum, a width on each shard. */
    List<Long> each(String symbol) {
        return each.getOrDefault(symbol, List.of());
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
        // The projection has 2 di + 2 GN + H rows, the convolution ds + 2 GN channels.
        long shared = Math.max(0, size(shapes, "mixer.in_proj.weight", 0) - 2 * inner - heads) / 2;
        long scan = size(shapes, "mixer.conv1d.weight", 0) - 2 * shared;
        put("dm", inner - scan);
        put("ds", scan);
        put("GN", shared);
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

    private void attention(Map<String, Shape> shapes, MambaConfig config, int rank, int world) {
        long rows = size(shapes, "mixer.in_proj.weight", 0);
        long columns = size(shapes, "mixer.out_proj.weight", 1);
        long convolved = size(shapes, "mixer.conv1d.weight", 0);
        long perKey = config.queriesPerKey();
        long queries = columns;
        if (convolved > 0) {
            queries = columns - (rows - convolved) / 2;
        } else if (config.attentionMlpChannels() > 0 && perKey != 2) {
            // rows = q + 2 q / perKey + 2 mlp and columns = q + mlp.
            queries = perKey * (rows - 2 * columns) / (2 - perKey);
        } else if (config.attentionMlpChannels() > 0) {
            // Two query heads for each key: the shapes leave open what is MLP, so the heads are those of the rule.
            long head = config.attentionHeadDim();
            long keys = config.attentionHeads() / perKey;
            queries = new Component("q", keys * perKey * head, perKey * head).length(rank, world);
        }
        put("mlp", columns - queries);
        put("q", queries);
        put("kv", (rows - queries - 2 * Math.max(0, columns - queries)) / 2);
    }

    /** Kind of mixer. */
    Kind kind() {
        return kind;
    }

    /** The width of a part of a parameter; some parts are the whole axis. */
    long width(MambaTable.Part part, Shape shape, int axis) {
        return switch (part.width()) {
            case "V", "d", "any" -> shape.size(axis);
            default -> width(part.width());
        };
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
