package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.VocabularySize;
import dev.shardsmith.verify.validate.Contradictions;
import dev.shardsmith.verify.validate.Finding;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * The runnable model of an opened checkpoint.
 *
 * <p>Shards are taken as each rank holds them. Only what the framework itself stores undivided (a distributed checkpoint, a
 * Hugging Face folder) is run as one rank.
 */
public final class CheckpointModels {
    private CheckpointModels() {}

    /**
     * Builds the model; the view must stay open while it runs.
     *
     * @param override options that the checkpoint does not hold, by the name that its framework has for them
     * @throws CheckpointException if no forward pass is known for the model
     */
    public static LayeredModel of(ModelView view, Map<String, Object> override) throws IOException {
        Contradictions denied = Contradictions.withValues(view, texts(override));
        if (denied.preventing().isPresent()) {
            Finding first = denied.preventing().get();
            throw CheckpointException.of(
                    Kind.INCONSISTENT,
                    view.path() + ", " + first.where(),
                    "the options deny the weights: " + first.message());
        }
        List<String> doubts = denied.doubts().stream()
                .map(finding -> finding.where() + " of " + view.path() + ": " + finding.message())
                .toList();
        try {
            LayeredModel model = model(view, override);
            return model.withRemainder(model.remainder().withDoubts(doubts));
        } catch (IllegalArgumentException | ArithmeticException e) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT,
                    view.path().toString(),
                    "the saved options do not fit the sizes of the tensors: " + e.getMessage());
        }
    }

    private static Map<String, String> texts(Map<String, Object> override) {
        Map<String, String> texts = new LinkedHashMap<>();
        override.forEach((name, value) ->
                texts.put(name, value instanceof Boolean flag ? flag ? "True" : "False" : String.valueOf(value)));
        return texts;
    }

    private static LayeredModel model(ModelView view, Map<String, Object> override) throws IOException {
        Map<String, Object> options = new LinkedHashMap<>(view.config());
        view.state().args().ifPresent(args -> options.putAll(plain(args)));
        options.putAll(override);
        Settings settings = new Settings(view.path().toString(), options);
        if (options.get("model_type") != null && view.layout() == ModelView.Layout.HUGGINGFACE) {
            NamedWeights weights = HuggingFaceFolder.open(view.path(), view.files());
            LayeredModel model = HuggingFaceModels.of(settings, weights);
            return model.withRemainder(
                            Leftovers.of(List.of(weights), model.remainder().copies()))
                    .withVocabulary(vocabulary(settings, 1));
        }
        List<Remainder.Copy> copies = new ArrayList<>();
        List<NamedWeights> ranks = ranks(view, copies);
        NamedWeights first = ranks.get(0);
        if (first.has("embedding.word_embeddings.weight")) {
            return MegatronModels.of(settings, ranks, view.parallelism().expertTensor())
                    .withRemainder(Leftovers.of(ranks, copies))
                    .withVocabulary(
                            vocabulary(settings, ranks.size() * multiple(settings, "make_vocab_size_divisible_by")));
        }
        if (first.has("backbone.embedding.weight")) {
            return MambaSsmModels.of(settings, ranks)
                    .withRemainder(Leftovers.of(ranks, copies))
                    .withVocabulary(vocabulary(settings, multiple(settings, "pad_vocab_size_multiple")));
        }
        throw CheckpointException.of(
                Kind.UNSUPPORTED,
                view.path().toString(),
                "no forward pass is known for a checkpoint of layout "
                        + view.layout().id() + " with tensors such as "
                        + first.names().stream().findFirst().orElse("none"));
    }

    private static long multiple(Settings settings, String option) {
        return Math.max(1, settings.integerOr(1, option));
    }

    private static VocabularySize vocabulary(Settings settings, long multiple) {
        int real = settings.integerOr(0, "vocab_size");
        return new VocabularySize(real > 0 ? OptionalInt.of(real) : OptionalInt.empty(), multiple);
    }

    /** For each tensor-parallel rank what it holds over all pipeline stages and expert ranks. */
    private static List<NamedWeights> ranks(ModelView view, List<Remainder.Copy> copies) throws CheckpointException {
        Map<Integer, Map<String, NamedWeights.Entry>> byRank = new TreeMap<>();
        for (RankShard shard : view.ranks()) {
            shard.tensors().forEach((name, tensor) -> {
                // Experts may be divided among fewer tensor ranks; a rank's number among those is the remainder.
                boolean expert = name.contains(".mlp.experts.");
                int rank = expert ? shard.tensor() % view.parallelism().expertTensor() : shard.tensor();
                NamedWeights.Entry entry = entry(tensor);
                NamedWeights.Entry before =
                        byRank.computeIfAbsent(rank, t -> new LinkedHashMap<>()).putIfAbsent(name, entry);
                if (before != null) {
                    copies.add(Leftovers.copy(name, place(shard), before.source(), entry.source()));
                }
            });
        }
        if (byRank.isEmpty()) {
            throw CheckpointException.of(Kind.INCOMPLETE, view.path().toString(), "no rank holds any tensor");
        }
        return byRank.values().stream().map(NamedWeights::new).toList();
    }

    private static String place(RankShard shard) {
        return "on tensor rank %d, pipeline rank %d, expert rank %d"
                .formatted(shard.tensor(), shard.pipeline(), shard.expert());
    }

    private static NamedWeights.Entry entry(LogicalTensor tensor) {
        int[] shape = new int[tensor.shape().rank()];
        for (int dim = 0; dim < shape.length; dim++) {
            shape[dim] = (int) Math.min(Integer.MAX_VALUE, tensor.shape().size(dim));
        }
        return new NamedWeights.Entry(shape, new PiecedWeight(tensor));
    }

    /** The plain values among saved arguments. */
    private static Map<String, Object> plain(MegatronArgs args) {
        Map<String, Object> plain = new LinkedHashMap<>();
        for (String name : args.names()) {
            args.value(name).flatMap(CheckpointModels::plain).ifPresent(value -> plain.put(name, value));
        }
        return plain;
    }

    private static Optional<Object> plain(PyValue value) {
        if (value instanceof PyBool flag) {
            return Optional.of(flag.value());
        }
        if (value instanceof PyInt number) {
            return number.asLong().isPresent() ? Optional.of(number.asLong().getAsLong()) : Optional.empty();
        }
        if (value instanceof PyFloat number) {
            return Optional.of(number.value());
        }
        if (value instanceof PyTuple tuple) {
            return Optional.of(plain(tuple.items()));
        }
        if (value instanceof PyList list) {
            return Optional.of(plain(list.items()));
        }
        return value instanceof PyStr text ? Optional.of(text.value()) : Optional.empty();
    }

    /** What is neither a number nor a text is named by its kind: that it is there may matter. */
    private static List<Object> plain(List<PyValue> items) {
        List<Object> plain = new ArrayList<>();
        for (PyValue item : items) {
            boolean nested = item instanceof PyTuple || item instanceof PyList;
            plain.add(nested ? "…" : plain(item).orElse("…"));
        }
        return plain;
    }
}
