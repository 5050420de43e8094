package dev.shardsmith.verify.digest;

import dev.shardsmith.formats.DType;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;

/** A thread that keeps its reader, and with it the buffers, from one piece of work to the next. */
final class ReadingThread extends Thread {
    private final BlockReader reader = new BlockReader();
    private final Map<DType, Optional<StatisticsScratch>> statistics = new EnumMap<>(DType.class);

    ReadingThread(Runnable work) {
        super(work, "verify-worker");
        setDaemon(true);
    }

    BlockReader reader() {
        return reader;
    }

    /** Scratch space for statistics of a type; empty for types without a numeric meaning. */
    Optional<StatisticsScratch> statistics(DType dtype) {
        return statistics.computeIfAbsent(dtype, type -> ElementDecoder.of(type).map(StatisticsScratch::new));
    }
}
