package dev.shardsmith.reshard.family;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names that Megatron-LM's Transformers had before its core library, and what the core library calls the same parameters.
 *
 * <p>Such a model lay in nested dicts; keys here are joined by dots. Both have the same shapes, halves and divisions; only the
 * rows of queries, keys and values may have another order, as the checkpoint's version says.
 */
public final class OldNames {
    private static final Pattern LAYER =
            Pattern.compile("language_model\\.(?:encoder|transformer)\\.layers\\.(\\d{1,9})\\.(.+)");

    private static final Map<String, String> MODEL = pairs("""
            language_model.embedding.word_embeddings.      embedding.word_embeddings.
            language_model.embedding.position_embeddings.  embedding.position_embeddings.
            language_model.encoder.final_layernorm.        decoder.final_layernorm.
            language_model.encoder.final_norm.             decoder.final_layernorm.
            language_model.transformer.final_layernorm.    decoder.final_layernorm.
            language_model.output_layer.                   output_layer.
            word_embeddings_for_head.                      output_layer.
            """);

    private static final Map<String, String> PARTS = pairs("""
            input_layernorm.                  input_layernorm.
            input_norm.                       input_layernorm.
            attention.query_key_value.        self_attention.linear_qkv.
            attention.dense.                  self_attention.linear_proj.
            self_attention.query_key_value.   self_attention.linear_qkv.
            self_attention.dense.             self_attention.linear_proj.
            post_attention_layernorm.         pre_mlp_layernorm.
            post_attention_norm.              pre_mlp_layernorm.
            mlp.dense_h_to_4h.                mlp.linear_fc1.
            mlp.dense_4h_to_h.                mlp.linear_fc2.
            """);

    private OldNames() {}

    /** True for a key of a model from before the core library. */
    public static boolean isOld(String key) {
        return key.startsWith("language_model.") || key.startsWith("word_embeddings_for_head.");
    }

    /** The core library's name; a key that is not known stays as it is. */
    public static String current(String key) {
        Matcher layer = LAYER.matcher(key);
        return layer.matches()
                ? "decoder.layers." + layer.group(1) + "." + replaced(PARTS, layer.group(2))
                : replaced(MODEL, key);
    }

    private static String replaced(Map<String, String> beginnings, String key) {
        for (Map.Entry<String, String> beginning : beginnings.entrySet()) {
            if (key.startsWith(beginning.getKey())) {
                return beginning.getValue() + key.substring(beginning.getKey().length());
            }
        }
        return key;
    }

    private static Map<String, String> pairs(String table) {
        Map<String, String> pairs = new LinkedHashMap<>();
        table.lines().map(line -> line.trim().split(" +")).forEach(cells -> pairs.put(cells[0], cells[1]));
        return pairs;
    }
}
