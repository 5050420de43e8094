package dev.shardsmith.reshard.family;

import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The names of mamba_ssm's parameters as files spell them.
 *
 * <p>The reference has {@code backbone.layers.0.mixer.in_proj.weight}. Others put {@code model.} before everything, or what
 * a trainer's dictionary adds, and leave out {@code backbone.}; Hugging Face says {@code embeddings}.
 *
 * @param prefix what stands before every name of the reference, such as {@code model.}
 * @param backbone whether the files say {@code backbone.}
 */
public record MambaNames(String prefix, boolean backbone) {
    private static final Pattern LAYER =
            Pattern.compile("(.*?)(backbone\\.)?layers\\.\\d{1,9}\\.(?:mixer|mlp|norm2?)\\..+");

    /** The spelling of a file's names; that of the reference where no layer tells. */
    public static MambaNames of(Iterable<String> names) {
        Set<MambaNames> found = new LinkedHashSet<>();
        for (String name : names) {
            Matcher layer = LAYER.matcher(name);
            if (layer.matches()) {
                found.add(new MambaNames(layer.group(1), layer.group(2) != null));
            }
        }
        return found.size() == 1 ? found.iterator().next() : new MambaNames("", true);
    }

    /** True for a parameter of a layer, whatever its spelling. */
    public static boolean isLayer(String name) {
        return LAYER.matcher(name).matches();
    }

    /** True for the bias of a row-parallel Linear, which only rank 0 has. */
    public static boolean isRowBias(String name) {
        return name.endsWith("out_proj.bias") || name.endsWith("fc2.bias");
    }

    /** The reference's name. */
    public String canonical(String name) {
        String bare = name.startsWith(prefix) ? name.substring(prefix.length()) : name;
        if (!backbone && (bare.startsWith("layers.") || bare.startsWith("embedding") || bare.startsWith("norm_f."))) {
            bare = "backbone." + bare;
        }
        return bare.replace("backbone.embeddings.", "backbone.embedding.");
    }

    /** The same map under the reference's names, in the same order. */
    public <T> Map<String, T> canonical(Map<String, T> byName) {
        Map<String, T> renamed = new LinkedHashMap<>();
        byName.forEach((name, value) -> renamed.put(canonical(name), value));
        return renamed;
    }

    /** What is unusual about the spelling, in words. */
    public Optional<String> remark() {
        if (prefix.isEmpty() && backbone) {
            return Optional.empty();
        }
        String written = prefix + (backbone ? "backbone." : "");
        return Optional.of(written.isEmpty() ? "names without backbone." : "names begin with " + written);
    }
}
