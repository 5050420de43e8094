package dev.shardsmith.verify.claims;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalInt;

/**
 * A tensor's name as tables have it: without the model's prefix, and with {@code #} for numbers of layers, experts and adapters.
 *
 * @param template {@code layers.#.mamba.in_proj.weight}
 * @param layer number of the layer; empty outside of layers, and in blocks that predict further tokens
 * @param suffix what comes after the layer's number, with all of its parts; empty outside of layers
 */
record StoredName(String template, OptionalInt layer, String suffix) {
    /** The Mamba part of a layer that has a shared transformer too is as that of any other layer. */
    private static final String DECODER = "mamba_decoder.";

    /** Layers of prediction blocks are numbered for themselves. */
    private static final String PREDICTION = "mtp.";

    private static final int MOST_DIGITS = 9;

    /** The name of a stored tensor. */
    static StoredName of(String name) {
        String rest = name.startsWith("backbone.")
                ? name.substring("backbone.".length())
                : name.startsWith("model.") ? name.substring("model.".length()) : name;
        List<String> parts = new ArrayList<>();
        OptionalInt layer = OptionalInt.empty();
        int begin = 0;
        String before = "";
        for (String part : rest.split("\\.")) {
            boolean list = before.equals("layers") || before.equals("experts") || before.endsWith("_list");
            boolean number = list && isNumber(part);
            parts.add(number ? "#" : part);
            if (number && before.equals("layers") && layer.isEmpty() && !rest.startsWith(PREDICTION)) {
                layer = OptionalInt.of(Integer.parseInt(part));
                begin = parts.size();
            }
            before = part;
        }
        String template = String.join(".", parts).replace(DECODER, "");
        return new StoredName(
                template, layer, layer.isPresent() ? String.join(".", parts.subList(begin, parts.size())) : "");
    }

    /** The same with another beginning of the name in its layer. */
    StoredName renamed(String prefix, String other) {
        String rest = suffix.substring(prefix.length());
        return new StoredName("layers.#." + other + rest, layer, other + rest);
    }

    private static boolean isNumber(String part) {
        return !part.isEmpty()
                && part.length() <= MOST_DIGITS
                && part.chars().allMatch(character -> character >= '0' && character <= '9');
    }
}
