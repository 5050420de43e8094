package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.dcp.DcpImage;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.safetensors.SafetensorsShards;
import dev.shardsmith.reshard.family.ElementTypes;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpaqueItem;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Lays out a distributed checkpoint of PyTorch without Megatron's conventions: each tensor is one chunk under the name that
 * PyTorch's own flattening gives it, and the paths in the nested state dict are recorded, so that PyTorch loads a state dict of the
 * same nesting and its converters find the nesting again.
 */
final class PlainDcpWriter {
    private PlainDcpWriter() {}

    /** The plan of a conversion to such a checkpoint. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        TargetLayout layout = new TargetLayout();
        TargetModel model = TargetModel.empty();
        DcpImage image = new DcpImage();
        for (OpaqueItem item : source.items()) {
            if (item.stored().isPresent()) {
                ByteSource bytes = item.stored().get().find();
                image.item(item.name(), bytes.readBytes(0, Math.toIntExact(bytes.size())), 0);
                image.path(item.name(), item.path());
            }
        }
        long limit = options.maxShardSize().orElse(SafetensorsShards.DEFAULT_SHARD_BYTES);
        int file = 0;
        long inFile = 0;
        Map<String, TargetTensor> slots = new LinkedHashMap<>();
        for (LogicalTensor tensor : source.tensors().values()) {
            TargetTensor target = new TargetTensor(
                    tensor.name(),
                    tensor.name(),
                    ElementTypes.of(tensor, source.family(), options, model),
                    tensor.shape());
            model.add(target);
            long bytes = target.dtype().bytes(target.shape().elements());
            if (inFile > 0 && bytes > limit - inFile) {
                file++;
                inFile = 0;
            }
            inFile += bytes;
            String slot = "t" + slots.size();
            slots.put(slot, target);
            int rank = target.shape().rank();
            List<PyValue> path = source.path(target.name());
            String key = NestedPaths.key(target.name(), path);
            image.tensor(
                    key,
                    target.dtype(),
                    target.shape(),
                    List.of(new DcpImage.Chunk(new long[rank], target.shape().toArray(), slot, file)));
            image.path(key, path);
        }
        for (FileImage laidOut : image.build()) {
            layout.addFile(laidOut);
            for (FileImage.Slot slot : laidOut.slots()) {
                TargetTensor target = slots.get(slot.key());
                StoredTensor place = TargetLayout.slot(laidOut.path(), slot.key(), target.dtype(), target.shape());
                layout.addPiece(target.name(), Piece.whole(place));
            }
        }
        LeftOut.note(
                source,
                layout,
                "its place in the source is not known to this layout",
                item -> item.stored().isEmpty());
        return Planner.plan(source, model, layout);
    }
}
