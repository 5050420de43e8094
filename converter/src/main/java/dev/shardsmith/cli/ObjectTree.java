package dev.shardsmith.cli;

import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.StateTree;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/** What a checkpoint holds besides its model, as paths and values, and a query for a part of it. */
final class ObjectTree {
    private static final int MOST_NAMED = 30;

    private ObjectTree() {}

    /**
     * A value that holds no others.
     *
     * @param path keys joined by dots, items of lists in brackets
     * @param text the value on one line
     */
    record Entry(String path, String text) {}

    /** All values, in the order of the checkpoint. */
    static List<StateTree.Leaf> leaves(ModelView view) throws IOException {
        List<StateTree.Leaf> leaves = new ArrayList<>(StateTree.outline(view.state()));
        leaves.addAll(StateTree.outlineOfValues(view.values()));
        return leaves;
    }

    /** All values at or below a path, or all of them if the path is empty. */
    static List<Entry> of(ModelView view, String path) throws UsageException, IOException {
        List<Entry> entries = new ArrayList<>();
        List<StateTree.Leaf> leaves = leaves(view);
        for (StateTree.Leaf leaf : leaves) {
            if (isAtOrBelow(leaf.path(), path)) {
                entries.add(new Entry(leaf.path(), leaf.text()));
            }
        }
        if (entries.isEmpty() && !path.isEmpty()) {
            throw new UsageException(
                    "nothing is saved at '%s'%n  top level: %s".formatted(path, topLevel(view, leaves)));
        }
        return entries;
    }

    private static String topLevel(ModelView view, List<StateTree.Leaf> leaves) {
        Set<String> names = new LinkedHashSet<>(view.state().entries().keySet());
        for (StateTree.Leaf leaf : leaves) {
            names.add(leaf.path().split("[.\\[]", 2)[0]);
        }
        names.remove("");
        String some = names.stream().limit(MOST_NAMED).collect(Collectors.joining(", "));
        int rest = names.size() - MOST_NAMED;
        return names.isEmpty() ? "nothing but tensors" : some + (rest > 0 ? " and " + rest + " more" : "");
    }

    private static boolean isAtOrBelow(String path, String root) {
        return root.isEmpty() || path.equals(root) || path.startsWith(root + ".") || path.startsWith(root + "[");
    }
}
