package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.state.MegatronArgs;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which folder belongs to which tensor, pipeline and expert rank.
 *
 * <p>{@code mp_rank_TT[_PPP][_EEE]}: the pipeline's number is there only if there is more than one stage, the expert's only if
 * there is more than one expert rank. With two numbers the saved options tell which the second is.
 *
 * <p>Where experts are divided among fewer tensor ranks than dense layers, not every combination has a folder: see {@link #of(int,
 * int, int, int)}.
 *
 * @param tensor number of tensor-parallel ranks
 * @param pipeline number of pipeline ranks
 * @param expert number of expert-parallel ranks
 * @param expertTensor number of tensor-parallel ranks of the experts
 * @param ranks the folders by their three ranks
 */
record RankGrid(int tensor, int pipeline, int expert, int expertTensor, Map<Rank, RankPath> ranks) {
    private static final int NAMES_SHOWN = 8;

    /** The three ranks of a folder. */
    record Rank(int tensor, int pipeline, int expert) {
        /** The folder's name in a grid of the given sizes. */
        String folder(int pipelineSize, int expertSize) {
            StringBuilder name = new StringBuilder("mp_rank_%02d".formatted(tensor));
            if (pipelineSize > 1) {
                name.append("_%03d".formatted(pipeline));
            }
            if (expertSize > 1) {
                name.append("_%03d".formatted(expert));
            }
            return name.toString();
        }

        // Conversions compare these before they write anything, and Java takes milliseconds to link what it makes for a
        // record.
        @Override
        public boolean equals(Object other) {
            return other instanceof Rank rank
                    && tensor == rank.tensor
                    && pipeline == rank.pipeline
                    && expert == rank.expert;
        }

        @Override
        public int hashCode() {
            return 31 * (31 * tensor + pipeline) + expert;
        }
    }

    /**
     * Sorts folders into a grid.
     *
     * @param where the folder that holds them, for messages
     * @param args the saved options, if there are any
     * @throws CheckpointException if a folder is missing, surplus or contradicts the saved options
     */
    static RankGrid of(String where, List<RankPath> folders, Optional<MegatronArgs> args) throws CheckpointException {
        int numbers = folders.get(0).numbers().length;
        int largestSecond = 0;
        for (RankPath folder : folders) {
            if (folder.numbers().length != numbers) {
                throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        where,
                        "the folders " + folders.get(0).folder() + " and " + folder.folder()
                                + " belong to different parallel layouts");
            }
            largestSecond = numbers > 1 ? Math.max(largestSecond, folder.numbers()[1]) : 0;
        }
        int pipelineArgs = args.map(MegatronArgs::pipelineParallel).orElse(1);
        int expertArgs = args.map(MegatronArgs::expertParallel).orElse(1);
        boolean secondIsExpert = numbers == 2 && pipelineArgs == 1 && expertArgs > 1;
        if (numbers == 2 && args.isPresent() && pipelineArgs == 1 && expertArgs == 1 && largestSecond > 0) {
            throw CheckpointException.of(
                    Kind.INCONSISTENT,
                    where,
                    "the folders have two numbers (" + folders.get(0).folder()
                            + "), but the saved options say PP 1 and EP 1");
        }
        Map<Rank, RankPath> ranks = new LinkedHashMap<>();
        int tensor = args.map(MegatronArgs::tensorParallel).orElse(1);
        int pipeline = pipelineArgs;
        int expert = expertArgs;
        for (RankPath folder : folders) {
            int[] given = folder.numbers();
            int second = numbers > 1 ? given[1] : 0;
            Rank rank = new Rank(
                    given[0], secondIsExpert ? 0 : second, numbers > 2 ? given[2] : secondIsExpert ? second : 0);
            tensor = Math.max(tensor, rank.tensor() + 1);
            pipeline = Math.max(pipeline, rank.pipeline() + 1);
            expert = Math.max(expert, rank.expert() + 1);
            ranks.put(rank, folder);
        }
        int expertTensor =
                expert > 1 ? args.map(MegatronArgs::expertTensorParallel).orElse(tensor) : tensor;
        if (!expressible(tensor, expert, expertTensor)) {
            throw CheckpointException.of(
                    Kind.UNSUPPORTED,
                    where,
                    "experts are divided among " + expertTensor + " tensor ranks and dense layers among " + tensor
                            + ", which the names of rank folders cannot express with " + expert + " expert ranks");
        }
        RankGrid grid = new RankGrid(tensor, pipeline, expert, expertTensor, ranks);
        grid.requireComplete(where);
        return grid;
    }

    /**
     * The ranks whose folders make a checkpoint.
     *
     * <p>Within a stage Megatron numbers its processes tensor parallelism first: process r has tensor rank {@code r mod T} among
     * dense layers, and among experts tensor rank {@code r mod T'} of expert rank {@code r div T' mod E}. Each expert shard is
     * written by the first process that has it, r = 0 … E·T' - 1. With T' = T these are all combinations of both ranks.
     */
    static List<Rank> of(int tensor, int pipeline, int expert, int expertTensor) {
        List<Rank> ranks = new ArrayList<>();
        for (int p = 0; p < pipeline; p++) {
            for (int process = 0; process < expert * expertTensor; process++) {
                ranks.add(new Rank(process % tensor, p, process / expertTensor));
            }
        }
        ranks.sort(Comparator.comparingInt(Rank::tensor)
                .thenComparingInt(Rank::pipeline)
                .thenComparingInt(Rank::expert));
        return ranks;
    }

    /**
     * Whether rank folders have a place for every shard: each expert shard needs a folder of its own, and each dense shard
     * one at all.
     */
    static boolean expressible(int tensor, int expert, int expertTensor) {
        return tensor % expertTensor == 0 && (long) expert * expertTensor >= tensor;
    }

    private void requireComplete(String where) throws CheckpointException {
        List<String> missing = new ArrayList<>();
        long expected = (long) expertTensor * pipeline * expert;
        if (expected > 1_000_000) {
            throw CheckpointException.of(Kind.LIMIT, where, "the folders' names claim " + expected + " ranks");
        }
        for (Rank rank : of(tensor, pipeline, expert, expertTensor)) {
            if (!ranks.containsKey(rank)) {
                missing.add(rank.folder(pipeline, expert));
            }
        }
        if (!missing.isEmpty()) {
            String shown = String.join(", ", missing.subList(0, Math.min(NAMES_SHOWN, missing.size())));
            throw CheckpointException.of(
                    Kind.INCOMPLETE,
                    where,
                    missing.size() + " of " + expected + " rank folders are missing: " + shown
                            + (missing.size() > NAMES_SHOWN ? ", …" : ""));
        }
    }
}
