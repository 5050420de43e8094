package dev.shardsmith.reshard.execute;

import dev.shardsmith.reshard.region.Box;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;

/**
 * The whole work in units of a few MiB, numbered in the order of the plan: what workers take and the journal records. A unit
 * is some bands of one tensor, or many small tensors.
 */
final class WorkUnits {
    private final List<PreparedMove> moves;
    private final long[] bytesPerMove;
    private int[] startMove = new int[64];
    private long[] startBand = new long[64];
    private long[] startBytes = new long[64];
    private int count;
    private long totalBytes;

    /** Takes the bands of a unit, in order. */
    @FunctionalInterface
    interface BandAction {
        void accept(PreparedMove move, Box band) throws IOException;
    }

    /** Cuts moves, of which {@code bytesPerMove} are written each, into units of about {@code unitBytes}. */
    WorkUnits(List<PreparedMove> moves, long[] bytesPerMove, long unitBytes) {
        this.moves = List.copyOf(moves);
        this.bytesPerMove = bytesPerMove.clone();
        long open = unitBytes;
        for (int move = 0; move < moves.size(); move++) {
            long bands = moves.get(move).bands().count();
            long perBand = bands == 0 ? 0 : Math.max(1, bytesPerMove[move] / bands);
            for (long band = 0; band < bands; ) {
                if (open >= unitBytes) {
                    start(move, band);
                    open = 0;
                }
                long take = Math.min(bands - band, Math.max(1, (unitBytes - open + perBand - 1) / perBand));
                band += take;
                open += take * perBand;
            }
            totalBytes += bytesPerMove[move];
        }
    }

    /** Number of units. */
    int count() {
        return count;
    }

    /** Bytes that all units write. */
    long totalBytes() {
        return totalBytes;
    }

    /** Bytes that a unit writes, about. */
    long bytes(int unit) {
        return (unit + 1 < count ? startBytes[unit + 1] : totalBytes) - startBytes[unit];
    }

    /** The first unit of a task's part; that of task {@code n} of {@code n} is the end. */
    int firstOf(int task, int tasks) {
        if (task == tasks) {
            return count;
        }
        double bound = (double) totalBytes / tasks * task;
        int low = 0;
        int high = count;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (startBytes[middle] < bound) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    /** Visits the bands of a unit. */
    void forEachBand(int unit, BandAction action) throws IOException {
        int lastMove = unit + 1 < count ? startMove[unit + 1] : moves.size();
        long lastBand = unit + 1 < count ? startBand[unit + 1] : 0;
        long band = startBand[unit];
        for (int index = startMove[unit]; index < moves.size() && index <= lastMove; index++) {
            PreparedMove move = moves.get(index);
            long end = index == lastMove ? lastBand : move.bands().count();
            for (; band < end; band++) {
                action.accept(move, move.bands().box(band));
            }
            band = 0;
        }
    }

    private void start(int move, long band) {
        if (count == startMove.length) {
            startMove = Arrays.copyOf(startMove, 2 * count);
            startBand = Arrays.copyOf(startBand, 2 * count);
            startBytes = Arrays.copyOf(startBytes, 2 * count);
        }
        long bands = Math.max(1, moves.get(move).bands().count());
        startMove[count] = move;
        startBand[count] = band;
        startBytes[count] = totalBytes + (long) ((double) bytesPerMove[move] * band / bands);
        count++;
    }
}
