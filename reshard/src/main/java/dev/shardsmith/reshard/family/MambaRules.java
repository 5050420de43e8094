package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.family.MambaSizes.Kind;
import dev.shardsmith.reshard.family.MambaTable.Part;
import dev.shardsmith.reshard.family.MambaTable.Row;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * In which units the parts of a parameter are divided, and what mamba_ssm's own modules ask of them.
 *
 * @param config the model's config
 * @param multiple in which multiple of channels the MLP is divided, if not in {@value #MLP_MULTIPLE}
 * @param users divisions of parameters that the table does not know
 */
record MambaRules(MambaConfig config, Optional<Long> multiple, List<UserRule> users) {
    /** {@code multiple_of} of the reference's GatedMLP. */
    static final long MLP_MULTIPLE = 128;

    /**
     * What a part of a parameter is divided by.
     *
     * @param unit size of what is never cut, in elements along the axis
     * @param even true if the reference refuses ranks that do not hold equally much
     * @param words what the units are, for messages
     */
    record Unit(long unit, boolean even, String words) {}

    /** How a parameter is divided; empty if neither the table nor the user knows it. */
    Optional<Row> row(String key, String suffix, Kind kind) {
        Optional<Row> row = MambaTable.find(suffix, kind);
        if (row.isPresent()) {
            return row;
        }
        Optional<UserRule> rule =
                users.stream().filter(given -> given.names().matches(key)).findFirst();
        // The bias of a Linear that is divided by columns of its weight is whole, and rank 0's alone.
        boolean rowBias = key.endsWith("bias")
                && rule.isEmpty()
                && users.stream()
                        .anyMatch(given -> given.cut() == UserRule.Cut.ROW
                                && given.names().matches(key.substring(0, key.length() - "bias".length()) + "weight"));
        if (rowBias) {
            return Optional.of(new Row(Optional.empty(), suffix, -1, true, List.of()));
        }
        return rule.map(given -> switch (given.cut()) {
            case REPLICATE -> new Row(Optional.empty(), suffix, -1, false, List.of());
            case COLUMN -> new Row(Optional.empty(), suffix, 0, false, List.of(new Part("", "any", false)));
            case ROW -> new Row(Optional.empty(), suffix, 1, false, List.of(new Part("", "any", false)));
        });
    }

    /** The parts of a row, those of Mamba-3's MIMO ranks one by one. */
    static List<Part> parts(Row row, MambaSizes sizes) {
        List<Part> parts = new ArrayList<>();
        for (Part part : row.parts()) {
            if (part.name().endsWith("#")) {
                for (long rank = 0; rank < sizes.width("R"); rank++) {
                    parts.add(new Part(part.name().replace("#", "") + rank, part.width(), part.shared()));
                }
            } else {
                parts.add(part);
            }
        }
        return parts;
    }

    /** True if the reference has every rank hold all of a part, however many ranks there are. */
    boolean shared(Part part, Kind kind) {
        // With one group every head reads the same B and C.
        return part.shared() || part.width().equals("GN") && kind == Kind.MAMBA3 && config.groups() == 1;
    }

    /** The unit of a part that is {@code width} wide in the undivided parameter. */
    Unit unit(Part part, MambaSizes sizes, long width, int world) {
        long groups = Math.max(1, config.groups());
        boolean byHead = sizes.kind() == Kind.MAMBA3 && groups == 1;
        boolean even = sizes.kind() == Kind.MAMBA2;
        return switch (part.width()) {
            case "V" -> new Unit(1, true, "rows of the vocabulary");
            case "d" -> new Unit(1, true, "columns of the position embedding");
            case "ds", "GN", "H", "D" ->
                byHead
                        ? new Unit(whole(width, width / Math.max(1, sizes.width("H"))), false, "heads")
                        : new Unit(whole(width, width / groups), even, groupWords());
            case "di" ->
                sizes.kind() == Kind.MAMBA3
                        ? new Unit(
                                whole(width, width / Math.max(1, byHead ? sizes.width("H") : groups)),
                                false,
                                byHead ? "heads" : groupWords())
                        : new Unit(1, false, "inner channels");
            case "dm" -> new Unit(1, true, "channels that bypass the scan (d_inner - d_ssm)");
            case "kv" -> heads(width, config.attentionHeadDim());
            case "q" -> heads(width, config.attentionHeadDim() * config.queriesPerKey());
            case "mlp" -> new Unit(1, false, "channels of attention's MLP");
            case "h" -> mlp(width, world);
            default -> new Unit(1, false, "units");
        };
    }

    private String groupWords() {
        return config.knowsGroups()
                ? "groups of heads (ngroups)"
                : "groups of heads (ngroups, 1 where no config.json says it)";
    }

    private Unit heads(long width, long unit) {
        return config.knowsHeads()
                ? new Unit(whole(width, unit), false, "key and value heads")
                : new Unit(width, false, "block of heads of unknown size (config.json lacks attn_cfg.num_heads)");
    }

    private Unit mlp(long width, int world) {
        long unit = multiple.orElse(MLP_MULTIPLE);
        if (multiple.isEmpty()) {
            // A width that is no multiple of the default was made with a smaller one; powers of two are usual.
            while (unit > 1 && (width % unit != 0 || width % MLP_MULTIPLE != 0 && width / unit < world)) {
                unit /= 2;
            }
        }
        unit = whole(width, unit);
        return new Unit(unit, false, unit == 1 ? "MLP channels" : "blocks of " + unit + " MLP channels");
    }

    /** The unit; where the config's unit does not divide the width, it is wrong, and nothing may be cut. */
    private static long whole(long width, long unit) {
        return unit > 0 && width % unit == 0 ? unit : Math.max(1, width);
    }
}
