package dev.shardsmith.reshard.family;

import java.util.List;
import java.util.Optional;

/**
 * One row of a family's table: how a parameter is divided.
 *
 * @param suffix key after the layer prefix; {@code #} stands for an expert's number
 * @param when kind of layer that the row is for; {@link When#ANY} for all
 * @param world the group of ranks that divides it
 * @param axis the axis that is cut, or -1 if it is replicated
 * @param parts the parts along the axis, in order; empty for a plain cut
 * @param dist key in a torch_dist checkpoint; {@code *} stands for the part where each is a tensor of its own
 * @param order position in the table, which is the order of registration in the model
 */
public record ParameterRule(String suffix, When when, World world, int axis, List<Part> parts, String dist, int order) {

    /** The group of ranks that divides a parameter. */
    public enum World {
        TENSOR,
        EXPERT_TENSOR
    }

    /** Kind of layer that a row is for, where one key is divided differently in several. */
    public enum When {
        ANY,
        MAMBA1,
        MAMBA2,
        /** Gated delta product. */
        GDP,
        /** Gated delta net. */
        GDN,
        /** Gated delta net, second form. */
        GDN2,
        /** Latent attention whose down projections are one, together with the norm before them. */
        FUSED_DOWN
    }

    /**
     * A part along the cut axis.
     *
     * @param name the field's name of the part; {@code V#} is repeated as V0, V1, …
     * @param width symbol of its width: DI, GN, NH, …; {@code HALF} is half of the axis where the MLP is gated
     */
    public record Part(String name, String width) {
        /** The number of a repeated part ({@code V1} of {@code V#}), 0 for the part itself, -1 for another part. */
        int numberOf(String part) {
            if (!name.endsWith("#")) {
                return name.equals(part) ? 0 : -1;
            }
            int stem = name.length() - 1;
            int end = Digits.end(part, stem);
            boolean fits = part.startsWith(name.substring(0, stem)) && end > stem && end <= stem + 3;
            return fits && end == part.length() ? Integer.parseInt(part, stem, end, 10) : -1;
        }
    }

    /** True if every rank holds all of it. */
    public boolean replicated() {
        return axis < 0;
    }

    /** True if the parameter belongs to one expert of a mixture. */
    public boolean perExpert() {
        return suffix.indexOf('#') >= 0;
    }

    /** True if torch_dist keeps each part as a tensor of its own. */
    public boolean distByPart() {
        return dist.indexOf('*') >= 0;
    }

    /** The key in a torch_dist checkpoint of one part, or of the whole where parts are not kept apart. */
    public String distKey(String part) {
        return dist.replace("*", part);
    }

    /** The part that a key of a torch_dist checkpoint is, if it is one of this parameter. */
    public Optional<String> distPart(String key) {
        int star = dist.indexOf('*');
        int end = dist.length() - star - 1;
        boolean fits = star >= 0
                && key.length() >= dist.length()
                && key.regionMatches(0, dist, 0, star)
                && key.regionMatches(key.length() - end, dist, star + 1, end);
        return fits ? Optional.of(key.substring(star, key.length() - end)) : Optional.empty();
    }
}
