package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.pattern.LayerKind;

/** The layers of a sample, with the parameters that the real ones register, in their order. */
final class SampleLayers {
    private static final long CONVOLUTION = 4;

    private final SampleSpec spec;
    private final SampleTensors tensors;

    SampleLayers(SampleSpec spec, SampleTensors tensors) {
        this.spec = spec;
        this.tensors = tensors;
    }

    /** Adds a layer's parameters. */
    void add(String prefix, LayerKind kind) throws CheckpointException {
        switch (kind) {
            case MAMBA -> mamba(prefix);
            case ATTENTION -> attention(prefix);
            case MLP -> mlp(prefix);
            case EXPERTS -> experts(prefix);
            case GATED_DELTA -> deltaNet(prefix);
            case LATENT_ATTENTION -> latent(prefix, false);
            case SPARSE_ATTENTION -> latent(prefix, true);
        }
    }

    private void mamba(String prefix) throws CheckpointException {
        long inner = spec.mambaHeads() * spec.mambaHeadDim();
        long shared = spec.mambaGroups() * spec.mambaState();
        String mixer = prefix + "mixer.";
        String weight = spec.newConvNames() ? "conv1d_weight" : "conv1d.weight";
        String bias = spec.newConvNames() ? "conv1d_bias" : "conv1d.bias";
        if (spec.newConvNames()) {
            convolution(mixer + weight, mixer + bias, inner + 2 * shared);
        }
        tensors.between(mixer + "dt_bias", -4f, -1f, spec.mambaHeads());
        tensors.between(mixer + "A_log", 0f, 2.7f, spec.mambaHeads());
        tensors.between(mixer + "D", 0.5f, 1.5f, spec.mambaHeads());
        tensors.inputNorm(prefix, mixer + "in_proj.", "norm.weight");
        tensors.weight(mixer + "in_proj.weight", 2 * inner + 2 * shared + spec.mambaHeads(), spec.hidden());
        tensors.extra(mixer + "in_proj._extra_state");
        if (!spec.newConvNames()) {
            convolution(mixer + weight, mixer + bias, inner + 2 * shared);
        }
        tensors.between(mixer + "norm.weight", 0.5f, 1.5f, inner);
        tensors.weight(mixer + "out_proj.weight", spec.hidden(), inner);
        tensors.extra(mixer + "out_proj._extra_state");
    }

    private void convolution(String weight, String bias, long channels) throws CheckpointException {
        tensors.between(weight, -0.5f, 0.5f, channels, 1, CONVOLUTION);
        tensors.between(bias, -0.5f, 0.5f, channels);
    }

    private void attention(String prefix) throws CheckpointException {
        String attention = prefix + "self_attention.";
        tensors.weight(attention + "linear_proj.weight", spec.hidden(), spec.heads() * spec.headDim());
        tensors.bias(attention + "linear_proj.bias", spec.hidden());
        tensors.extra(attention + "linear_proj._extra_state");
        tensors.inputNorm(prefix, attention + "linear_qkv.", "input_layernorm.weight");
        long rows = (spec.heads() + 2 * spec.queryGroups()) * spec.headDim();
        tensors.weight(attention + "linear_qkv.weight", rows, spec.hidden());
        tensors.bias(attention + "linear_qkv.bias", rows);
        tensors.extra(attention + "linear_qkv._extra_state");
    }

    /** Query, key and value channels share one projection with the gate z and each value head's beta and alpha. */
    private void deltaNet(String prefix) throws CheckpointException {
        DeltaSizes sizes = spec.delta();
        String net = prefix + "self_attention.";
        tensors.between(net + "dt_bias", -4f, -1f, sizes.valueHeads());
        tensors.between(net + "A_log", 0f, 2.7f, sizes.valueHeads());
        tensors.inputNorm(prefix, net + "in_proj.", "input_layernorm.weight");
        long rows = 2 * sizes.keys() + 2 * sizes.values() + 2 * sizes.valueHeads();
        tensors.weight(net + "in_proj.weight", rows, spec.hidden());
        tensors.extra(net + "in_proj._extra_state");
        tensors.between(net + "conv1d.weight", -0.5f, 0.5f, 2 * sizes.keys() + sizes.values(), 1, sizes.kernel());
        tensors.norm(net + "out_norm.weight", sizes.valueDim());
        tensors.weight(net + "out_proj.weight", spec.hidden(), sizes.values());
        tensors.extra(net + "out_proj._extra_state");
    }

    private void latent(String prefix, boolean sparse) throws CheckpointException {
        LatentSizes sizes = spec.latent();
        String attention = prefix + "self_attention.";
        // Sparse attention needs the normed values themselves, so it has its norms under names of their own.
        boolean ownNorms = sparse || !spec.fusedNorms();
        boolean fusedDown = sizes.fusedDown() && sizes.queryRank() > 0 && !sparse;
        if (!fusedDown) {
            tensors.norm(prefix + "input_layernorm.weight", spec.hidden());
        }
        if (sparse) {
            indexer(attention + "core_attention.indexer.");
        }
        tensors.weight(attention + "linear_proj.weight", spec.hidden(), spec.heads() * sizes.valueDim());
        tensors.bias(attention + "linear_proj.bias", spec.hidden());
        long queries = spec.heads() * (sizes.headDim() + sizes.positionDim());
        long down = sizes.keyValueRank() + sizes.positionDim();
        if (fusedDown) {
            tensors.norm(attention + "linear_qkv_down_proj.layer_norm_weight", spec.hidden());
            tensors.weight(attention + "linear_qkv_down_proj.weight", sizes.queryRank() + down, spec.hidden());
        } else if (sizes.queryRank() > 0) {
            tensors.weight(attention + "linear_q_down_proj.weight", sizes.queryRank(), spec.hidden());
        } else {
            tensors.weight(attention + "linear_q_proj.weight", queries, spec.hidden());
        }
        if (sizes.queryRank() > 0) {
            up(attention, "q", sizes.queryRank(), queries, ownNorms);
        }
        if (!fusedDown) {
            tensors.weight(attention + "linear_kv_down_proj.weight", down, spec.hidden());
        }
        long both = spec.heads() * (sizes.headDim() + sizes.valueDim());
        up(attention, "kv", sizes.keyValueRank(), both, ownNorms);
    }

    private void up(String attention, String of, long rank, long rows, boolean ownNorm) throws CheckpointException {
        String linear = attention + "linear_" + of + "_up_proj.";
        if (spec.latent().norms()) {
            tensors.norm(ownNorm ? attention + of + "_layernorm.weight" : linear + "layer_norm_weight", rank);
        }
        tensors.weight(linear + "weight", rows, rank);
    }

    private void indexer(String indexer) throws CheckpointException {
        LatentSizes sizes = spec.latent();
        long from = sizes.queryRank() > 0 ? sizes.queryRank() : spec.hidden();
        tensors.weight(indexer + "linear_wq_b.weight", sizes.indexHeads() * sizes.indexDim(), from);
        tensors.weight(indexer + "linear_wk.weight", sizes.indexDim(), spec.hidden());
        tensors.norm(indexer + "k_norm.weight", sizes.indexDim());
        tensors.between(indexer + "k_norm.bias", -0.1f, 0.1f, sizes.indexDim());
        tensors.weight(indexer + "linear_weights_proj.weight", sizes.indexHeads(), spec.hidden());
    }

    private void mlp(String prefix) throws CheckpointException {
        tensors.inputNorm(prefix, prefix + "mlp.linear_fc1.", "pre_mlp_layernorm.weight");
        feedForward(prefix + "mlp.linear_fc1.", prefix + "mlp.linear_fc2.", "", spec.ffn());
        tensors.extra(prefix + "mlp.linear_fc1._extra_state");
        tensors.extra(prefix + "mlp.linear_fc2._extra_state");
    }

    private void feedForward(String up, String down, String number, long width) throws CheckpointException {
        long rows = spec.gated() ? 2 * width : width;
        tensors.weight(up + "weight" + number, rows, spec.hidden());
        tensors.bias(up + "bias" + number, rows);
        tensors.weight(down + "weight" + number, spec.hidden(), width);
        tensors.bias(down + "bias" + number, spec.hidden());
    }

    private void experts(String prefix) throws CheckpointException {
        tensors.norm(prefix + "pre_mlp_layernorm.weight", spec.hidden());
        tensors.weight(prefix + "mlp.router.weight", spec.experts(), spec.hidden());
        tensors.tensor(prefix + "mlp.router.expert_bias", DType.F32, -0.1f, 0.1f, spec.experts());
        for (long expert = 0; expert < spec.experts(); expert++) {
            String experts = prefix + "mlp.experts.";
            if (spec.groupedExperts()) {
                feedForward(experts + "linear_fc1.", experts + "linear_fc2.", "" + expert, spec.expertFfn());
            } else {
                String own = experts + "local_experts." + expert + ".";
                feedForward(own + "linear_fc1.", own + "linear_fc2.", "", spec.expertFfn());
            }
        }
        if (spec.sharedFfn() > 0) {
            String shared = prefix + "mlp.shared_experts.";
            feedForward(shared + "linear_fc1.", shared + "linear_fc2.", "", spec.sharedFfn());
            // The models that weigh their shared expert have gated MLPs; those without a gate are NemotronH's kind.
            if (spec.gated()) {
                tensors.weight(shared + "gate_weight", 1, spec.hidden());
            }
        }
    }
}
