package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.pattern.GptPairing;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Model;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which layer of the target each layer of the source becomes.
 *
 * <p>Most targets have the source's layers. Layers of some kinds can be left out, and a Transformer's layers of two parts become
 * hybrid layers of one part, or the other way round: the i-th attention and the i-th MLP or experts of a hybrid model are layer
 * i of the Transformer. Nothing else differs between both: the first norm of each part is the part's own.
 */
public final class LayerMoves {
    private static final String HYBRID_NORM = "decoder.final_norm.";
    private static final String TRANSFORMER_NORM = "decoder.final_layernorm.";

    private final Model model;
    private final boolean changed;
    private final Optional<HybridPattern> pattern;
    private final int layers;
    private final Map<Integer, Places> places;
    private final Map<Integer, Places> predictions;
    private final List<String> notes;

    /** Target layers of a source layer's parts; -1 for a part that is left out. */
    private record Places(int attention, int feedForward, int other) {
        static Places all(int layer) {
            return new Places(layer, layer, layer);
        }
    }

    private LayerMoves(
            Model model,
            boolean changed,
            Optional<HybridPattern> pattern,
            int layers,
            Map<Integer, Places> places,
            Map<Integer, Places> predictions,
            List<String> notes) {
        this.model = model;
        this.changed = changed;
        this.pattern = pattern;
        this.layers = layers;
        this.places = places;
        this.predictions = predictions;
        this.notes = notes;
    }

    /**
     * Finds the target's layers.
     *
     * @throws CheckpointException of kind REFUSED if the target would need layers that the source does not have
     */
    public static LayerMoves of(ModelView source, ConversionOptions options) throws CheckpointException {
        SourceLayers layers = SourceLayers.of(source);
        if (layers.isTransformer()) {
            boolean hybrid = options.model()
                    .map(Model.HYBRID::equals)
                    .orElse(options.pattern().isPresent());
            if (!options.dropLayers().isEmpty()) {
                throw refused("--drop-layers " + options.dropLayers()
                        + " leaves out layers of hybrid models; each layer of this Transformer has attention and MLP");
            }
            return hybrid ? toHybrid(layers, options) : same(Model.TRANSFORMER, Optional.empty(), layers);
        }
        Optional<HybridPattern> saved = layers.known(source, options);
        boolean asTransformer = options.model().equals(Optional.of(Model.TRANSFORMER));
        if (options.dropLayers().isEmpty() && !asTransformer) {
            return same(Model.HYBRID, saved, layers);
        }
        return fromHybrid(layers, options);
    }

    /** Moves nothing, for targets that have the source's layers in any case. */
    static LayerMoves none() {
        return new LayerMoves(Model.HYBRID, false, Optional.empty(), 0, Map.of(), Map.of(), List.of());
    }

    private static LayerMoves same(Model model, Optional<HybridPattern> pattern, SourceLayers layers) {
        return new LayerMoves(model, false, pattern, layers.count(), Map.of(), Map.of(), List.of());
    }

    private static LayerMoves toHybrid(SourceLayers layers, ConversionOptions options) throws CheckpointException {
        HybridPattern usual = HybridPattern.parse(
                symbols(layers.kinds()) + ("/" + symbols(layers.predictions())).repeat(layers.depths()));
        HybridPattern wanted = options.pattern().isPresent()
                ? HybridPattern.parse(options.pattern().get())
                : usual;
        GptPairing pairs = GptPairing.of(wanted);
        if (!pairs.stateSpace().isEmpty()) {
            throw refused("the pattern " + wanted.text() + " has state space layers (" + pairs.stateSpace()
                            + "), for which a Transformer has no weights; none are made up")
                    .withHint("give a pattern of the Transformer's own parts, such as " + usual.text());
        }
        List<LayerKind> kinds = usual.layers();
        if (pairs.attention().size() != layers.count() || !sameParts(wanted, usual)) {
            throw refused("the pattern " + wanted.text() + " is not that of this Transformer, whose " + layers.count()
                            + " layers are " + usual.text())
                    .withHint("--pattern '" + usual.text() + "', with | where stages end");
        }
        Map<Integer, Places> places = new LinkedHashMap<>();
        for (int layer = 0; layer < layers.count(); layer++) {
            places.put(
                    layer,
                    new Places(pairs.attention().get(layer), pairs.feedForward().get(layer), -1));
        }
        Map<Integer, Places> inner = layers.depths() == 0 ? Map.of() : Map.of(0, new Places(0, 1, -1));
        List<String> notes = new ArrayList<>();
        notes.add("written as a hybrid model: " + layers.count() + " Transformer layers become " + kinds.size()
                + " layers " + wanted.withoutPipes().text());
        noteOrder(pairs, notes);
        return new LayerMoves(Model.HYBRID, true, Optional.of(wanted), kinds.size(), places, inner, notes);
    }

    private static boolean sameParts(HybridPattern wanted, HybridPattern usual) {
        return wanted.counts().equals(usual.counts())
                && wanted.mtp().equals(usual.mtp())
                && wanted.mtpDepths() == usual.mtpDepths();
    }

    /** The parts of Transformer layers as a hybrid model has them, attention first. */
    private static String symbols(List<Set<LayerKind>> layers) {
        StringBuilder text = new StringBuilder();
        for (Set<LayerKind> parts : layers) {
            boolean experts = parts.contains(LayerKind.EXPERTS);
            for (LayerKind kind : parts) {
                if (kind != LayerKind.EXPERTS && kind != LayerKind.MLP) {
                    text.append(kind.symbol());
                }
            }
            text.append(experts ? 'E' : '-');
        }
        return text.toString();
    }

    private static LayerMoves fromHybrid(SourceLayers layers, ConversionOptions options) throws CheckpointException {
        HybridPattern all = layers.pattern()
                .orElseThrow(() -> refused("the kind of some layer cannot be told from its weights")
                        .withHint("'shardsmith validate' shows what the weights say, layer by layer"));
        List<LayerKind> kept = new ArrayList<>();
        List<Integer> numbers = new ArrayList<>();
        for (int layer = 0; layer < all.layerCount(); layer++) {
            if (options.dropLayers().indexOf(all.layers().get(layer).symbol()) < 0) {
                kept.add(all.layers().get(layer));
                numbers.add(layer);
            }
        }
        requireDroppable(all, options, numbers.size());
        String prediction = all.mtp().map(part -> "/" + part).orElse("").repeat(all.mtpDepths());
        HybridPattern pattern = HybridPattern.parse(HybridPattern.of(kept).text() + prediction);
        Model model = options.model().orElse(Model.HYBRID);
        if (options.model().isEmpty() && withoutStateSpace(all, pattern)) {
            model = Model.TRANSFORMER;
        }
        List<String> notes = new ArrayList<>();
        if (numbers.size() < all.layerCount()) {
            notes.add((all.layerCount() - numbers.size()) + " of " + all.layerCount()
                    + " layers are left out (--drop-layers " + options.dropLayers() + ")");
        }
        return switch (model) {
            case HYBRID -> renumbered(pattern, numbers, notes);
            case TRANSFORMER -> toTransformer(pattern, numbers, options, notes);
        };
    }

    private static void requireDroppable(HybridPattern all, ConversionOptions options, int left)
            throws CheckpointException {
        for (char symbol : options.dropLayers().toCharArray()) {
            boolean there = all.layers().stream().anyMatch(kind -> kind.symbol() == symbol);
            if (!there || all.mtp().orElse("").indexOf(symbol) >= 0) {
                throw refused("--drop-layers " + symbol + ": "
                        + (there
                                ? "the prediction part " + all.mtp().orElse("") + " has such a layer, too"
                                : "the model " + all.text() + " has no such layer"));
            }
        }
        if (left == 0) {
            throw refused("--drop-layers " + options.dropLayers() + " leaves no layer of " + all.text());
        }
    }

    /** Whether leaving out all state space layers made a Transformer: equally many attention and MLP layers. */
    private static boolean withoutStateSpace(HybridPattern all, HybridPattern kept) {
        boolean had = all.layers().contains(LayerKind.MAMBA) || all.layers().contains(LayerKind.GATED_DELTA);
        try {
            GptPairing pairs = GptPairing.of(kept);
            return had && pairs.stateSpace().isEmpty() && !pairs.attention().isEmpty() && predictionFits(kept);
        } catch (CheckpointException notPairs) {
            return false;
        }
    }

    private static boolean predictionFits(HybridPattern pattern) {
        String part = pattern.mtp().orElse("*-");
        return part.equals("*-") || part.equals("*E");
    }

    private static LayerMoves renumbered(HybridPattern pattern, List<Integer> numbers, List<String> notes) {
        Map<Integer, Places> places = new LinkedHashMap<>();
        for (int layer = 0; layer < numbers.size(); layer++) {
            places.put(numbers.get(layer), Places.all(layer));
        }
        return new LayerMoves(Model.HYBRID, true, Optional.of(pattern), numbers.size(), places, Map.of(), notes);
    }

    private static LayerMoves toTransformer(
            HybridPattern pattern, List<Integer> numbers, ConversionOptions options, List<String> notes)
            throws CheckpointException {
        if (options.pattern().isPresent()) {
            throw refused("a Transformer has no hybrid layer pattern, so --pattern has nothing to say about it")
                    .withHint("leave it out; --pp-layers says where stages end");
        }
        GptPairing pairs = GptPairing.of(pattern);
        if (!pairs.stateSpace().isEmpty()) {
            throw refused("the model has state space layers, which a Transformer cannot hold: " + pattern.text())
                    .withHint("--drop-layers M leaves them out");
        }
        if (!predictionFits(pattern)) {
            throw refused("the prediction part " + pattern.mtp().orElse("") + " is no Transformer layer");
        }
        Map<Integer, Places> places = new LinkedHashMap<>();
        for (int layer = 0; layer < pairs.attention().size(); layer++) {
            places.put(numbers.get(pairs.attention().get(layer)), Places.all(layer));
            places.put(numbers.get(pairs.feedForward().get(layer)), Places.all(layer));
        }
        Map<Integer, Places> inner = pattern.mtpDepths() == 0 ? Map.of() : Map.of(0, Places.all(0), 1, Places.all(0));
        notes.add("written as a Transformer of " + pairs.attention().size() + " layers: its layer i has the i-th "
                + "attention and the i-th MLP or experts of " + pattern.text());
        noteOrder(pairs, notes);
        return new LayerMoves(
                Model.TRANSFORMER, true, Optional.empty(), pairs.attention().size(), places, inner, notes);
    }

    private static void noteOrder(GptPairing pairs, List<String> notes) {
        int before = -1;
        boolean alternating = true;
        for (int layer = 0; layer < pairs.attention().size(); layer++) {
            int attention = pairs.attention().get(layer);
            int feedForward = pairs.feedForward().get(layer);
            alternating &= before < attention && attention < feedForward;
            before = feedForward;
        }
        if (!alternating) {
            notes.add("the hybrid model does not alternate between attention and MLP as a Transformer does, so both "
                    + "will not compute the same");
        }
    }

    /** What the layers of the target consist of. */
    public Model model() {
        return model;
    }

    /** Whether layers are renumbered, joined, parted or left out. */
    public boolean changed() {
        return changed;
    }

    /** The target's pattern, if it is a hybrid model whose pattern is known. */
    public Optional<HybridPattern> pattern() {
        return pattern;
    }

    /** Decoder layers of the target. */
    public int layers() {
        return layers;
    }

    /** What a user should know. */
    public List<String> notes() {
        return notes;
    }

    /**
     * The target's name of a parameter or opaque state; empty if its layer is left out.
     *
     * @throws CheckpointException of kind REFUSED if the part of a layer that it belongs to is not known
     */
    public Optional<String> target(String source) throws CheckpointException {
        if (!changed) {
            return Optional.of(source);
        }
        MegatronName name = MegatronName.parse(source);
        return switch (name.scope()) {
            case MODEL -> Optional.of(finalNorm(source));
            case MTP -> Optional.of(source);
            case LAYER -> decoder(name);
            case MTP_LAYER -> Optional.of(prediction(name));
        };
    }

    private String finalNorm(String name) {
        String from = model == Model.HYBRID ? TRANSFORMER_NORM : HYBRID_NORM;
        String to = model == Model.HYBRID ? HYBRID_NORM : TRANSFORMER_NORM;
        return name.startsWith(from) ? to + name.substring(from.length()) : name;
    }

    private Optional<String> decoder(MegatronName name) throws CheckpointException {
        Places of = places.get(name.layer().orElseThrow());
        if (of == null) {
            return Optional.empty();
        }
        return Optional.of(name.inLayer(place(of, name)).key());
    }

    /** Inside of a prediction block a hybrid model numbers its layers; a Transformer has one without a number. */
    private String prediction(MegatronName name) throws CheckpointException {
        if (predictions.isEmpty()) {
            return name.key();
        }
        String block = "mtp.layers." + name.depth().orElseThrow() + ".mtp_model_layer.";
        if (model == Model.TRANSFORMER) {
            return block + name.suffix();
        }
        return block + "layers." + place(predictions.get(0), name) + "." + name.suffix();
    }

    private static int place(Places places, MegatronName name) throws CheckpointException {
        String suffix = name.suffix();
        int place = places.other();
        if (suffix.startsWith("self_attention.") || suffix.startsWith("input_layernorm.")) {
            place = places.attention();
        } else if (suffix.startsWith("mlp.") || suffix.startsWith("pre_mlp_layernorm.")) {
            place = places.feedForward();
        }
        if (place < 0) {
            throw refused(name.key() + " belongs to neither the attention nor the MLP of its layer");
        }
        return place;
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
