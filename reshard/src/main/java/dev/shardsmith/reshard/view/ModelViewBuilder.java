package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.ModelState;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/** What a layout's reader gathers while it opens a checkpoint. */
public final class ModelViewBuilder {
    final Path path;
    final FilePool files;
    final ModelView.Layout layout;
    final TensorMap tensors = new TensorMap();
    final List<String> unknown = new ArrayList<>();
    final List<ExtraState> extraStates = new ArrayList<>();
    /** Names of tensors and opaque states; those of tensors alone until there is such a state. */
    private final List<String> order = new ArrayList<>();

    final List<RankShard> ranks = new ArrayList<>();
    final Set<String> warnings = new LinkedHashSet<>();
    final Map<String, String> missing = new LinkedHashMap<>();
    final List<String> conflicts = new ArrayList<>();
    final List<OpaqueItem> items = new ArrayList<>();
    final Map<String, String> shared = new LinkedHashMap<>();
    final Map<String, TensorForm> forms = new LinkedHashMap<>();
    final List<PlainValues.Source> values = new ArrayList<>();
    Function<String, List<PyValue>> paths = name -> List.of(new PyStr(name));
    ModelView.Family family = ModelView.Family.PLAIN;
    String description = "";
    Parallelism parallelism = Parallelism.NONE;
    Optional<String> pattern = Optional.empty();
    ModelState state = ModelState.none();
    boolean stateIsDerived;
    Map<String, Object> config = Map.of();
    Optional<Map<String, Shape>> stored = Optional.empty();
    Optional<String> iterationFolder = Optional.empty();
    Optional<ExpertForm> expertForm = Optional.empty();
    OptimizerContent optimizer = OptimizerContent.NONE;
    OptimizerState.Finder optimizerState = () -> OptimizerState.of("", List.of());
    boolean stackedLayers;

    /** A view of a path whose files are opened through a pool. */
    public ModelViewBuilder(Path path, FilePool files, ModelView.Layout layout) {
        this.path = path;
        this.files = files;
        this.layout = layout;
    }

    /** Sets the family of the model. */
    public ModelViewBuilder family(ModelView.Family newFamily) {
        family = newFamily;
        return this;
    }

    /** Counts a tensor of the optimizer's state. */
    public ModelViewBuilder addOptimizerTensor(long bytes) {
        optimizer = optimizer.plus(bytes);
        return this;
    }

    /** Counts a file of the optimizer's state that lies beside those of the model. */
    public ModelViewBuilder addOptimizerFile(long bytes) {
        optimizer = optimizer.plusFile(bytes);
        return this;
    }

    /** Sets how the optimizer's state is found that can be divided otherwise. */
    public ModelViewBuilder optimizerState(OptimizerState.Finder finder) {
        optimizerState = finder;
        return this;
    }

    /** Sets the line that says what the checkpoint was taken for. */
    public ModelViewBuilder description(String text) {
        description = text;
        return this;
    }

    /** The line that says what the checkpoint was taken for. */
    public String description() {
        return description;
    }

    /** Sets over how many ranks the checkpoint is spread. */
    public ModelViewBuilder parallelism(Parallelism sizes) {
        parallelism = sizes;
        return this;
    }

    /** Sets the saved hybrid layer pattern. */
    public ModelViewBuilder pattern(Optional<String> text) {
        pattern = text;
        return this;
    }

    /** Sets everything that is not the model. */
    public ModelViewBuilder state(ModelState newState) {
        state = newState;
        return this;
    }

    /** Sets everything that is not the model as what follows from {@code config.json}, and was saved nowhere. */
    public ModelViewBuilder derivedState(ModelState newState) {
        stateIsDerived = true;
        return state(newState);
    }

    /** Sets the parsed {@code config.json}. */
    public ModelViewBuilder config(Map<String, Object> parsed) {
        config = parsed;
        return this;
    }

    /** Sets the shapes of all tensors under their names in the files, where the view has other names. */
    public ModelViewBuilder stored(Map<String, Shape> shapes) {
        stored = Optional.of(shapes);
        return this;
    }

    /** As {@link #stored}, unless a reader that knows the files better has set them. */
    public ModelViewBuilder storedUnlessKnown(Map<String, Shape> shapes) {
        stored = stored.or(() -> Optional.of(shapes));
        return this;
    }

    /** Sets the name of the iteration's folder. */
    public ModelViewBuilder iterationFolder(String name) {
        iterationFolder = Optional.of(name);
        return this;
    }

    /** Says that the files keep each parameter of all layers in one tensor. */
    public ModelViewBuilder stackedLayers() {
        stackedLayers = true;
        return this;
    }

    /** Sets how the files keep the weights of experts. */
    public ModelViewBuilder expertForm(Optional<ExpertForm> form) {
        expertForm = form;
        return this;
    }

    /** Adds a logical tensor at the end. */
    public ModelViewBuilder add(LogicalTensor tensor) {
        tensors.add(tensor);
        ordered(tensor);
        return this;
    }

    /** Adds a logical tensor at the end whose name no other has: nothing is looked up, which pays for a million. */
    public ModelViewBuilder addDistinct(LogicalTensor tensor) {
        tensors.append(tensor);
        ordered(tensor);
        return this;
    }

    private void ordered(LogicalTensor tensor) {
        if (!extraStates.isEmpty()) {
            order.add(tensor.name());
        }
    }

    /** Adds the name of a tensor that no rule knows. */
    public ModelViewBuilder addUnknown(String name) {
        unknown.add(name);
        return this;
    }

    /** Adds opaque module state. */
    public ModelViewBuilder addExtraState(ExtraState extra) {
        if (extraStates.isEmpty()) {
            order.addAll(tensors.names());
        }
        extraStates.add(extra);
        order.add(extra.name());
        return this;
    }

    /** Adds what one rank holds. */
    public ModelViewBuilder addRank(RankShard rank) {
        ranks.add(rank);
        return this;
    }

    /** Adds something that looked odd. */
    public ModelViewBuilder addWarning(String text) {
        warnings.add(text);
        return this;
    }

    /** Adds the name of something that should be there but is not, and how that is known. */
    public ModelViewBuilder addMissing(String name, String reason) {
        missing.putIfAbsent(name, reason);
        return this;
    }

    /** Adds something on which the files contradict each other, so that they are not of one checkpoint. */
    public ModelViewBuilder addConflict(String text) {
        conflicts.add(text);
        return this;
    }

    /** Names of what is known to be missing. */
    public Set<String> missing() {
        return missing.keySet();
    }

    /** Adds something that is no tensor. */
    public ModelViewBuilder addItem(OpaqueItem item) {
        items.add(item);
        return this;
    }

    /** Adds the name of a tensor that lies on the very bytes of another. */
    public ModelViewBuilder addShared(String name, String other) {
        shared.put(name, other);
        return this;
    }

    /** Adds what the elements of a tensor do not tell. */
    public ModelViewBuilder addForm(String name, TensorForm form) {
        forms.put(name, form);
        return this;
    }

    /** Adds what a file of named tensors holds besides them. */
    public ModelViewBuilder addValues(PlainValues.Source source) {
        values.add(source);
        return this;
    }

    /** Sets how the places of tensors in the nested state dict are found; each is its own name otherwise. */
    public ModelViewBuilder paths(Function<String, List<PyValue>> finder) {
        paths = finder;
        return this;
    }

    /** All tensors that were added, by name; one object with those of the finished view. */
    public Map<String, LogicalTensor> tensors() {
        return Collections.unmodifiableMap(tensors);
    }

    /** True if a tensor of that name was added. */
    public boolean has(String name) {
        return tensors.containsKey(name);
    }

    List<String> order() {
        return extraStates.isEmpty() ? tensors.names() : List.copyOf(order);
    }

    /** The finished view. */
    public ModelView build() {
        return new ModelView(this);
    }
}
