package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.reshard.state.ExtraState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import java.util.Optional;

/** Adds parameters to a sample, each with values of a scale that suits it. */
final class SampleTensors {
    private final SampleSpec spec;
    private final ModelViewBuilder view;

    SampleTensors(SampleSpec spec, ModelViewBuilder view) {
        this.spec = spec;
        this.view = view;
    }

    /** The norm before a layer: inside of the linear layer that follows, or under a name of its own. */
    void inputNorm(String prefix, String fused, String separate) throws CheckpointException {
        norm(spec.fusedNorms() ? fused + "layer_norm_weight" : prefix + separate, spec.hidden());
    }

    /** A norm's weight. */
    void norm(String name, long size) throws CheckpointException {
        between(name, 0.5f, 1.5f, size);
    }

    /** A bias, if the model has any. */
    void bias(String name, long size) throws CheckpointException {
        if (spec.bias()) {
            between(name, -0.1f, 0.1f, size);
        }
    }

    /** A weight whose products keep the scale of what goes in. */
    void weight(String name, long rows, long columns) throws CheckpointException {
        float bound = (float) Math.sqrt(3.0 / columns);
        between(name, -bound, bound, rows, columns);
    }

    /** Numbers between two bounds, of the model's element type. */
    void between(String name, float low, float high, long... shape) throws CheckpointException {
        tensor(name, spec.dtype(), low, high, shape);
    }

    /** Numbers between two bounds. */
    void tensor(String name, DType dtype, float low, float high, long... shape) throws CheckpointException {
        Shape sizes = Shape.of(shape);
        SeededBytes bytes = new SeededBytes(name, dtype, sizes.elements(), spec.seed(), low, high);
        view.add(LogicalTensor.whole(name, StoredTensor.contiguous(name, dtype, sizes, bytes, 0)));
    }

    /** The empty state of one of Transformer Engine's modules. */
    void extra(String name) {
        view.addExtraState(new ExtraState(name, PyNone.NONE, Optional.empty()));
    }
}
