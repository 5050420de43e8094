package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import dev.shardsmith.reshard.pattern.SymbolCheck.Pipes;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A hybrid layer pattern: the kind of every layer, the stage boundaries, and the prediction part.
 *
 * <p>Immutable. The main part can be missing ({@code /MM}), which is not the same as empty: both have no layers.
 */
public final class HybridPattern {
    private static final HybridPattern ABSENT = new HybridPattern("", null, null, 0, List.of(), List.of());

    private final String text;
    private final String main;
    private final String mtp;
    private final int mtpDepths;
    private final List<LayerKind> layers;
    private final List<LayerKind> mtpLayers;

    private HybridPattern(
            String text, String main, String mtp, int mtpDepths, List<LayerKind> layers, List<LayerKind> mtpLayers) {
        this.text = text;
        this.main = main;
        this.mtp = mtp;
        this.mtpDepths = mtpDepths;
        this.layers = List.copyOf(layers);
        this.mtpLayers = List.copyOf(mtpLayers);
    }

    /** The pattern of a model that was given none: no main part, no prediction part. */
    public static HybridPattern absent() {
        return ABSENT;
    }

    /**
     * Reads a pattern.
     *
     * @throws CheckpointException of kind {@code REFUSED} if it breaks a rule; the place is the column, counted from 1
     */
    public static HybridPattern parse(String text) throws CheckpointException {
        return parse(text, "hybrid layer pattern " + PatternProblem.shown(text));
    }

    /** Reads a pattern that was found at {@code where}, which an error then names. */
    public static HybridPattern parse(String text, String where) throws CheckpointException {
        try {
            return parseOrFault(text);
        } catch (PatternFault fault) {
            throw fault.problem().toException(where);
        }
    }

    /** Reads a pattern and gives the problem as a value. */
    public static PatternReading read(String text) {
        try {
            return new PatternReading.Understood(parseOrFault(text));
        } catch (PatternFault fault) {
            return new PatternReading.Refused(fault.problem());
        }
    }

    /** Reads only what stands before the first {@code /}; the prediction parts are not looked at. */
    public static HybridPattern parseMain(String text) throws CheckpointException {
        return parse(mainText(text));
    }

    /** The pattern of these layers without stage boundaries or prediction part. */
    public static HybridPattern of(List<LayerKind> layers) {
        StringBuilder text = new StringBuilder();
        layers.forEach(kind -> text.append(kind.symbol()));
        return new HybridPattern(text.toString(), text.toString(), null, 0, layers, List.of());
    }

    static String mainText(String text) {
        int slash = text.indexOf('/');
        return slash < 0 ? text : text.substring(0, slash);
    }

    static HybridPattern parseOrFault(String text) throws PatternFault {
        List<int[]> parts = parts(text);
        int mainEnd = parts.get(0)[1];
        List<LayerKind> layers = SymbolCheck.kinds(text, 0, mainEnd, "main part", Pipes.ALLOWED);
        // An empty main part before a slash is no main part; an empty pattern is an empty main part.
        String main = mainEnd == 0 && parts.size() > 1 ? null : text.substring(0, mainEnd);
        List<int[]> predictions = parts.subList(1, parts.size());
        if (predictions.stream().allMatch(part -> part[0] == part[1])) {
            return new HybridPattern(text, main, null, 0, layers, List.of());
        }
        requireEqual(text, predictions);
        int[] first = predictions.get(0);
        List<LayerKind> mtpLayers = SymbolCheck.kinds(text, first[0], first[1], "prediction part", Pipes.FORBIDDEN);
        return new HybridPattern(text, main, text.substring(first[0], first[1]), predictions.size(), layers, mtpLayers);
    }

    private static List<int[]> parts(String text) {
        List<int[]> parts = new ArrayList<>();
        int start = 0;
        for (int slash = text.indexOf('/'); slash >= 0; slash = text.indexOf('/', start)) {
            parts.add(new int[] {start, slash});
            start = slash + 1;
        }
        parts.add(new int[] {start, text.length()});
        return parts;
    }

    private static void requireEqual(String text, List<int[]> predictions) throws PatternFault {
        String first = text.substring(predictions.get(0)[0], predictions.get(0)[1]);
        for (int k = 1; k < predictions.size(); k++) {
            int[] part = predictions.get(k);
            String other = text.substring(part[0], part[1]);
            if (other.equals(first)) {
                continue;
            }
            int same = 0;
            while (same < Math.min(first.length(), other.length()) && first.charAt(same) == other.charAt(same)) {
                same++;
            }
            String message = "prediction part %d is %s, but part 1 is %s: all parts must be the same"
                    .formatted(k + 1, PatternProblem.shown(other), PatternProblem.shown(first));
            String fix = first.isEmpty() || other.isEmpty()
                    ? "remove the surplus /"
                    : "repeat one part as often as there are prediction depths";
            throw new PatternFault(Rule.MTP_PARTS_DIFFER, message, SymbolCheck.column(text, part[0] + same), fix);
        }
    }

    /** The pattern as it was written. */
    public String text() {
        return text;
    }

    /** The main part with its pipes; empty if there is none. */
    public Optional<String> main() {
        return Optional.ofNullable(main);
    }

    /** The prediction part, once; empty if there is none. */
    public Optional<String> mtp() {
        return Optional.ofNullable(mtp);
    }

    /** How many prediction depths there are. */
    public int mtpDepths() {
        return mtpDepths;
    }

    /** The kinds of the main layers by their global number. */
    public List<LayerKind> layers() {
        return layers;
    }

    /** The kinds of the layers within one prediction depth. */
    public List<LayerKind> mtpLayers() {
        return mtpLayers;
    }

    /** Number of main layers. */
    public int layerCount() {
        return layers.size();
    }

    /** The segments between pipes; one empty segment if there are no layers. */
    public List<String> segments() {
        return List.of((main == null ? "" : main).split("\\|", -1));
    }

    /** Whether the pattern says where stages end. */
    public boolean hasPipes() {
        return main != null && main.indexOf('|') >= 0;
    }

    /** Layers of every kind, in listing order; a prediction layer counts once for each depth. */
    public Map<LayerKind, Integer> counts() {
        Map<LayerKind, Integer> counts = new EnumMap<>(LayerKind.class);
        for (LayerKind kind : LayerKind.values()) {
            counts.put(kind, 0);
        }
        layers.forEach(kind -> counts.merge(kind, 1, Integer::sum));
        mtpLayers.forEach(kind -> counts.merge(kind, mtpDepths, Integer::sum));
        return counts;
    }

    /** Whether any layer, prediction layers included, has latent attention. */
    public boolean isLatent() {
        return layers.stream().anyMatch(LayerKind::isLatent)
                || mtpLayers.stream().anyMatch(LayerKind::isLatent);
    }

    /** This pattern without stage boundaries. */
    public HybridPattern withoutPipes() {
        return hasPipes() ? withMain(main.replace("|", "")) : this;
    }

    /**
     * This pattern with stage boundaries after so many layers each.
     *
     * @throws CheckpointException of kind {@code REFUSED} if the counts are negative or their sum is not the layer count
     */
    public HybridPattern withPipes(List<Integer> layersPerSegment) throws CheckpointException {
        try {
            return withPipesOrFault(layersPerSegment);
        } catch (PatternFault fault) {
            throw fault.problem().toException("hybrid layer pattern " + PatternProblem.shown(text));
        }
    }

    HybridPattern withPipesOrFault(List<Integer> layersPerSegment) throws PatternFault {
        long sum = 0;
        for (int count : layersPerSegment) {
            if (count < 0) {
                throw new PatternFault(Rule.LAYER_COUNTS, "a stage of " + count + " layers is impossible", 0, "");
            }
            sum += count;
        }
        if (sum != layers.size() || layersPerSegment.isEmpty()) {
            String message = "the stages %s hold %d layers, but the pattern has %d"
                    .formatted(layersPerSegment, sum, layers.size());
            throw new PatternFault(Rule.LAYER_COUNTS, message, 0, "give counts whose sum is " + layers.size());
        }
        if (main == null) {
            return this;
        }
        String symbols = main.replace("|", "");
        List<String> segments = new ArrayList<>();
        int start = 0;
        for (int count : layersPerSegment) {
            segments.add(symbols.substring(start, start + count));
            start += count;
        }
        return withMain(String.join("|", segments));
    }

    private HybridPattern withMain(String newMain) {
        String tail = mtp == null ? "" : ("/" + mtp).repeat(mtpDepths);
        return new HybridPattern(newMain + tail, newMain, mtp, mtpDepths, layers, mtpLayers);
    }

    /** What is accepted and yet is probably not meant; one sentence each. */
    public List<String> remarks() {
        List<String> remarks = new ArrayList<>();
        if (text.endsWith("/") && mtp == null) {
            remarks.add("the / at the end starts no prediction part and is ignored");
        }
        if (main == null && mtp != null) {
            remarks.add("there is no main part before the first /");
        }
        boolean mixed = mtp != null
                && (layers.contains(LayerKind.ATTENTION) || mtpLayers.contains(LayerKind.ATTENTION))
                && isLatent();
        if (mixed) {
            remarks.add("main and prediction part mix attention (*) with latent attention (D, +)");
        }
        return remarks;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof HybridPattern that && text.equals(that.text) && main().equals(that.main());
    }

    @Override
    public int hashCode() {
        return text.hashCode();
    }

    /** The pattern as it was written. */
    @Override
    public String toString() {
        return text;
    }
}
