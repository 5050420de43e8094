package dev.shardsmith.verify.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionMixer;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.Mamba2Mixer;
import dev.shardsmith.verify.forward.MlpMixer;
import dev.shardsmith.verify.forward.Remainder;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.SharedAttention;
import dev.shardsmith.verify.forward.SharedFeedForward;
import dev.shardsmith.verify.forward.SharedTransformer;
import dev.shardsmith.verify.forward.WeightSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The layers of Zamba2: Mamba-2 mixers, some of which are preceded by a transformer that is shared with other layers.
 *
 * <p>There are {@code num_mem_blocks} shared transformers; hybrid layers take them in turns. A file holds each of them once, under
 * the name of the first layer that uses it. What is a layer's own are the adapters, of low rank, and the projection of the
 * transformer's result. Transformers shares them only where embedding and head are tied too: otherwise each layer runs the
 * transformer that the file holds under its own name.
 */
final class ZambaBlocks {
    private static final float GATED_NORM_EPSILON = 1e-5f;

    private final Settings config;
    private final HuggingFaceParts parts;
    private final NamedWeights layers;
    private final List<Integer> hybrids = new ArrayList<>();

    /**
     * Prepares them.
     *
     * @param layers the weights under {@code model.layers.}
     */
    ZambaBlocks(Settings config, HuggingFaceParts parts, NamedWeights layers) {
        this.config = config;
        this.parts = parts;
        this.layers = layers;
    }

    List<Block> build() throws CheckpointException {
        List<Block> blocks = new ArrayList<>();
        List<Object> kinds = config.list("layers_block_type");
        for (int i = 0; i < kinds.size(); i++) {
            boolean hybrid = kinds.get(i).equals("hybrid");
            if (hybrid) {
                hybrids.add(i);
            }
            NamedWeights layer = layers.under(i + ".");
            NamedWeights own = hybrid ? layer.under("mamba_decoder.") : layer;
            blocks.add(new Block(
                    i,
                    hybrid ? "hybrid" : "mamba",
                    hybrid ? Optional.of(transformer(layer)) : Optional.empty(),
                    Optional.of(parts.norm(own, "input_layernorm")),
                    List.of(mamba(own.under("mamba.")))));
        }
        return blocks;
    }

    /** The tensors of shared transformers that a file holds once more, under the names of later layers. */
    List<Remainder.Copy> copies() {
        List<Remainder.Copy> copies = new ArrayList<>();
        if (!shared()) {
            return copies;
        }
        int transformers = Math.max(1, config.integerOr(1, "num_mem_blocks"));
        for (int use = transformers; use < hybrids.size(); use++) {
            NamedWeights first = layers.under(hybrids.get(use % transformers) + ".shared_transformer.");
            NamedWeights again = layers.under(hybrids.get(use) + ".shared_transformer.");
            for (String name : again.suffixes()) {
                Optional<WeightSource> run = first.find(name);
                if (run.isPresent()) {
                    WeightSource other = again.find(name).orElseThrow();
                    copies.add(Leftovers.copy(again.prefix() + name, "", run.get(), other));
                }
            }
        }
        return copies;
    }

    private Mamba2Mixer mamba(NamedWeights w) throws CheckpointException {
        Mamba2Mixer mixer = parts.mamba2(
                w,
                config.integer("n_mamba_heads"),
                config.integer("mamba_d_state"),
                HuggingFaceParts.NormGroups.BY_GROUP,
                HuggingFaceParts.StepBounds.NONE);
        Mamba2Mixer.Options o = mixer.options();
        return mixer.withOptions(new Mamba2Mixer.Options(
                o.headDim(), o.state(), o.timeStep(), o.normGroup(), GATED_NORM_EPSILON, false));
    }

    /** The shared transformer as the last of the hybrid layers so far sees it. */
    private SharedTransformer transformer(NamedWeights layer) throws CheckpointException {
        int use = hybrids.size() - 1;
        NamedWeights w = weights(layer, use);
        NamedWeights feedForward = w.under("feed_forward.");
        int hidden = feedForward.size("gate_up_proj.weight", 0) / 2;
        WeightSource gateAndUp = adapted(
                feedForward,
                "gate_up_proj",
                "gate_up_proj_adapter_list." + use + ".",
                config.flagOr(true, "use_shared_mlp_adapter"));
        Activation activation = parts.activation("hidden_act");
        MlpMixer mlp = parts.mlp(
                MlpMixer.Form.GATE_FIRST,
                activation,
                gateAndUp,
                feedForward.find("gate_up_proj.bias"),
                feedForward.get("down_proj.weight"),
                feedForward.find("down_proj.bias"));
        if (hidden != feedForward.size("down_proj.weight", 1)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCONSISTENT,
                    feedForward.prefix() + "gate_up_proj.weight",
                    2 * hidden + " rows do not fit the columns of down_proj");
        }
        return new SharedTransformer(
                new SharedAttention(parts.norm(w, "input_layernorm"), attention(w.under("self_attn."), use)),
                parts.norm(w, "pre_ff_layernorm"),
                new SharedFeedForward(mlp, layer.get("linear.weight")));
    }

    private boolean shared() {
        return config.flagOr(true, "tie_word_embeddings");
    }

    /** The weights of the transformer that the given use runs. */
    private NamedWeights weights(NamedWeights layer, int use) {
        NamedWeights own = layer.under("shared_transformer.");
        if (!shared() && own.has("pre_ff_layernorm.weight")) {
            passOverAdaptersOfOthers(own, use);
            return own;
        }
        int copies = Math.max(1, config.integerOr(1, "num_mem_blocks"));
        return layers.under(hybrids.get(use % copies) + ".shared_transformer.");
    }

    /** A transformer of its own holds adapters for all uses and runs those of one. */
    private static void passOverAdaptersOfOthers(NamedWeights own, int use) {
        for (String name : own.suffixes()) {
            if (name.contains("_adapter_list.") && !name.contains("_adapter_list." + use + ".")) {
                own.find(name);
            }
        }
    }

    private AttentionMixer attention(NamedWeights w, int use) throws CheckpointException {
        int heads = config.integer("num_attention_heads");
        int headDim = w.size("q_proj.weight", 0) / heads;
        int keyHeads = w.size("k_proj.weight", 0) / headDim;
        boolean adapted = config.flagOr(false, "use_shared_attention_adapter");
        List<WeightSource> rows = new ArrayList<>();
        for (String name : List.of("q", "k", "v")) {
            rows.add(adapted(w, name + "_proj", "linear_" + name + "_adapter_list." + use + ".", adapted));
        }
        AttentionMixer.Shard shard = new AttentionMixer.Shard(
                heads,
                keyHeads,
                0,
                WeightSource.concat(rows),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                Optional.empty(),
                w.get("o_proj.weight"));
        Optional<Rotary> rotary = config.flagOr(false, "use_mem_rope") ? parts.rotary(headDim, 1) : Optional.empty();
        double scale = 1 / Math.sqrt(headDim / 2.0);
        return new AttentionMixer(
                parts.width(),
                new AttentionMixer.Options(headDim, scale, true, rotary, false),
                List.of(shard),
                w.find("o_proj.bias"));
    }

    /** A projection with its adapter of this use. */
    private static WeightSource adapted(NamedWeights w, String projection, String adapter, boolean there)
            throws CheckpointException {
        WeightSource base = w.get(projection + ".weight");
        return there
                ? base.plusProduct(
                        w.get(adapter + "1.weight"), w.get(adapter + "0.weight"), w.size(projection + ".weight", 1))
                : base;
    }
}
