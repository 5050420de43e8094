package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import java.util.Map;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A parameter's key in a Megatron model, taken apart: {@code decoder.layers.12.} + {@code mixer.out_proj.weight}.
 *
 * @param scope what the suffix belongs to
 * @param prefix everything before the suffix, with its closing dot; empty for model-level keys
 * @param suffix the part that the table of rules knows
 * @param layer number of the decoder layer, if it is one
 */
public record MegatronName(Scope scope, String prefix, String suffix, OptionalInt layer) {
    private static final String DECODER_LAYERS = "decoder.layers.";
    private static final String MTP_LAYERS = "mtp.layers.";
    private static final Pattern MTP_INNER = Pattern.compile(
            "(mtp\\.layers\\.\\d{1,9}\\.(?:mtp_model_layer\\.layers\\.\\d{1,9}|mtp_model_layer|transformer_layer)\\.)(.+)");
    private static final Pattern BLOCK = Pattern.compile("mtp\\.layers\\.(\\d{1,9})\\.");
    private static final Pattern INNER_LAYER =
            Pattern.compile("mtp\\.layers\\.\\d{1,9}\\.mtp_model_layer\\.layers\\.(\\d{1,9})\\.");
    private static final Pattern MTP = Pattern.compile("(mtp\\.layers\\.\\d{1,9}\\.)(.+)");

    /** What a suffix belongs to. */
    public enum Scope {
        /** The model itself: embedding, final norm, output layer. */
        MODEL,
        /** A layer of the decoder. */
        LAYER,
        /** A layer inside a multi-token-prediction block; has the keys of a decoder layer. */
        MTP_LAYER,
        /** A multi-token-prediction block itself. */
        MTP
    }

    /** True if some layer has a parameter of this name, or of one that ends so behind a dot. */
    static boolean anyHas(Map<String, Shape> shapes, String suffix) {
        return shapes.keySet().stream().anyMatch(name -> name.endsWith("." + suffix));
    }

    /** Takes a key apart; numbers of MTP blocks are never taken for numbers of decoder layers. */
    public static MegatronName parse(String key) {
        // Without a regular expression: there may be a million names, each taken apart several times.
        if (key.startsWith(DECODER_LAYERS)) {
            int end = Digits.end(key, DECODER_LAYERS.length());
            if (end > DECODER_LAYERS.length() && end + 1 < key.length() && key.charAt(end) == '.') {
                int number = Integer.parseInt(key, DECODER_LAYERS.length(), end, 10);
                return new MegatronName(
                        Scope.LAYER, key.substring(0, end + 1), key.substring(end + 1), OptionalInt.of(number));
            }
        }
        if (!key.startsWith(MTP_LAYERS)) {
            return new MegatronName(Scope.MODEL, "", key, OptionalInt.empty());
        }
        Matcher inner = MTP_INNER.matcher(key);
        if (inner.matches()) {
            return new MegatronName(Scope.MTP_LAYER, inner.group(1), inner.group(2), OptionalInt.empty());
        }
        Matcher mtp = MTP.matcher(key);
        if (mtp.matches()) {
            return new MegatronName(Scope.MTP, mtp.group(1), mtp.group(2), OptionalInt.empty());
        }
        return new MegatronName(Scope.MODEL, "", key, OptionalInt.empty());
    }

    /** The whole key. */
    public String key() {
        return prefix + suffix;
    }

    /** The same parameter of another decoder layer. */
    public MegatronName inLayer(int number) {
        return new MegatronName(scope, "decoder.layers." + number + ".", suffix, OptionalInt.of(number));
    }

    /** The number of the prediction block that it belongs to, if it belongs to one. */
    public OptionalInt depth() {
        Matcher block = BLOCK.matcher(prefix);
        return block.lookingAt() ? OptionalInt.of(Integer.parseInt(block.group(1))) : OptionalInt.empty();
    }

    /** The number of the layer within a hybrid's prediction block that it belongs to, if it belongs to one. */
    public OptionalInt innerLayer() {
        Matcher inner = INNER_LAYER.matcher(prefix);
        return inner.matches() ? OptionalInt.of(Integer.parseInt(inner.group(1))) : OptionalInt.empty();
    }

    /** True if the family's table has the parameter. */
    public boolean isKnown() {
        return !MegatronTable.rules(scope, MegatronTable.withoutExpertNumber(suffix))
                .isEmpty();
    }

    /** True for the opaque state of Transformer Engine that has no elements of the model. */
    public boolean isExtraState() {
        return suffix.endsWith("_extra_state");
    }
}
