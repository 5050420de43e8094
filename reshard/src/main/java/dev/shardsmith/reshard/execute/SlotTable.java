package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Every slot of a plan's files, numbered in order. */
final class SlotTable {
    private final List<SlotPlace> places = new ArrayList<>();
    private final List<Integer> firstOfFile = new ArrayList<>();
    private final Map<TargetSlot, SlotPlace> byName = new LinkedHashMap<>();

    /**
     * Where a slot lies.
     *
     * @param id its number
     * @param file the number of its file in the plan
     * @param offset its position in the file, in bytes
     * @param length its length in bytes
     */
    record SlotPlace(int id, int file, long offset, long length) {}

    SlotTable(Plan plan) {
        for (int file = 0; file < plan.files().size(); file++) {
            FileImage image = plan.files().get(file);
            firstOfFile.add(places.size());
            for (FileImage.Slot slot : image.slots()) {
                SlotPlace place = new SlotPlace(places.size(), file, slot.offset(), slot.length());
                places.add(place);
                byName.put(new TargetSlot(image.path(), slot.key(), slot.length()), place);
            }
        }
    }

    /** Number of slots. */
    int size() {
        return places.size();
    }

    /** The slot of a number. */
    SlotPlace get(int id) {
        return places.get(id);
    }

    /** Slot number {@code slot} of file number {@code file}. */
    SlotPlace get(int file, int slot) {
        return places.get(firstOfFile.get(file) + slot);
    }

    /**
     * The slot that a target view lies in.
     *
     * @throws CheckpointException if the plan has no such slot or the view reaches over its end
     */
    SlotPlace of(String tensor, StoredTensor view) throws CheckpointException {
        SlotPlace place = view.source() instanceof TargetSlot slot ? byName.get(slot) : null;
        if (place == null) {
            throw inconsistent(tensor, "its target " + view.source().name() + " is no slot of the plan's files");
        }
        if (view.shape().elements() > 0 && (view.offset() < 0 || view.endOffset() > place.length())) {
            throw inconsistent(
                    tensor, "it ends at byte " + view.endOffset() + " of a slot of " + place.length() + " bytes");
        }
        return place;
    }

    /**
     * Checks that the moves bring as many bytes to each slot as it has.
     *
     * @throws CheckpointException naming the first slot that gets more or less
     */
    void checkFilled(Plan plan) throws CheckpointException {
        long[] filled = new long[places.size()];
        for (TensorMove move : plan.moves()) {
            for (Piece target : move.targets()) {
                int id = of(move.tensor(), target.data()).id();
                filled[id] = Math.addExact(filled[id], target.data().bytes());
            }
        }
        for (Map.Entry<TargetSlot, SlotPlace> slot : byName.entrySet()) {
            SlotPlace place = slot.getValue();
            if (filled[place.id()] != place.length()) {
                throw inconsistent(
                        slot.getKey().name(),
                        "the plan brings " + filled[place.id()] + " bytes to a slot of " + place.length() + " bytes");
            }
        }
    }

    private static CheckpointException inconsistent(String where, String problem) {
        return CheckpointException.of(CheckpointException.Kind.INCONSISTENT, where, problem);
    }
}
