package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.Map;
import java.util.Set;

/**
 * What a file of named tensors, or an object beside them, holds that is no tensor of the model.
 *
 * @param path where the object is in the whole; empty for a file
 * @param root the object that was saved
 * @param tensors the nodes in it that are tensors of the model, by identity: what they hold is told elsewhere
 * @param held other tensors in it, by their nodes
 */
public record PlainValues(String path, PyValue root, Set<PyValue> tensors, Map<PyValue, StoredTensor> held) {
    /** The values of one file or object, looked up when they are needed: most commands do without. */
    @FunctionalInterface
    public interface Source {
        /** Finds the values. */
        PlainValues find() throws IOException;
    }
}
