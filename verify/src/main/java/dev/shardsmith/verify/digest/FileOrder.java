package dev.shardsmith.verify.digest;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.List;

/** The order of tensors in lists for users: as the files have them. */
public final class FileOrder {
    private FileOrder() {}

    /** All tensors of a checkpoint, in the order in which the source has them. */
    public static List<LogicalTensor> of(ModelView view) {
        return List.copyOf(view.tensors().values());
    }
}
