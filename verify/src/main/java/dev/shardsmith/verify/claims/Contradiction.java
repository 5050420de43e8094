package dev.shardsmith.verify.claims;

import java.util.List;

/**
 * Something that a configuration says and the weights deny.
 *
 * @param kind what sort of thing it is
 * @param fields the options that it is about
 * @param message both sides, in one sentence
 */
public record Contradiction(Kind kind, List<String> fields, String message) {
    /** What sort of thing is said. */
    public enum Kind {
        /** Options that no model has, such as a text where a number belongs. */
        OPTION,
        /** The shape of a tensor. */
        SHAPE,
        /** What kind of layer is where. */
        LAYER_KIND,
        /** The number of layers. */
        LAYER_COUNT,
        /** That some tensor is there, or is not. */
        PRESENCE;

        /** Whether a forward pass that goes by the options would not fit the weights. */
        public boolean forbidsRunning() {
            return switch (this) {
                case OPTION, SHAPE, LAYER_KIND -> true;
                case LAYER_COUNT, PRESENCE -> false;
            };
        }
    }
}
