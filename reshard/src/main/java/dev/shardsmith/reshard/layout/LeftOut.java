package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpaqueItem;
import java.util.List;
import java.util.function.Predicate;

/** Says by name what a target of tensors alone does not get. */
final class LeftOut {
    /** Nobody reads a thousand names; the count tells of the others. */
    private static final int MOST = 100;

    private LeftOut() {}

    /** Notes the items of a source that are left out. */
    static void note(ModelView source, TargetLayout layout, String reason, Predicate<OpaqueItem> leftOut) {
        List<OpaqueItem> items = source.items().stream().filter(leftOut).toList();
        items.stream().limit(MOST).forEach(item -> layout.addDropped(new Dropped(item.name(), 0, 0, reason)));
        if (items.size() > MOST) {
            layout.addDropped(new Dropped((items.size() - MOST) + " more", 0, 0, reason));
        }
    }
}
