package dev.shardsmith.reshard.view;

import dev.shardsmith.reshard.state.ModelState;
import java.util.Map;

/**
 * What one rank of the training job holds, under canonical names but with the rank's own, local shapes.
 *
 * <p>A forward check runs these as the training framework would, so that it does not depend on the rules that merge them.
 *
 * @param tensor tensor-parallel rank
 * @param pipeline pipeline rank
 * @param virtual virtual stage on the pipeline rank
 * @param expert expert-parallel rank
 * @param tensors the rank's tensors; offsets of their pieces are local
 * @param state what the rank holds besides the model
 */
public record RankShard(
        int tensor, int pipeline, int virtual, int expert, Map<String, LogicalTensor> tensors, ModelState state) {}
