package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OptimizerState;
import dev.shardsmith.reshard.view.OptimizerTensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Sample models with the state of an optimizer. */
final class Optimizers {
    private Optimizers() {}

    /**
     * A sample with state of every parameter, which has values of its own.
     *
     * @param chained whether the experts have an optimizer of their own
     */
    static ModelView sample(SampleSpec spec, boolean chained) throws IOException {
        ModelView model = SampleModel.of(spec);
        ModelViewBuilder view =
                new ModelViewBuilder(Path.of("sample"), new FilePool(), model.layout()).family(model.family());
        model.tensors().values().forEach(view::add);
        List<OptimizerTensor> state = new ArrayList<>();
        long seed = spec.seed();
        for (String kind : List.of("param", "exp_avg", "exp_avg_sq")) {
            ModelView values = SampleModel.of(with(spec, DType.F32, ++seed));
            for (LogicalTensor tensor : values.tensors().values()) {
                String optimizer = chained ? "chained_" + (tensor.name().contains(".mlp.experts.") ? 1 : 0) + "." : "";
                String prefix = optimizer + "optimizer.state." + kind + ".";
                state.add(new OptimizerTensor(prefix, tensor.name(), tensor.named(prefix + tensor.name())));
            }
        }
        Map<String, PyValue> entries = new LinkedHashMap<>(model.state().entries());
        PyDict common = new PyDict();
        common.put("step", PyInt.of(12));
        entries.put("optimizer", common);
        return view.iterationFolder("iter_0000001")
                .parallelism(model.parallelism())
                .pattern(model.pattern())
                .state(new ModelState(entries, new LinkedHashMap<>()))
                .optimizerState(() -> OptimizerState.of("fully_reshardable", state))
                .build();
    }

    private static SampleSpec with(SampleSpec spec, DType dtype, long seed) {
        return new SampleSpec(
                spec.pattern(),
                spec.hidden(),
                spec.vocabulary(),
                spec.heads(),
                spec.queryGroups(),
                spec.headDim(),
                spec.mambaHeads(),
                spec.mambaHeadDim(),
                spec.mambaGroups(),
                spec.mambaState(),
                spec.ffn(),
                spec.gated(),
                spec.bias(),
                spec.tied(),
                spec.fusedNorms(),
                spec.newConvNames(),
                spec.experts(),
                spec.expertFfn(),
                spec.sharedFfn(),
                spec.groupedExperts(),
                dtype,
                seed,
                spec.kind(),
                spec.latent(),
                spec.delta());
    }

    /** Type, shape and digest of each tensor of the state. */
    static Map<String, String> digests(ModelView view) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        for (OptimizerTensor tensor : view.optimizerState().tensors()) {
            digests.put(tensor.tensor().name(), digest(tensor.tensor()));
        }
        return digests;
    }

    private static String digest(LogicalTensor tensor) throws IOException {
        Shape shape = tensor.shape();
        return tensor.dtype() + " " + shape + " " + Tensors.sha256(tensor);
    }
}
