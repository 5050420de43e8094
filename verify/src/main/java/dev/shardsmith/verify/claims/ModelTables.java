package dev.shardsmith.verify.claims;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The tables of the architectures that are known: files {@code TYPE.claims} beside this class.
 *
 * <p>Names of options, sizes and defaults are those of transformers' configuration and modeling classes and of {@code mamba_ssm}; a
 * default is given only where it is certain. A line {@code use FILE PREFIX} stands for the lines of another file, in which {@code $}
 * stands for the prefix; lines that begin with two hyphens explain.
 */
final class ModelTables {
    private static final Set<String> TYPES = Set.of(
            "mamba",
            "falcon_mamba",
            "mamba2",
            "bamba",
            "falcon_h1",
            "granitemoehybrid",
            "jamba",
            "zamba2",
            "nemotron_h");

    private ModelTables() {}

    /** The types of transformers' models that have a table. */
    static Set<String> types() {
        return TYPES;
    }

    /** The table of a configuration's architecture; empty if it is not known. */
    static Optional<ModelTable> of(Configuration config) {
        Object type = config.values().get("model_type");
        if (type == null && config.values().containsKey("d_model")) {
            return Optional.of(table("mamba_ssm"));
        }
        return type instanceof String name && TYPES.contains(name) ? Optional.of(table(name)) : Optional.empty();
    }

    /** Reads a table. */
    static ModelTable table(String type) {
        List<String> lines = new ArrayList<>();
        include(type, "", lines);
        return ModelTable.of(lines);
    }

    private static void include(String file, String prefix, List<String> lines) {
        String name = file + ".claims";
        try (InputStream in = ModelTables.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("the table " + name + " is not part of the program");
            }
            BufferedReader reader = new BufferedReader(new InputStreamReader(in, StandardCharsets.UTF_8));
            for (String line = reader.readLine(); line != null; line = reader.readLine()) {
                String[] words = line.split(" ");
                if (words[0].equals("use")) {
                    include(words[1], words.length > 2 ? words[2] : prefix, lines);
                } else if (!line.isBlank() && !words[0].equals("--")) {
                    lines.add(line.replace("$", prefix));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
