package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.pattern.HybridPattern;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Which kinds of layers a NemotronH model has, in the symbols of a hybrid layer pattern.
 *
 * <p>The layers of all prediction blocks are numbered in one row, {@code mtp.layers.0} and so on; transformers does not read them.
 *
 * @param main a symbol for each layer
 * @param prediction a symbol for each layer of one multi-token-prediction block; empty if there are no blocks
 * @param depths how many further tokens are predicted; one stored block may serve all of them
 */
public record NemotronLayers(String main, String prediction, int depths) {
    /** What a config that does not say otherwise predicts with. */
    private static final String USUAL_PREDICTION = "*E";

    /** More blocks than any model has; a config may claim any number. */
    private static final int MOST_DEPTHS = 1000;

    private static final Pattern PREDICTION_LAYER = Pattern.compile("mtp\\.layers\\.(\\d{1,9})\\..+");

    /** The layers of a Megatron hybrid. */
    public static NemotronLayers of(HybridPattern pattern) {
        return new NemotronLayers(
                pattern.withoutPipes().main().orElse(""), pattern.mtp().orElse(""), pattern.mtpDepths());
    }

    /**
     * The layers of a Hugging Face folder. Prediction blocks that the config speaks of but that have no tensors are not there: a model
     * that transformers saved has lost them.
     *
     * @param names names of all tensors
     * @throws CheckpointException if neither {@code hybrid_override_pattern} nor a list of layer types is there, a type is not known,
     *     or there are more prediction blocks than any model has
     */
    public static NemotronLayers of(Map<String, Object> config, Set<String> names) throws CheckpointException {
        String main = symbols(config, "hybrid_override_pattern", "layers_block_type")
                .orElseThrow(() -> CheckpointException.of(
                        Kind.INCOMPLETE,
                        "config.json",
                        "it has neither hybrid_override_pattern nor layers_block_type, so the kinds of layers are not"
                                + " known"));
        int last = -1;
        for (String name : names) {
            Matcher layer = PREDICTION_LAYER.matcher(name);
            if (layer.matches()) {
                last = Math.max(last, Integer.parseInt(layer.group(1)));
            }
        }
        if (last < 0) {
            return new NemotronLayers(main, "", 0);
        }
        String prediction = symbols(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
                .filter(given -> !given.isEmpty())
                .orElse(USUAL_PREDICTION);
        long depths =
                Math.max(AttentionSizes.number(config, "num_nextn_predict_layers", 1), last / prediction.length() + 1L);
        if (depths > MOST_DEPTHS) {
            throw CheckpointException.of(
                    Kind.UNSUPPORTED,
                    "config.json",
                    depths + " blocks that predict further tokens are more than the " + MOST_DEPTHS
                            + " that are allowed");
        }
        return new NemotronLayers(main, prediction, (int) depths);
    }

    /** The symbols that one of these options gives; empty if neither is one of its type. */
    private static Optional<String> symbols(Map<String, Object> config, String pattern, String list)
            throws CheckpointException {
        if (config.get(pattern) instanceof String text) {
            return Optional.of(text.replace("|", ""));
        }
        return config.get(list) instanceof List<?> types ? Optional.of(symbols(types)) : Optional.empty();
    }

    private static String symbols(List<?> types) throws CheckpointException {
        StringBuilder symbols = new StringBuilder();
        for (Object type : types) {
            switch (String.valueOf(type)) {
                case "linear_attention", "mamba" -> symbols.append('M');
                case "full_attention", "attention" -> symbols.append('*');
                case "mlp" -> symbols.append('-');
                case "moe" -> symbols.append('E');
                default ->
                    throw CheckpointException.of(
                            Kind.UNSUPPORTED, "config.json", "the layer type '" + type + "' is not known");
            }
        }
        return symbols.toString();
    }

    /** The whole pattern, as Megatron writes it: a part for each depth behind a slash. */
    public String pattern() {
        return main + ("/" + prediction).repeat(prediction.isEmpty() ? 0 : depths);
    }

    /** Whether any layer, prediction layers included, is of this kind. */
    public boolean has(char kind) {
        return main.indexOf(kind) >= 0 || prediction.indexOf(kind) >= 0;
    }

    /** The names that transformers has for the kinds of these layers. */
    static List<Object> types(String symbols) {
        List<Object> types = new ArrayList<>();
        for (char symbol : symbols.toCharArray()) {
            types.add(
                    switch (symbol) {
                        case 'M' -> "linear_attention";
                        case '*' -> "full_attention";
                        case 'E' -> "moe";
                        default -> "mlp";
                    });
        }
        return types;
    }
}
