package dev.shardsmith.verify.forward;

import java.util.stream.IntStream;

/**
 * The outputs of a product, divided into blocks for threads.
 *
 * @param out outputs
 * @param width of every block but the last
 */
record OutputBlocks(int out, int width) {

    /**
     * Blocks of equal width, as many as keep all processors busy to the end.
     *
     * @param most outputs of a block
     * @param fewest outputs of a block that are worth a thread
     * @param line what the width is a multiple of
     */
    static OutputBlocks of(int out, int most, int fewest, int line) {
        int processors = Runtime.getRuntime().availableProcessors();
        int blocks = (out + most - 1) / most;
        blocks = (blocks + processors - 1) / processors * processors;
        int even = (out + blocks - 1) / Math.max(1, blocks);
        return new OutputBlocks(out, Math.max(fewest, (even + line - 1) / line * line));
    }

    /** What is done with outputs [first, first + count). */
    interface Task {
        /** Does it. */
        void run(int first, int count);
    }

    /** Runs all blocks, in no order. */
    void forEach(Task task) {
        IntStream.range(0, (out + width - 1) / width)
                .parallel()
                .forEach(index -> task.run(index * width, Math.min(width, out - index * width)));
    }
}
