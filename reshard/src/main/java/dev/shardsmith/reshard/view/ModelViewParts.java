package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.FilePool;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What a layout's reader gathers while it opens a checkpoint. */
final class ModelViewParts {
    final Path path;
    final FilePool files;
    final ModelView.Layout layout;
    ModelView.Family family = ModelView.Family.PLAIN;
    String description = "";
    Parallelism parallelism = Parallelism.NONE;
    Optional<String> pattern = Optional.empty();
    final Map<String, LogicalTensor> tensors = new LinkedHashMap<>();
    final List<String> unknown = new ArrayList<>();
    final List<ExtraState> extraStates = new ArrayList<>();
    ModelState state = ModelState.none();
    Map<String, Object> config = Map.of();
    final List<RankShard> ranks = new ArrayList<>();
    final List<String> warnings = new ArrayList<>();

    ModelViewParts(Path path, FilePool files, ModelView.Layout layout) {
        this.path = path;
        this.files = files;
        this.layout = layout;
    }

    void add(LogicalTensor tensor) {
        tensors.put(tensor.name(), tensor);
    }

    ModelView build() {
        return new ModelView(this);
    }
}
