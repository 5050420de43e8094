package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.ParameterRule.Part;
import dev.shardsmith.reshard.family.ParameterRule.When;
import dev.shardsmith.reshard.rule.Component;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The widths inside one layer, found from the shapes of its undivided parameters alone.
 *
 * <p>The symbols are those of the table: DI inner width, GN groups times state size, NH heads; QK, VD, NV query/key width, value
 * width and value heads of a gated delta net. Saved options never decide a width: a hand-edited or foreign checkpoint may lack
 * or contradict them.
 */
final class LayerWidths {
    private final Map<String, Shape> shapes;
    private final When kind;
    private final Map<String, Long> widths = new LinkedHashMap<>();
    private final boolean gatedByDefault;
    private long householders;

    /**
     * Finds the widths of a layer.
     *
     * @param shapes shapes of the layer's undivided parameters by suffix
     * @param gatedByDefault whether MLPs are gated where fc2 is not there to tell
     */
    LayerWidths(Map<String, Shape> shapes, boolean gatedByDefault) {
        this.shapes = shapes;
        this.gatedByDefault = gatedByDefault;
        this.kind = kind(shapes);
        switch (kind) {
            case MAMBA2, GDP, MAMBA1 -> mixerWidths();
            case GDN, GDN2 -> deltaNetWidths();
            case FUSED_DOWN -> put("QR", shapes.get("self_attention.linear_q_up_proj.weight"), 1);
            case ANY -> {}
        }
    }

    /** The kind of layer, as far as divisions depend on it. */
    When kind() {
        return kind;
    }

    /** A width by its symbol, if the shapes tell it. */
    Optional<Long> width(String symbol) {
        return Optional.ofNullable(widths.get(symbol));
    }

    /**
     * The components of a parameter along the axis that its rule cuts.
     *
     * @param rule a rule that is not replicated
     * @param suffix the parameter's suffix, with its expert number
     * @param where named in errors
     * @throws CheckpointException if the widths of the parts do not add up to the parameter's size
     */
    List<Component> components(ParameterRule rule, String suffix, String where) throws CheckpointException {
        Shape shape = shapes.get(suffix);
        long total = shape.size(rule.axis());
        if (rule.parts().isEmpty()) {
            return List.of(new Component("", total));
        }
        if (rule.parts().get(0).width().equals("*")) {
            return List.of(new Component("", total));
        }
        if (rule.parts().get(0).width().equals("HALF")) {
            return gated(rule, suffix, total)
                    ? List.of(new Component("gate", total / 2), new Component("up", total / 2))
                    : List.of(new Component("", total));
        }
        List<Component> components = new ArrayList<>();
        long sum = 0;
        for (Part part : rule.parts()) {
            Long width = part.width().equals("REST") ? Long.valueOf(total - sum) : widths.get(part.width());
            if (width == null || width < 0) {
                throw inconsistent(
                        where,
                        "the width of its part " + part.name() + " cannot be told: the layer lacks A_log, "
                                + "out_proj.weight, the convolution's weight or an up projection, or they do not fit it");
            }
            long times = part.name().endsWith("#") ? householders : 1;
            for (long i = 0; i < times; i++) {
                String name = part.name().endsWith("#")
                        ? part.name().substring(0, part.name().length() - 1) + i
                        : part.name();
                components.add(new Component(name, width));
                sum += width;
            }
        }
        if (sum != total) {
            throw inconsistent(
                    where, "its parts " + describe(components) + " add up to " + sum + ", but its size is " + total);
        }
        return components;
    }

    private boolean gated(ParameterRule rule, String suffix, long rows) {
        String sibling = suffix.replace("linear_fc1", "linear_fc2").replace("bias", "weight");
        Shape fc2 = shapes.get(sibling);
        if (fc2 == null || fc2.rank() != 2) {
            return gatedByDefault && rows % 2 == 0;
        }
        return rows == 2 * fc2.size(1);
    }

    private static When kind(Map<String, Shape> shapes) {
        if (shapes.containsKey("mixer.x_proj.weight")) {
            return When.MAMBA1;
        }
        if (shapes.containsKey("mixer.A_log")) {
            boolean mamba = shapes.containsKey("mixer.D")
                    || LayerSignature.isMamba2WithoutSkip(suffix -> Optional.ofNullable(shapes.get(suffix)));
            return mamba ? When.MAMBA2 : When.GDP;
        }
        if (shapes.containsKey("self_attention.linear_qkv_down_proj.layer_norm_weight")) {
            return When.FUSED_DOWN;
        }
        Shape decay = shapes.get("self_attention.A_log");
        if (decay != null) {
            return decay.equals(shapes.get("self_attention.dt_bias")) ? When.GDN : When.GDN2;
        }
        return When.ANY;
    }

    private void mixerWidths() {
        put("DI", shapes.get("mixer.out_proj.weight"), 1);
        put("NH", shapes.get("mixer.A_log"), 0);
        Long di = widths.get("DI");
        Long nh = widths.get("NH");
        Shape convolution = firstOf("mixer.conv1d_weight", "mixer.conv1d.weight");
        if (di == null || nh == null || convolution == null) {
            return;
        }
        long channels = convolution.size(0);
        householders = 1;
        if (kind == When.GDP && shapes.get("mixer.in_proj.weight") != null) {
            // in_proj has z, a and one b per step more than the convolution has channels.
            long rest = shapes.get("mixer.in_proj.weight").size(0) - channels - di;
            householders = Math.max(1, rest / nh - 1);
        }
        long shared = kind == When.GDP ? householders + 1 : 2;
        long groups = channels - householders * di;
        if (groups >= 0 && groups % shared == 0) {
            widths.put("GN", groups / shared);
        }
    }

    private void deltaNetWidths() {
        put("VD", shapes.get("self_attention.out_proj.weight"), 1);
        put("NV", shapes.get("self_attention.A_log"), 0);
        Shape convolution = shapes.get("self_attention.conv1d.weight");
        Long vd = widths.get("VD");
        if (convolution != null && vd != null && (convolution.size(0) - vd) % 2 == 0 && convolution.size(0) >= vd) {
            widths.put("QK", (convolution.size(0) - vd) / 2);
        }
    }

    private void put(String symbol, Shape shape, int axis) {
        if (shape != null && shape.rank() > axis) {
            widths.put(symbol, shape.size(axis));
        }
    }

    private Shape firstOf(String... suffixes) {
        for (String suffix : suffixes) {
            Shape shape = shapes.get(suffix);
            if (shape != null && shape.rank() > 0) {
                return shape;
            }
        }
        return null;
    }

    private static String describe(List<Component> components) {
        List<String> words = new ArrayList<>();
        for (Component component : components) {
            words.add(component.name() + " " + component.width());
        }
        return String.join(", ", words);
    }

    private static CheckpointException inconsistent(String where, String problem) {
        return CheckpointException.of(CheckpointException.Kind.INCONSISTENT, where, problem);
    }
}
