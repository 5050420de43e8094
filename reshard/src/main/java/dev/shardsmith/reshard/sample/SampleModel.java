package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.Parallelism;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A random model of Megatron's hybrid family, with the parameters that the real one registers, in its order. */
public final class SampleModel {
    private static final long CONVOLUTION = 4;

    private final SampleSpec spec;
    private final ModelViewBuilder view;

    private SampleModel(SampleSpec spec) {
        this.spec = spec;
        this.view = new ModelViewBuilder(Path.of("sample"), new FilePool(), ModelView.Layout.MEGATRON);
    }

    /**
     * The view of a sample.
     *
     * @throws CheckpointException of kind REFUSED if the pattern is not valid or has kinds of layers that no sample has
     */
    public static ModelView of(SampleSpec spec) throws CheckpointException {
        return new SampleModel(spec).build();
    }

    private ModelView build() throws CheckpointException {
        HybridPattern pattern = HybridPattern.parse(spec.pattern());
        add("embedding.word_embeddings.weight", spec.vocabulary(), spec.hidden());
        List<LayerKind> layers = pattern.layers();
        for (int layer = 0; layer < layers.size(); layer++) {
            layer("decoder.layers." + layer + ".", layers.get(layer));
        }
        norm("decoder.final_norm.weight");
        if (!spec.tied()) {
            add("output_layer.weight", spec.vocabulary(), spec.hidden());
        }
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", SampleArgs.of(spec, layers.size()).node());
        entries.put("checkpoint_version", new PyFloat(3.0));
        entries.put("iteration", PyInt.of(1));
        return view.family(ModelView.Family.MEGATRON)
                .description("sample model " + spec.pattern())
                .iterationFolder("iter_0000001")
                .parallelism(Parallelism.NONE)
                .pattern(Optional.of(pattern.withoutPipes().text()))
                .state(new ModelState(entries, new LinkedHashMap<>()))
                .build();
    }

    private void layer(String prefix, LayerKind kind) throws CheckpointException {
        switch (kind) {
            case MAMBA -> mamba(prefix);
            case ATTENTION -> attention(prefix);
            case MLP -> mlp(prefix);
            case EXPERTS -> experts(prefix);
            case SPARSE_ATTENTION, GATED_DELTA, LATENT_ATTENTION ->
                throw CheckpointException.of(
                        CheckpointException.Kind.REFUSED,
                        "pattern " + spec.pattern(),
                        "samples have layers M, *, - and E only, not " + kind.symbol());
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
        between(mixer + "dt_bias", -4f, -1f, spec.mambaHeads());
        between(mixer + "A_log", 0f, 2.7f, spec.mambaHeads());
        between(mixer + "D", 0.5f, 1.5f, spec.mambaHeads());
        inputNorm(prefix, mixer + "in_proj.", "norm.weight");
        add(mixer + "in_proj.weight", 2 * inner + 2 * shared + spec.mambaHeads(), spec.hidden());
        extra(mixer + "in_proj._extra_state");
        if (!spec.newConvNames()) {
            convolution(mixer + weight, mixer + bias, inner + 2 * shared);
        }
        between(mixer + "norm.weight", 0.5f, 1.5f, inner);
        add(mixer + "out_proj.weight", spec.hidden(), inner);
        extra(mixer + "out_proj._extra_state");
    }

    private void convolution(String weight, String bias, long channels) throws CheckpointException {
        between(weight, -0.5f, 0.5f, channels, 1, CONVOLUTION);
        between(bias, -0.5f, 0.5f, channels);
    }

    private void attention(String prefix) throws CheckpointException {
        String attention = prefix + "self_attention.";
        add(attention + "linear_proj.weight", spec.hidden(), spec.heads() * spec.headDim());
        bias(attention + "linear_proj.bias", spec.hidden());
        extra(attention + "linear_proj._extra_state");
        inputNorm(prefix, attention + "linear_qkv.", "input_layernorm.weight");
        long rows = (spec.heads() + 2 * spec.queryGroups()) * spec.headDim();
        add(attention + "linear_qkv.weight", rows, spec.hidden());
        bias(attention + "linear_qkv.bias", rows);
        extra(attention + "linear_qkv._extra_state");
    }

    private void mlp(String prefix) throws CheckpointException {
        inputNorm(prefix, prefix + "mlp.linear_fc1.", "pre_mlp_layernorm.weight");
        feedForward(prefix + "mlp.linear_fc1.", prefix + "mlp.linear_fc2.", "", spec.ffn());
        extra(prefix + "mlp.linear_fc1._extra_state");
        extra(prefix + "mlp.linear_fc2._extra_state");
    }

    private void feedForward(String up, String down, String number, long width) throws CheckpointException {
        long rows = spec.gated() ? 2 * width : width;
        add(up + "weight" + number, rows, spec.hidden());
        bias(up + "bias" + number, rows);
        add(down + "weight" + number, spec.hidden(), width);
        bias(down + "bias" + number, spec.hidden());
    }

    private void experts(String prefix) throws CheckpointException {
        norm(prefix + "pre_mlp_layernorm.weight");
        add(prefix + "mlp.router.weight", spec.experts(), spec.hidden());
        tensor(prefix + "mlp.router.expert_bias", DType.F32, -0.1f, 0.1f, spec.experts());
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
        }
    }

    private void inputNorm(String prefix, String fused, String separate) throws CheckpointException {
        norm(spec.fusedNorms() ? fused + "layer_norm_weight" : prefix + separate);
    }

    private void norm(String name) throws CheckpointException {
        between(name, 0.5f, 1.5f, spec.hidden());
    }

    private void bias(String name, long size) throws CheckpointException {
        if (spec.bias()) {
            between(name, -0.1f, 0.1f, size);
        }
    }

    /** A weight whose products keep the scale of what goes in. */
    private void add(String name, long rows, long columns) throws CheckpointException {
        float bound = (float) Math.sqrt(3.0 / columns);
        between(name, -bound, bound, rows, columns);
    }

    private void between(String name, float low, float high, long... shape) throws CheckpointException {
        tensor(name, spec.dtype(), low, high, shape);
    }

    private void tensor(String name, DType dtype, float low, float high, long... shape) throws CheckpointException {
        Shape sizes = Shape.of(shape);
        SeededBytes bytes = new SeededBytes(name, dtype, sizes.elements(), spec.seed(), low, high);
        view.add(LogicalTensor.whole(name, StoredTensor.contiguous(name, dtype, sizes, bytes, 0)));
    }

    private void extra(String name) {
        view.addExtraState(new ExtraState(name, PyNone.NONE, Optional.empty()));
    }
}
