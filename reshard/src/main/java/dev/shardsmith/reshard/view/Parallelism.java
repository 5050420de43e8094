package dev.shardsmith.reshard.view;

/**
 * Sizes of the groups over which a checkpoint is spread; 1 where it is not.
 *
 * @param tensor tensor-parallel size
 * @param pipeline pipeline-parallel size
 * @param virtual virtual stages on each pipeline rank
 * @param expert expert-parallel size
 * @param expertTensor tensor-parallel size of the experts
 */
public record Parallelism(int tensor, int pipeline, int virtual, int expert, int expertTensor) {
    /** One rank holds everything. */
    public static final Parallelism NONE = new Parallelism(1, 1, 1, 1, 1);

    /** Tensor parallelism alone. */
    public static Parallelism tensor(int size) {
        return new Parallelism(size, 1, 1, 1, size);
    }

    /** {@code TP 2, PP 4}; sizes of 1 other than these two are left out. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("TP " + tensor + ", PP " + pipeline);
        if (virtual > 1) {
            text.append(", VPP ").append(virtual);
        }
        if (expert > 1) {
            text.append(", EP ").append(expert);
        }
        if (expertTensor != tensor) {
            text.append(", ETP ").append(expertTensor);
        }
        return text.toString();
    }

    // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
    // record.
    @Override
    public boolean equals(Object other) {
        return other instanceof Parallelism sizes
                && tensor == sizes.tensor
                && pipeline == sizes.pipeline
                && virtual == sizes.virtual
                && expert == sizes.expert
                && expertTensor == sizes.expertTensor;
    }

    @Override
    public int hashCode() {
        return 31 * (31 * (31 * (31 * tensor + pipeline) + virtual) + expert) + expertTensor;
    }
}
