package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.json.Json;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The Hugging Face config that a mamba_ssm folder came from, kept beside it as {@value #FILE}.
 *
 * <p>The reference refuses fields that it does not know, so its own {@code config.json} has no room for token ids and whatever
 * else transformers saves. With this file the way back gives the same config.
 */
record KeptConfig(Map<String, Object> fields) {
    /** Its name in the folder; the reference does not look at it. */
    static final String FILE = "config.huggingface.json";

    /** The config of a Hugging Face source, or the one that a mamba_ssm source kept. */
    static Optional<KeptConfig> of(ModelView source) throws IOException {
        if (source.layout() == Layout.HUGGINGFACE) {
            return source.config().isEmpty() ? Optional.empty() : Optional.of(new KeptConfig(source.config()));
        }
        Path file = source.path().resolve(FILE);
        return Files.isRegularFile(file)
                ? Optional.of(new KeptConfig(Json.readObject(source.files().file(file))))
                : Optional.empty();
    }

    /** The kept config, if it is of the model that {@code config} describes; with what a conversion has made of it. */
    Optional<Map<String, Object>> of(MambaConfig config, Map<String, Object> made) {
        Map<String, Object> own = MambaConfig.ofHuggingFace(fields).asHuggingFace(made);
        if (!own.equals(config.asHuggingFace(made))) {
            return Optional.empty();
        }
        Map<String, Object> merged = new LinkedHashMap<>(fields);
        for (String changed : new String[] {"vocab_size", "dtype", "torch_dtype"}) {
            String value = changed.equals("torch_dtype") ? "dtype" : changed;
            if (merged.containsKey(changed)) {
                merged.put(changed, made.get(value));
            }
        }
        return Optional.of(merged);
    }
}
