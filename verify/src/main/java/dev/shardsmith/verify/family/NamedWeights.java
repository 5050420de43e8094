package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The weights of one rank, by name, with their shapes.
 *
 * <p>{@link #under} narrows to a prefix, so that a layer is described by the suffixes that its documentation uses.
 */
public final class NamedWeights {

    /**
     * A weight and its shape.
     *
     * @param shape sizes, outermost first
     * @param source the elements, row-major
     */
    public record Entry(int[] shape, WeightSource source) {}

    private final String prefix;
    private final Map<String, Entry> entries;
    private final Set<String> used;

    /** Weights by their full names. */
    public NamedWeights(Map<String, Entry> entries) {
        this("", new LinkedHashMap<>(entries), new HashSet<>());
    }

    private NamedWeights(String prefix, Map<String, Entry> entries, Set<String> used) {
        this.prefix = prefix;
        this.entries = entries;
        this.used = used;
    }

    /** The weights whose names begin with a prefix, by the rest of the name. */
    public NamedWeights under(String more) {
        return new NamedWeights(prefix + more, entries, used);
    }

    /** True if there is a weight of this name. */
    public boolean has(String name) {
        return entries.containsKey(prefix + name);
    }

    /** The weight of a name, if there is one. */
    public Optional<WeightSource> find(String name) {
        Optional<WeightSource> found =
                Optional.ofNullable(entries.get(prefix + name)).map(Entry::source);
        if (found.isPresent()) {
            used.add(prefix + name);
        }
        return found;
    }

    /**
     * The weight of a name.
     *
     * @throws CheckpointException if there is none
     */
    public WeightSource get(String name) throws CheckpointException {
        WeightSource source = entry(name).source();
        used.add(prefix + name);
        return source;
    }

    /**
     * The size of one dimension of a weight.
     *
     * @throws CheckpointException if there is none of this name or it has fewer dimensions
     */
    public int size(String name, int dim) throws CheckpointException {
        int[] shape = entry(name).shape();
        if (dim >= shape.length) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    prefix + name,
                    "a tensor of " + shape.length + " dimensions where at least " + (dim + 1) + " are expected");
        }
        return shape[dim];
    }

    /** The full names of all weights. */
    public Set<String> names() {
        return entries.keySet();
    }

    /** What comes after the prefix in the names that begin with it. */
    List<String> suffixes() {
        return entries.keySet().stream()
                .filter(name -> name.startsWith(prefix))
                .map(name -> name.substring(prefix.length()))
                .toList();
    }

    /** The full names of the weights that nobody has asked for, under any prefix. */
    List<String> unused() {
        return entries.keySet().stream().filter(name -> !used.contains(name)).toList();
    }

    /** Whether somebody has asked for the weight of a full name. */
    boolean isUsed(String name) {
        return used.contains(name);
    }

    /** The weight of a full name, which is not counted as asked for. */
    WeightSource whole(String name) {
        return entries.get(name).source();
    }

    /** The prefix, for messages. */
    public String prefix() {
        return prefix;
    }

    private Entry entry(String name) throws CheckpointException {
        Entry entry = entries.get(prefix + name);
        if (entry == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE, prefix + name, "the layer needs this tensor and has it not");
        }
        return entry;
    }
}
