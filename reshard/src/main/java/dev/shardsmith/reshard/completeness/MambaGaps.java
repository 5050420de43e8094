package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** What a model of mamba_ssm lacks. Modules that were saved alone are no models and lack nothing. */
final class MambaGaps {
    private static final Pattern LAYER = Pattern.compile("(backbone\\.layers\\.(\\d{1,9})\\.)(.+)");
    private static final int MOST = 1000;
    private static final List<String> EMBEDDINGS =
            List.of("backbone.embedding.weight", "backbone.embedding.word_embeddings.weight");

    /** A kind of mixer: what only it has, and what it cannot do without. */
    private enum Mixer {
        MAMBA1("x_proj.weight dt_proj.weight dt_proj.bias", "in_proj.weight conv1d.weight A_log D out_proj.weight"),
        MAMBA3(
                "B_bias C_bias B_norm.weight C_norm.weight mimo_x mimo_z mimo_o",
                "in_proj.weight dt_bias B_bias C_bias B_norm.weight C_norm.weight D out_proj.weight"),
        MAMBA2("A_log D dt_bias", "in_proj.weight conv1d.weight dt_bias A_log D out_proj.weight"),
        ATTENTION("in_proj.weight out_proj.weight", "in_proj.weight out_proj.weight");

        private final List<String> signs;
        private final List<String> required;

        Mixer(String signs, String required) {
            this.signs = suffixes(signs);
            this.required = name().equals("MAMBA1")
                    ? Stream.concat(this.signs.stream(), suffixes(required).stream())
                            .toList()
                    : suffixes(required);
        }

        private static List<String> suffixes(String words) {
            return Stream.of(words.split(" ")).map(word -> "mixer." + word).toList();
        }

        static Optional<Mixer> of(LayerParts layer) {
            return Stream.of(values())
                    .filter(mixer -> layer.hasAny(mixer.signs))
                    .findFirst();
        }
    }

    private final ModelView view;
    private final TreeMap<Integer, LayerParts> layers;
    private final List<Gap> gaps = new ArrayList<>();

    private MambaGaps(ModelView view) {
        this.view = view;
        this.layers = layers(view);
    }

    /** The layers by number. */
    static TreeMap<Integer, LayerParts> layers(ModelView view) {
        TreeMap<Integer, LayerParts> layers = new TreeMap<>();
        for (LogicalTensor tensor : view.tensors().values()) {
            Matcher layer = LAYER.matcher(tensor.name());
            if (layer.matches()) {
                layers.computeIfAbsent(Integer.parseInt(layer.group(2)), number -> new LayerParts(layer.group(1)))
                        .add(layer.group(3), tensor);
            }
        }
        return layers;
    }

    static List<Gap> of(ModelView view) {
        MambaGaps finder = new MambaGaps(view);
        if (!finder.layers.isEmpty()) {
            finder.find();
        }
        return finder.gaps;
    }

    private void find() {
        if (EMBEDDINGS.stream().noneMatch(view.tensors()::containsKey)) {
            gaps.add(Gap.tensor("backbone.embedding.weight", "every model has an embedding"));
        }
        numbering();
        Map<Optional<Mixer>, List<LayerParts>> alike = new LinkedHashMap<>();
        for (LayerParts layer : layers.values()) {
            Optional<Mixer> mixer = Mixer.of(layer);
            layer(layer, mixer);
            alike.computeIfAbsent(mixer, none -> new ArrayList<>()).add(layer);
        }
        alike.forEach((mixer, some) -> mixer.ifPresent(kind -> Consensus.compare(
                kind.name().toLowerCase(Locale.ROOT),
                some,
                suffix -> kind.required.contains(suffix) || !suffix.matches("(mixer|mlp|norm2?)\\..+")
                        ? Optional.empty()
                        : Optional.of(suffix),
                gaps)));
        if (!view.tensors().containsKey("backbone.norm_f.weight")) {
            gaps.add(Gap.tensor("backbone.norm_f.weight", "every model has a last norm"));
        }
        boolean untied = Boolean.FALSE.equals(view.config().get("tie_embeddings"));
        if (untied && !view.tensors().containsKey("lm_head.weight")) {
            gaps.add(Gap.tensor("lm_head.weight", "config.json says that it is not tied to the embedding"));
        }
    }

    private void numbering() {
        int next = 0;
        for (int number : layers.keySet()) {
            for (; next < number && gaps.size() < MOST; next++) {
                gaps.add(new Gap(Gap.Kind.LAYER, "backbone.layers." + next + ".*", "layers behind it are there"));
            }
            next = number + 1;
        }
        Object depth = view.config().getOrDefault("n_layer", view.config().get("num_hidden_layers"));
        long expected = depth instanceof Number number ? number.longValue() : 0;
        for (; next < expected && gaps.size() < MOST; next++) {
            gaps.add(new Gap(
                    Gap.Kind.LAST_LAYER,
                    "backbone.layers." + next + ".*",
                    "config.json says that there are %d layers".formatted(expected)));
        }
    }

    private void layer(LayerParts layer, Optional<Mixer> mixer) {
        require(layer, List.of("norm.weight"));
        if (mixer.isPresent()) {
            require(layer, mixer.get().required);
        } else if (!layer.hasIn("mixer.")) {
            gaps.add(Gap.tensor(layer.prefix() + "mixer.*", "the layer has nothing that mixes tokens"));
        }
        if (layer.hasIn("mlp.") || layer.hasIn("norm2.")) {
            require(layer, List.of("norm2.weight", "mlp.fc1.weight", "mlp.fc2.weight"));
        }
    }

    private void require(LayerParts layer, List<String> suffixes) {
        for (String suffix : suffixes) {
            if (!layer.has(suffix)) {
                gaps.add(Gap.tensor(layer.prefix() + suffix, "a layer of its kind needs it"));
            }
        }
    }
}
