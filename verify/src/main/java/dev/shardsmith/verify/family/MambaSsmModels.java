package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.PreNorm;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Models of the {@code mamba_ssm} package, run rank by rank. */
public final class MambaSsmModels {
    private final RankWeights ranks;
    private final Settings config;
    private final MambaSsmParts parts;

    private MambaSsmModels(Settings config, RankWeights ranks) throws CheckpointException {
        this.config = config;
        this.ranks = ranks;
        this.parts = new MambaSsmParts(config, config.integer("d_model"));
    }

    /**
     * The model of a checkpoint.
     *
     * @param config its {@code config.json}
     * @param ranks the weights of each tensor-parallel rank
     * @throws CheckpointException if a tensor is missing
     */
    public static LayeredModel of(Settings config, List<NamedWeights> ranks) throws CheckpointException {
        return UnfollowedOptions.mambaSsm(config).mark(new MambaSsmModels(config, new RankWeights(ranks)).build());
    }

    private LayeredModel build() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        for (int i = 0; ranks.has("backbone.layers." + i + ".norm.weight"); i++) {
            RankWeights layer = ranks.under("backbone.layers." + i + ".");
            RankWeights mixer = layer.under("mixer.");
            blocks.add(new Block(i, parts.kind(mixer), norm(layer, "norm"), List.of(parts.mixer(mixer))));
            if (layer.has("mlp.fc1.weight")) {
                blocks.add(new Block(i, "mlp", norm(layer, "norm2"), List.of(parts.mlp(layer.under("mlp.")))));
            }
        }
        List<WeightSource> embedding = ranks.all("backbone.embedding.weight");
        List<WeightSource> head = ranks.has("lm_head.weight") ? ranks.all("lm_head.weight") : embedding;
        return new LayeredModel(
                config.integer("d_model"),
                embedding,
                1,
                List.copyOf(blocks),
                Optional.of(norm(ranks.under("backbone."), "norm_f")),
                head,
                1);
    }

    private static PreNorm norm(RankWeights weights, String name) throws CheckpointException {
        Optional<WeightSource> bias = weights.any(name + ".bias");
        Norm norm = new Norm(bias.isPresent() ? Norm.Kind.LAYER : Norm.Kind.RMS, MambaSsmParts.EPSILON, 0);
        return new PreNorm(norm, weights.first().get(name + ".weight"), bias);
    }
}
