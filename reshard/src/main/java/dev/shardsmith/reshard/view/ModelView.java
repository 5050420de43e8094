package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.ModelState;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Function;

/**
 * A checkpoint as the undivided model, whatever its layout.
 *
 * <p>Opening one reads directories, headers and pickles, never tensor data.
 */
public final class ModelView implements Closeable {
    /** The name of a layout on the command line. */
    public enum Layout {
        MEGATRON("megatron"),
        TORCH_DIST("torch_dist"),
        MAMBA_SSM("mamba_ssm"),
        HUGGINGFACE("huggingface"),
        SAFETENSORS("safetensors"),
        PT("pt");

        private final String id;

        Layout(String id) {
            this.id = id;
        }

        /** The name on the command line. */
        public String id() {
            return id;
        }

        /** The layout of a name on the command line. */
        public static Optional<Layout> of(String id) {
            for (Layout layout : values()) {
                if (layout.id.equals(id)) {
                    return Optional.of(layout);
                }
            }
            return Optional.empty();
        }
    }

    /** What sort of model it is, which decides names and divisions. */
    public enum Family {
        /** Megatron-LM's hybrid and GPT models, and NemotronH of Hugging Face. */
        MEGATRON("megatron"),
        /** Mamba-1, -2, -3 and hybrids of the reference implementation, and Mamba and Mamba2 of Hugging Face. */
        MAMBA_SSM("mamba_ssm"),
        /** A Hugging Face model with names of its own. */
        HUGGINGFACE("huggingface"),
        /** Tensors without a known model. */
        PLAIN("plain");

        private final String id;

        Family(String id) {
            this.id = id;
        }

        /** The name in reports. */
        public String id() {
            return id;
        }
    }

    private final Path path;
    private final Layout layout;
    private final Family family;
    private final String description;
    private final Parallelism parallelism;
    private final Optional<String> pattern;
    private final Map<String, LogicalTensor> tensors;
    private final List<String> unknown;
    private final List<ExtraState> extraStates;
    private final ModelState state;
    private final boolean stateIsDerived;
    private final Map<String, Object> config;
    private final Optional<Map<String, Shape>> stored;
    private final List<String> order;
    private final Optional<String> iterationFolder;
    private final Optional<ExpertForm> expertForm;
    private final OptimizerContent optimizer;
    private final OptimizerState.Finder optimizerFinder;
    private final boolean stackedLayers;
    private final List<RankShard> ranks;
    private final List<String> warnings;
    private final Map<String, String> missing;
    private final List<String> conflicts;
    private final List<OpaqueItem> items;
    private final Map<String, String> shared;
    private final Map<String, TensorForm> forms;
    private final List<PlainValues.Source> values;
    private final Function<String, List<PyValue>> paths;
    private final FilePool files;
    private OptimizerState optimizerState;

    ModelView(ModelViewBuilder parts) {
        this.path = parts.path;
        this.layout = parts.layout;
        this.family = parts.family;
        this.description = parts.description;
        this.parallelism = parts.parallelism;
        this.pattern = parts.pattern;
        this.tensors = parts.tensors;
        this.unknown = List.copyOf(parts.unknown);
        this.extraStates = List.copyOf(parts.extraStates);
        this.state = parts.state;
        this.stateIsDerived = parts.stateIsDerived;
        this.config = parts.config;
        this.stored = parts.stored;
        this.order = parts.order();
        this.iterationFolder = parts.iterationFolder;
        this.expertForm = parts.expertForm;
        this.optimizer = parts.optimizer;
        this.optimizerFinder = parts.optimizerState;
        this.stackedLayers = parts.stackedLayers;
        this.ranks = List.copyOf(parts.ranks);
        this.warnings = List.copyOf(parts.warnings);
        this.missing = new LinkedHashMap<>(parts.missing);
        this.conflicts = List.copyOf(parts.conflicts);
        this.items = List.copyOf(parts.items);
        this.shared = new LinkedHashMap<>(parts.shared);
        this.forms = new LinkedHashMap<>(parts.forms);
        this.values = List.copyOf(parts.values);
        this.paths = parts.paths;
        this.files = parts.files;
    }

    /** What the checkpoint holds of an optimizer's state, besides the model. */
    public OptimizerContent optimizer() {
        return optimizer;
    }

    /** The optimizer's state as far as it can be divided otherwise; sorted when it is first asked for. */
    public synchronized OptimizerState optimizerState() throws IOException {
        if (optimizerState == null) {
            optimizerState = optimizerFinder.find();
        }
        return optimizerState;
    }

    /** The path that was opened. */
    public Path path() {
        return path;
    }

    /** How the checkpoint lies on disk. */
    public Layout layout() {
        return layout;
    }

    /** What sort of model it is. */
    public Family family() {
        return family;
    }

    /** One line on what the checkpoint was taken for and why. */
    public String description() {
        return description;
    }

    /** Over how many ranks the checkpoint is spread. */
    public Parallelism parallelism() {
        return parallelism;
    }

    /** The hybrid layer pattern that is saved with the checkpoint, if any. */
    public Optional<String> pattern() {
        return pattern;
    }

    /** All logical tensors by canonical name, in the order of the model. */
    public Map<String, LogicalTensor> tensors() {
        return tensors;
    }

    /** Canonical names of tensors that no rule of the family knows. */
    public List<String> unknown() {
        return unknown;
    }

    /**
     * Fails if {@link #tensors()} is not all of the model because several ranks share tensors in a way that no rule knows.
     *
     * @throws CheckpointException that names them, and the rule to give
     */
    public void requireMerged() throws CheckpointException {
        // Readers of this family show the first rank's tensor, others none.
        boolean guessed = family == Family.MAMBA_SSM && ranks.size() > 1;
        List<String> unmerged = unknown.stream()
                .filter(name -> guessed || !tensors.containsKey(name))
                .toList();
        if (!unmerged.isEmpty()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            path.toString(),
                            "no rule says how the ranks share these parameters: " + String.join(", ", unmerged))
                    .withHint("--rule '" + unmerged.get(0)
                            + "=replicate', or =column (each rank has some rows), or =row (some columns)");
        }
    }

    /** Opaque module states. */
    public List<ExtraState> extraStates() {
        return extraStates;
    }

    /** Everything that is not the model. */
    public ModelState state() {
        return state;
    }

    /** Whether {@link #state} follows from {@link #config} and was saved nowhere. */
    public boolean stateIsDerived() {
        return stateIsDerived;
    }

    /** The parsed {@code config.json}: maps, lists, strings, numbers, booleans; empty where there is none. */
    public Map<String, Object> config() {
        return config;
    }

    /** Names of all tensors and opaque states in the order in which the source has them. */
    public List<String> order() {
        return order;
    }

    /** The name of the iteration's folder, {@code iter_0001000} or {@code release}, in layouts that have one. */
    public Optional<String> iterationFolder() {
        return iterationFolder;
    }

    /** Whether the files keep each parameter of all layers in one tensor. */
    public boolean stackedLayers() {
        return stackedLayers;
    }

    /** How the files keep the weights of experts; empty if there are none, or the layout has one form for all. */
    public Optional<ExpertForm> expertForm() {
        return expertForm;
    }

    /** What each rank holds with its own local shapes; one entry for layouts without ranks. */
    public List<RankShard> ranks() {
        return ranks;
    }

    /** What looked odd while opening. */
    public List<String> warnings() {
        return warnings;
    }

    /** {@link #warnings} but for those that only repeat what {@link #missing} says. */
    public List<String> warningsBesidesMissing() {
        Set<String> told = new HashSet<>();
        missing.forEach((name, reason) -> told.add(name + " is missing: " + reason));
        return warnings.stream().filter(warning -> !told.contains(warning)).toList();
    }

    /** Names of what should be there but is not, each with how that is known; a conversion needs leave to go on without it. */
    public Map<String, String> missing() {
        return missing;
    }

    /** On what the files contradict each other, so that they are not of one checkpoint; a conversion refuses them. */
    public List<String> conflicts() {
        return conflicts;
    }

    /** What the checkpoint has besides tensors where no known form of training state holds it. */
    public List<OpaqueItem> items() {
        return items;
    }

    /** The undivided shapes of all tensors by name. */
    public Map<String, Shape> shapes() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        tensors.forEach((name, tensor) -> shapes.put(name, tensor.shape()));
        return shapes;
    }

    /** The shapes of all tensors under the names that the files have for them; of ranks, those of the undivided model. */
    public Map<String, Shape> storedShapes() {
        return stored.orElseGet(this::shapes);
    }

    /** Names of tensors that lie on the very bytes of another, with that other's name. */
    public Map<String, String> shared() {
        return shared;
    }

    /** What the elements of tensors do not tell, by name: of quantized tensors, and of those that are not in {@link #tensors()}. */
    public Map<String, TensorForm> forms() {
        return forms;
    }

    /** What files of named tensors hold besides them, one for each file. */
    public List<PlainValues.Source> values() {
        return values;
    }

    /** Where a tensor lies in the nested state dict: keys (strings) and positions in lists (ints). */
    public List<PyValue> path(String tensor) {
        return paths.apply(tensor);
    }

    /** The files that were opened; their change can be checked. */
    public FilePool files() {
        return files;
    }

    @Override
    public void close() throws IOException {
        files.close();
    }
}
