package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaDivisions.Extent;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiPredicate;

/** The widths that {@code config.json} makes a model have, against those that its files have. */
final class MambaExpectation {
    private static final int MOST_DIFFERENCES = 3;

    private final MambaConfig config;

    /** What the ranks together hold less of than the config says; that is how a lost rank shows. */
    private final Set<String> less = new LinkedHashSet<>();

    /** What is more, or other, than the config says. */
    private final Set<String> other = new LinkedHashSet<>();

    /** Whether what every rank holds whole is not as wide as the config says, so that no rank can be missing. */
    private boolean otherModel;

    MambaExpectation(MambaConfig config) {
        this.config = config;
    }

    /** A width in the undivided model; empty where there is no config or it does not say. */
    Optional<Long> width(String symbol) {
        if (!config.isComplete()) {
            return Optional.empty();
        }
        long inner = config.inner();
        long scan = config.scanChannels();
        return Optional.of(
                        switch (symbol) {
                            case "di" -> inner;
                            case "ds" -> scan;
                            case "dm" -> inner - scan;
                            case "H" -> scan / Math.max(1, config.headDim());
                            case "GN" -> config.groups() * config.states();
                            case "h" -> config.mlpChannels();
                            case "q" -> config.attentionHeads() * config.attentionHeadDim();
                            case "kv" -> config.attentionHeads() / config.queriesPerKey() * config.attentionHeadDim();
                            case "mlp" -> config.attentionMlpChannels();
                            case "V" -> config.vocabularyRows();
                            case "d" -> config.width();
                            default -> 0L;
                        })
                .filter(width -> width > 0);
    }

    /** The words for a width. */
    static String words(String symbol) {
        return switch (symbol) {
            case "di" -> "inner channels (expand * d_model)";
            case "ds" -> "channels of the scan";
            case "dm" -> "bypass channels";
            case "H" -> "heads";
            case "D" -> "entries of D";
            case "GN" -> "rows of B and C (ngroups * d_state)";
            case "h" -> "MLP channels (d_intermediate)";
            case "q" -> "query channels (attn_cfg)";
            case "kv" -> "key and value channels (attn_cfg)";
            case "mlp" -> "channels of attention's MLP (attn_cfg)";
            case "V" -> "rows of the vocabulary";
            case "d" -> "channels of the model (d_model)";
            default -> symbol;
        };
    }

    /**
     * Compares a layer with the config.
     *
     * @param whole the widths that the ranks have together
     * @param shapes shapes of the undivided parameters
     * @param shared whether every rank holds all of a width
     */
    void compare(
            MambaFrame.Layer layer,
            MambaSizes whole,
            Map<String, Shape> shapes,
            BiPredicate<String, MambaSizes> shared) {
        compareWidth(layer, shapes);
        List<String> symbols = switch (whole.kind()) {
            case MAMBA1 -> List.of("di", "h");
            case MAMBA2 -> List.of("ds", "dm", "GN", "H", "h");
            case MAMBA3 -> List.of("di", "GN", "H", "h");
            case ATTENTION -> List.of("q", "kv", "mlp", "h");
            case NONE -> List.of("h");
        };
        for (String symbol : symbols) {
            if (whole.width(symbol) > 0) {
                long found = shared.test(symbol, whole) ? whole.each(symbol).get(0) : whole.width(symbol);
                compare(symbol, found, width(symbol));
            }
        }
        for (String key : layer.keys().values()) {
            if (whole.kind() == MambaSizes.Kind.NONE && key.endsWith("embedding.weight")) {
                compare("V", shapes.get(key).size(0), width("V"));
            }
        }
    }

    /** The norms in front of mixers are on every rank and as wide as the model. */
    private void compareWidth(MambaFrame.Layer layer, Map<String, Shape> shapes) {
        String key = layer.keys().getOrDefault("norm.weight", layer.keys().get("backbone.norm_f.weight"));
        if (key != null && shapes.get(key).rank() == 1) {
            otherModel |= compare("d", shapes.get(key).size(0), width("d"));
        }
    }

    private boolean compare(String symbol, long found, Optional<Long> expected) {
        boolean differs = expected.isPresent() && found != expected.get();
        if (differs) {
            Set<String> where = found < expected.get() ? less : other;
            where.add(found + " " + words(symbol) + " where config.json says " + expected.get());
        }
        return differs;
    }

    /**
     * Says what was found to be different.
     *
     * @param layers all layers, the model's own parameters among them
     * @param extent whether the files are known to be ranks
     * @throws CheckpointException if several ranks together are less, or more, than the model
     */
    void report(MambaDivisions result, List<MambaSizes> layers, int world, Extent extent) throws CheckpointException {
        long count = layers.stream()
                .filter(layer -> layer.kind() != MambaSizes.Kind.NONE)
                .count();
        if (config.isComplete() && config.layers() > 0 && count > 0 && count != config.layers()) {
            result.addWarning("the files have " + count + " layers, config.json says " + config.layers());
        }
        List<String> differences = new ArrayList<>(less);
        differences.addAll(other);
        // A config of another model explains all other differences.
        differences.sort(Comparator.comparing(text -> !text.contains(words("d"))));
        if (differences.isEmpty()) {
            return;
        }
        String some = String.join("; ", differences.subList(0, Math.min(MOST_DIFFERENCES, differences.size())));
        boolean onlyVocabulary = less.isEmpty() && other.stream().allMatch(text -> text.contains(words("V")));
        if (extent == Extent.WHOLE || onlyVocabulary) {
            result.addWarning("the files hold " + some);
            return;
        }
        throw CheckpointException.of(
                        less.isEmpty() || otherModel ? Kind.INCONSISTENT : Kind.INCOMPLETE,
                        "config.json",
                        (world == 1
                                        ? "the file of the one rank holds "
                                        : "the files of " + world + " ranks together hold ")
                                + some)
                .withHint(
                        less.isEmpty() || otherModel
                                ? "see whether these are ranks of one model, and of the model of this config.json"
                                : "see whether the file of a rank is missing");
    }
}
