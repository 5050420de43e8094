package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.Set;

/**
 * What a file of named tensors holds besides them.
 *
 * @param root the object that was saved
 * @param tensors the nodes in it that are tensors, by identity: what they hold is told elsewhere
 */
public record PlainValues(PyValue root, Set<PyValue> tensors) {
    /** The values of one file, looked up when they are needed: most commands do without. */
    @FunctionalInterface
    public interface Source {
        /** Finds the values. */
        PlainValues find() throws IOException;
    }
}
