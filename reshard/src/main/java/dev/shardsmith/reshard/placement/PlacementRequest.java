package dev.shardsmith.reshard.placement;

import dev.shardsmith.formats.CheckpointException;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The sizes of a training job.
 *
 * @param tensor tensor-parallel size
 * @param pipeline pipeline size
 * @param virtual virtual stages on each pipeline rank
 * @param expert expert-parallel size
 * @param expertTensor tensor-parallel size of the experts
 * @param context context-parallel size
 * @param data data-parallel size
 * @param memoryGiB memory of one GPU, in GiB
 */
public record PlacementRequest(
        int tensor, int pipeline, int virtual, int expert, int expertTensor, int context, int data, int memoryGiB) {
    private static final int MAX = 1_000_000;
    private static final int DEFAULT_MEMORY = 80;

    /**
     * Reads {@code tp=4,pp=2,dp=8}; further keys are vpp, ep, etp, cp and memory (GiB of one GPU, 80 if not given).
     *
     * @throws CheckpointException of kind {@code REFUSED} if a key is not known or a value is no positive number
     */
    public static PlacementRequest parse(String text) throws CheckpointException {
        Map<String, Integer> sizes = new LinkedHashMap<>();
        for (String part : text.split(",", -1)) {
            String[] pair = part.strip().split("=", 2);
            if (pair.length != 2 || !pair[1].strip().matches("[0-9]{1,7}")) {
                throw refused("'" + part + "' is not of the form tp=4");
            }
            int value = Integer.parseInt(pair[1].strip());
            if (value < 1 || value > MAX) {
                throw refused("'" + part + "' is no possible size");
            }
            switch (pair[0].strip()) {
                case "tp", "pp", "vpp", "ep", "etp", "cp", "dp", "memory" -> {
                    if (sizes.put(pair[0].strip(), value) != null) {
                        throw refused(pair[0].strip() + " is given twice");
                    }
                }
                default ->
                    throw refused("'" + pair[0] + "' is not known; known are tp, pp, vpp, ep, etp, cp, dp, memory");
            }
        }
        int tensor = sizes.getOrDefault("tp", 1);
        return new PlacementRequest(
                tensor,
                sizes.getOrDefault("pp", 1),
                sizes.getOrDefault("vpp", 1),
                sizes.getOrDefault("ep", 1),
                sizes.getOrDefault("etp", tensor),
                sizes.getOrDefault("cp", 1),
                sizes.getOrDefault("dp", 1),
                sizes.getOrDefault("memory", DEFAULT_MEMORY));
    }

    /** Number of GPUs. */
    public long world() {
        return (long) tensor * pipeline * context * data;
    }

    /** Over how many ranks the optimizer state of dense parameters can be spread. */
    public long denseReplicas() {
        return (long) data * context;
    }

    /** Over how many ranks the optimizer state of experts can be spread; 0 if the sizes do not divide. */
    public long expertReplicas() {
        long cells = (long) expertTensor * expert * pipeline;
        return world() % cells == 0 ? world() / cells : 0;
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(CheckpointException.Kind.REFUSED, "--placement", problem)
                .withHint("--placement tp=4,pp=2,dp=8");
    }
}
