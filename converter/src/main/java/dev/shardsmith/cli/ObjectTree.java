package dev.shardsmith.cli;

import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.verify.digest.StateTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** What a checkpoint holds besides its model, as paths and values, and a query for a part of it. */
final class ObjectTree {
    private ObjectTree() {}

    /**
     * A value that holds no others.
     *
     * @param path keys joined by dots, items of lists in brackets
     * @param text the value on one line
     */
    record Entry(String path, String text) {}

    /** All values at or below a path, or all of them if the path is empty. */
    static List<Entry> of(ModelState state, String path) throws UsageException, IOException {
        List<Entry> entries = new ArrayList<>();
        for (StateTree.Leaf leaf : StateTree.outline(state)) {
            if (isAtOrBelow(leaf.path(), path)) {
                entries.add(new Entry(leaf.path(), leaf.text()));
            }
        }
        if (entries.isEmpty() && !path.isEmpty()) {
            throw new UsageException("nothing is saved at '%s'%n  top level: %s"
                    .formatted(path, String.join(", ", state.entries().keySet())));
        }
        return entries;
    }

    private static boolean isAtOrBelow(String path, String root) {
        return root.isEmpty() || path.equals(root) || path.startsWith(root + ".") || path.startsWith(root + "[");
    }
}
