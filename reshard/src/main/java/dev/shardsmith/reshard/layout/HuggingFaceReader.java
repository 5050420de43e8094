package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.safetensors.IndexFinding;
import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import dev.shardsmith.reshard.family.AttentionSizes;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.family.NemotronConfig;
import dev.shardsmith.reshard.family.NemotronLayers;
import dev.shardsmith.reshard.family.NemotronNames;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** Opens a Hugging Face folder: {@code config.json} and safetensors or {@code pytorch_model*.bin} files. */
final class HuggingFaceReader {
    private final FilePool pool;
    private final OpenOptions options;
    private final HuggingFace location;
    private final ModelViewBuilder view;
    private Map<String, Object> config = Map.of();
    private WeightFiles weights;

    private HuggingFaceReader(Path shown, HuggingFace location, FilePool pool, OpenOptions options) {
        this.pool = pool;
        this.options = options;
        this.location = location;
        this.view = new ModelViewBuilder(shown, pool, ModelView.Layout.HUGGINGFACE);
    }

    /** Opens a folder that was located. */
    static ModelView read(Path shown, HuggingFace location, FilePool pool, OpenOptions options) throws IOException {
        return new HuggingFaceReader(shown, location, pool, options).read();
    }

    private ModelView read() throws IOException {
        if (location.config().isPresent()) {
            config = Json.readObject(pool.file(location.config().get()));
            view.config(config);
        }
        weights = WeightFiles.open(pool, location.weights(), options.trailingBytes());
        weights.describe(view);
        checkIndex();
        String type = String.valueOf(config.get("model_type"));
        view.description(location.explanation()
                + (config.containsKey("model_type") ? ", model type " + type : ", of no stated model type"));
        switch (type) {
            case "nemotron_h" -> nemotron();
            case "mamba", "mamba2" -> {
                view.stored(weights.shapes());
                checkGaps(HuggingFaceKinds.of(config));
                return MambaReader.readHuggingFace(view, config, weights, options.rules());
            }
            default -> {
                checkGaps(HuggingFaceKinds.of(config));
                HuggingFaceGaps.surplus(config, weights.tensors().keySet()).ifPresent(view::addWarning);
                view.family(Family.HUGGINGFACE);
                addAll(weights.tensors());
            }
        }
        return view.build();
    }

    private void checkIndex() throws IOException {
        if (location.index().isEmpty()) {
            return;
        }
        // It was read when the folder was looked at; it is one of the checkpoint's files all the same.
        pool.file(location.index().get().file());
        SafetensorsIndex index = location.index().get().content();
        Map<String, Map<String, Long>> shards = new LinkedHashMap<>();
        Map<Path, Map<String, Long>> sizes = new HashMap<>();
        for (Path file : location.weights()) {
            sizes.put(file, new LinkedHashMap<>());
            shards.put(file.getFileName().toString(), sizes.get(file));
        }
        weights.owners()
                .forEach((name, file) ->
                        sizes.get(file).put(name, weights.tensors().get(name).bytes()));
        for (IndexFinding finding : index.check(shards)) {
            view.addWarning(finding.message());
            switch (finding.code()) {
                case UNSAFE_PATH, MISSING_FILE ->
                    index.weightMap().forEach((name, file) -> {
                        if (file.equals(finding.subject()) && !weights.tensors().containsKey(name)) {
                            view.addMissing(name, "the index has it in " + file);
                        }
                    });
                case GHOST_TENSOR -> view.addMissing(finding.subject(), "the index lists it");
                case WRONG_SHARD, DUPLICATE_TENSOR, UNINDEXED_TENSOR, UNINDEXED_FILE, WRONG_TOTAL_SIZE -> {}
            }
        }
    }

    /** Adds what config and layers say is missing, where the index did not say so already. */
    private void checkGaps(String kinds) {
        HuggingFaceGaps.find(config, weights.tensors().keySet(), kinds).forEach((name, reason) -> {
            Glob pattern = Glob.of(name);
            if (view.missing().stream().noneMatch(pattern::matches)) {
                view.addMissing(name, reason).addWarning(name + " is missing: " + reason);
            }
        });
    }

    private void addAll(Map<String, StoredTensor> tensors) {
        tensors.forEach((name, data) -> view.add(LogicalTensor.whole(name, data)));
        view.addRank(new RankShard(0, 0, 0, 0, view.tensors(), ModelState.none()));
    }

    private void nemotron() throws IOException {
        NemotronLayers layers = NemotronLayers.of(config, weights.tensors().keySet());
        NemotronNames names = NemotronNames.of(layers);
        checkGaps(layers.main());
        Optional<AttentionSizes> attention = AttentionSizes.of(config);
        List<String> unknown = new ArrayList<>();
        Map<String, Shape> stored = weights.shapes();
        view.stored(stored);
        Map<String, Shape> shapes = names.megatron(stored, unknown);
        if (Boolean.TRUE.equals(config.get("tie_word_embeddings")) && shapes.containsKey("output_layer.weight")) {
            view.addWarning(
                    "config.json ties the head to the embedding, but there is an lm_head.weight: it is taken for a head"
                            + " of its own; transformers runs the embedding in its place where it ties them");
        }
        MegatronSidecar sidecar = MegatronSidecar.read(pool, location.path(), layers);
        Map<String, Shape> named = sidecar.named(shapes, names);
        Map<String, LogicalTensor> held = new LinkedHashMap<>();
        Map<String, ExtraState> extraStates = new LinkedHashMap<>();
        sidecar.extraStates().forEach(extra -> extraStates.put(extra.name(), extra));
        Set<String> order = new LinkedHashSet<>(sidecar.names());
        order.addAll(named.keySet());
        for (String name : order) {
            if (named.containsKey(name)) {
                LogicalTensor tensor = tensor(
                        name, names.parts(MegatronName.parse(name), named.get(name), attention), named.get(name));
                held.put(name, tensor);
                view.add(tensor);
            } else if (extraStates.containsKey(name)) {
                view.addExtraState(extraStates.get(name));
            }
        }
        unknown.forEach(name -> {
            view.addUnknown(name);
            view.add(LogicalTensor.whole(name, weights.tensors().get(name)));
        });
        ModelState state = sidecar.state().orElseGet(() -> NemotronConfig.state(config, layers, shapes));
        view.addRank(new RankShard(0, 0, 0, 0, held, state));
        view.family(Family.MEGATRON).pattern(state.args().flatMap(MegatronArgs::pattern));
        if (sidecar.state().isPresent()) {
            view.state(state);
        } else {
            view.derivedState(state);
        }
        sidecar.iterationFolder().ifPresent(view::iterationFolder);
    }

    private LogicalTensor tensor(String name, Optional<List<NamedPart>> found, Shape shape) throws CheckpointException {
        List<NamedPart> parts = found.orElseThrow(() -> CheckpointException.of(
                CheckpointException.Kind.INCONSISTENT,
                name,
                "its shape " + shape + " does not fit the heads in config.json"));
        List<Piece> pieces = new ArrayList<>();
        StoredTensor first = null;
        for (NamedPart part : parts) {
            StoredTensor data = weights.tensors().get(part.name());
            if (data == null) {
                data = weights.tensors().get(part.name().replaceFirst("^backbone\\.", "model."));
            }
            if (data == null || !data.shape().equals(part.shape())) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        part.name(),
                        data == null ? "it is missing" : "its shape is " + data.shape() + ", expected " + part.shape());
            }
            first = first == null ? data : first;
            for (NamedPart.Link link : part.links()) {
                pieces.add(new Piece(
                        link.logical().offset(),
                        data.narrow(link.at(), link.logical().size())));
            }
        }
        return LogicalTensor.of(name, first.dtype(), shape, "whole", pieces, List.of());
    }
}
