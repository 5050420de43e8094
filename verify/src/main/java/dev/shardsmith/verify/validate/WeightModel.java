package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A model as its weights alone describe it: layers and their kinds, prediction depths, stages. */
final class WeightModel {
    private static final Pattern MTP = Pattern.compile("mtp\\.layers\\.(\\d{1,9})\\.(.+)");
    private static final Pattern MTP_INNER =
            Pattern.compile("(?:mtp_model_layer|transformer_layer)\\.(?:layers\\.(\\d{1,9})\\.)?(.+)");

    private final Map<String, LogicalTensor> model = new LinkedHashMap<>();
    private final TreeMap<Integer, LayerWeights> layers = new TreeMap<>();
    private final TreeMap<Integer, TreeMap<Integer, LayerWeights>> predictions = new TreeMap<>();
    private final TreeMap<Integer, LayerWeights> predictionBlocks = new TreeMap<>();
    private final List<TreeSet<Integer>> stages;
    private final boolean independentBiases;

    private WeightModel(List<TreeSet<Integer>> stages, boolean independentBiases) {
        this.stages = stages;
        this.independentBiases = independentBiases;
    }

    /** The model in a checkpoint of Megatron's family. */
    static WeightModel of(ModelView view) {
        WeightModel weights = new WeightModel(stages(view), view.layout() == ModelView.Layout.HUGGINGFACE);
        view.tensors().values().forEach(weights::add);
        return weights;
    }

    private void add(LogicalTensor tensor) {
        MegatronName name = MegatronName.parse(tensor.name());
        if (name.layer().isPresent()) {
            layers.computeIfAbsent(name.layer().getAsInt(), number -> new LayerWeights(name.prefix()))
                    .add(name.suffix(), tensor);
            return;
        }
        Matcher mtp = MTP.matcher(tensor.name());
        if (!mtp.matches()) {
            model.put(tensor.name(), tensor);
            return;
        }
        int depth = Integer.parseInt(mtp.group(1));
        String block = "mtp.layers." + depth + ".";
        Matcher inner = MTP_INNER.matcher(mtp.group(2));
        if (inner.matches()) {
            int number = inner.group(1) == null ? 0 : Integer.parseInt(inner.group(1));
            predictions
                    .computeIfAbsent(depth, key -> new TreeMap<>())
                    .computeIfAbsent(number, key -> new LayerWeights(name.prefix()))
                    .add(inner.group(2), tensor);
        } else {
            predictionBlocks
                    .computeIfAbsent(depth, key -> new LayerWeights(block))
                    .add(mtp.group(2), tensor);
        }
    }

    private static List<TreeSet<Integer>> stages(ModelView view) {
        int pipeline = view.parallelism().pipeline();
        Map<Integer, TreeSet<Integer>> byStage = new TreeMap<>();
        for (RankShard rank : view.ranks()) {
            if (rank.tensor() != 0 || rank.expert() != 0) {
                continue;
            }
            TreeSet<Integer> held =
                    byStage.computeIfAbsent(rank.virtual() * pipeline + rank.pipeline(), stage -> new TreeSet<>());
            for (String name : rank.tensors().keySet()) {
                MegatronName.parse(name).layer().ifPresent(held::add);
            }
        }
        return new ArrayList<>(byStage.values());
    }

    /** Tensors outside the layers, by name. */
    Map<String, LogicalTensor> model() {
        return model;
    }

    /** The layers by their global number. */
    TreeMap<Integer, LayerWeights> layers() {
        return layers;
    }

    /** The layers inside the prediction blocks, by depth and number. */
    TreeMap<Integer, TreeMap<Integer, LayerWeights>> predictions() {
        return predictions;
    }

    /** What a prediction block has besides its layers, by depth. */
    TreeMap<Integer, LayerWeights> predictionBlocks() {
        return predictionBlocks;
    }

    /** Whether attention and MLPs have biases independently of each other, as in NemotronH's config and not in Megatron. */
    boolean hasIndependentBiases() {
        return independentBiases;
    }

    /** Numbers of the layers that each stage holds, in model order; empty where a layout knows no stages. */
    List<TreeSet<Integer>> stages() {
        return stages;
    }

    /** Whether every layer is a Transformer layer. */
    boolean isTransformer() {
        return !layers.isEmpty() && layers.values().stream().allMatch(LayerWeights::isTransformer);
    }

    /**
     * The pattern of the weights without stages; empty if a layer's kind cannot be told or the model is a Transformer.
     *
     * <p>Gaps in the numbering are left out; they are a finding of their own.
     */
    Optional<HybridPattern> pattern() throws CheckpointException {
        StringBuilder text = new StringBuilder();
        if (!symbols(layers, text)) {
            return Optional.empty();
        }
        TreeMap<Integer, LayerWeights> first =
                predictions.isEmpty() ? null : predictions.firstEntry().getValue();
        if (first != null) {
            StringBuilder part = new StringBuilder();
            if (!symbols(first, part)) {
                return Optional.empty();
            }
            text.append(("/" + part).repeat(predictions.size()));
        }
        return layers.isEmpty() ? Optional.empty() : Optional.of(HybridPattern.parse(text.toString()));
    }

    /** The pattern with the stages of the files, where they are not what the framework would choose by itself. */
    Optional<HybridPattern> patternWithStages(boolean always) throws CheckpointException {
        Optional<HybridPattern> plain = pattern();
        List<Integer> counts = stages.stream().map(TreeSet::size).toList();
        int sum = counts.stream().mapToInt(Integer::intValue).sum();
        boolean even = counts.stream().distinct().count() <= 1;
        if (plain.isEmpty() || counts.size() < 2 || sum != plain.get().layerCount() || even && !always) {
            return plain;
        }
        return Optional.of(plain.get().withPipes(counts));
    }

    private static boolean symbols(TreeMap<Integer, LayerWeights> layers, StringBuilder text) {
        for (LayerWeights layer : layers.values()) {
            Optional<LayerKind> kind = layer.kind();
            if (kind.isEmpty()) {
                return false;
            }
            text.append(kind.get().symbol());
        }
        return true;
    }
}
