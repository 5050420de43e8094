package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.ScanShape;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What the kernels of a scan hand to each other, for so many chunks of so many rows. */
record ScanScratch(int chunks, GpuArray step, GpuArray sum, GpuArray scores, GpuArray states) {

    /** Takes memory for at most this many chunks; for half as many as long as the card has not enough. */
    static ScanScratch of(DeviceMemory memory, ScanShape shape, int rows, int chunks) throws CheckpointException {
        List<GpuArray> held = new ArrayList<>();
        long all = (long) rows * chunks;
        long[] lengths = {
            all * shape.heads() * ChunkScan.CHUNK,
            2 * all * shape.heads() * ChunkScan.CHUNK,
            all * shape.groups() * ChunkScan.CHUNK * ChunkScan.CHUNK,
            all * shape.stateSize()
        };
        for (long length : lengths) {
            Optional<GpuArray> array = chunks == 1 ? Optional.of(memory.floats(length)) : memory.tryFloats(length);
            if (array.isEmpty()) {
                held.forEach(GpuArray::close);
                return of(memory, shape, rows, chunks / 2);
            }
            held.add(array.get());
        }
        return new ScanScratch(chunks, held.get(0), held.get(1), held.get(2), held.get(3));
    }

    void close() {
        step.close();
        sum.close();
        scores.close();
        states.close();
    }
}
