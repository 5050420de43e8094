package dev.shardsmith.verify.digest;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

/** The order of tensors in lists for users: as the files have them. */
public final class FileOrder {
    private FileOrder() {}

    /** All tensors of a checkpoint, in the order in which the source has them. */
    public static List<LogicalTensor> of(ModelView view) {
        if (view.order().equals(List.copyOf(view.tensors().keySet()))) {
            return List.copyOf(view.tensors().values());
        }
        Set<String> names = new LinkedHashSet<>(view.order());
        names.addAll(view.tensors().keySet());
        return names.stream().map(view.tensors()::get).filter(Objects::nonNull).toList();
    }
}
