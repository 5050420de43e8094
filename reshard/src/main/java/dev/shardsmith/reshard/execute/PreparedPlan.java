package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.reshard.plan.Plan;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A plan made ready for execution.
 *
 * @param plan the plan
 * @param slots its slots
 * @param moves its moves
 * @param checks the sources whose recorded checksums are checked
 * @param units the work, cut
 */
record PreparedPlan(Plan plan, SlotTable slots, List<PreparedMove> moves, SourceChecks checks, WorkUnits units) {
    /** Finished work is noted in steps of about this many bytes. */
    private static final long UNIT_BYTES = 4L << 20;

    /**
     * Prepares a plan for bands of at most {@code bandBytes} bytes.
     *
     * @throws CheckpointException if the plan contradicts itself or asks for what cannot be done
     */
    static PreparedPlan of(Plan plan, int bandBytes) throws CheckpointException {
        SlotTable slots = new SlotTable(plan);
        slots.checkFilled(plan);
        List<PreparedMove> moves = new ArrayList<>();
        long[] bytes = new long[plan.moves().size()];
        for (int number = 0; number < bytes.length; number++) {
            moves.add(PreparedMove.of(number, plan.moves().get(number), slots, bandBytes));
            bytes[number] = plan.moves().get(number).targetBytes();
        }
        return new PreparedPlan(
                plan,
                slots,
                List.copyOf(moves),
                SourceChecks.of(moves, slots.size()),
                new WorkUnits(moves, bytes, UNIT_BYTES));
    }

    /** The literals of a file, the checksums of its slots put in. */
    List<FileImage.Literal> finishedLiterals(int file, Map<Integer, Integer> checksums) {
        FileImage image = plan.files().get(file);
        List<FileImage.Literal> finished = new ArrayList<>();
        for (FileImage.Literal literal : image.literals()) {
            finished.add(new FileImage.Literal(literal.offset(), literal.bytes().clone()));
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            int crc = checksums.getOrDefault(slots.get(file, patch.slot()).id(), 0);
            ByteBuffer bytes =
                    ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(0, crc);
            int literal = lastFrom(patch.offset(), finished);
            // The literals are in ascending order, and a checksum may reach over the end of one.
            while (literal < finished.size() && finished.get(literal).offset() < patch.offset() + 4) {
                putCommon(bytes, patch.offset(), finished.get(literal));
                literal++;
            }
        }
        return finished;
    }

    /** The last literal that begins at or before {@code offset}, or the first of all. */
    private static int lastFrom(long offset, List<FileImage.Literal> literals) {
        int low = 0;
        int high = literals.size();
        while (high - low > 1) {
            int middle = (low + high) >>> 1;
            if (literals.get(middle).offset() <= offset) {
                low = middle;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Puts those of the four bytes at {@code offset} that lie in a literal into it. */
    private static void putCommon(ByteBuffer bytes, long offset, FileImage.Literal literal) {
        for (int i = 0; i < 4; i++) {
            long at = offset + i - literal.offset();
            if (at >= 0 && at < literal.bytes().length) {
                literal.bytes()[(int) at] = bytes.get(i);
            }
        }
    }
}
