package dev.shardsmith.reshard.sample;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.pattern.GptPairing;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.Parallelism;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A random model of Megatron's families, with the parameters that the real one registers, in its order. */
public final class SampleModel {
    private final SampleSpec spec;
    private final ModelViewBuilder view;
    private final SampleTensors tensors;
    private final SampleLayers layers;

    private SampleModel(SampleSpec spec) {
        this.spec = spec;
        this.view = new ModelViewBuilder(Path.of("sample"), new FilePool(), ModelView.Layout.MEGATRON);
        this.tensors = new SampleTensors(spec, view);
        this.layers = new SampleLayers(spec, tensors);
    }

    /**
     * The view of a sample.
     *
     * @throws CheckpointException of kind REFUSED if the pattern is not valid, or is none of a Transformer that is asked for
     */
    public static ModelView of(SampleSpec spec) throws CheckpointException {
        return new SampleModel(spec).build();
    }

    private ModelView build() throws CheckpointException {
        HybridPattern pattern = HybridPattern.parse(spec.pattern());
        boolean hybrid = spec.kind() == SampleSpec.Kind.HYBRID;
        tensors.weight("embedding.word_embeddings.weight", spec.vocabulary(), spec.hidden());
        int count = hybrid ? hybridLayers(pattern) : transformerLayers(pattern);
        tensors.norm(hybrid ? "decoder.final_norm.weight" : "decoder.final_layernorm.weight", spec.hidden());
        for (int depth = 0; depth < pattern.mtpDepths(); depth++) {
            prediction("mtp.layers." + depth + ".", pattern.mtpLayers(), hybrid);
        }
        if (!spec.tied()) {
            tensors.weight("output_layer.weight", spec.vocabulary(), spec.hidden());
        }
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", SampleArgs.of(spec, pattern, count).node());
        entries.put("checkpoint_version", new PyFloat(3.0));
        entries.put("iteration", PyInt.of(1));
        return view.family(ModelView.Family.MEGATRON)
                .description("sample model " + spec.pattern())
                .iterationFolder("iter_0000001")
                .parallelism(Parallelism.NONE)
                .pattern(hybrid ? Optional.of(pattern.withoutPipes().text()) : Optional.empty())
                .state(new ModelState(entries, new LinkedHashMap<>()))
                .build();
    }

    private int hybridLayers(HybridPattern pattern) throws CheckpointException {
        List<LayerKind> kinds = pattern.layers();
        for (int layer = 0; layer < kinds.size(); layer++) {
            layers.add("decoder.layers." + layer + ".", kinds.get(layer));
        }
        return kinds.size();
    }

    private int transformerLayers(HybridPattern pattern) throws CheckpointException {
        GptPairing pairs = GptPairing.of(pattern);
        for (int layer = 0; layer < pairs.attention().size(); layer++) {
            String prefix = "decoder.layers." + layer + ".";
            layers.add(prefix, LayerKind.ATTENTION);
            layers.add(prefix, pattern.layers().get(pairs.feedForward().get(layer)));
        }
        return pairs.attention().size();
    }

    /** A block that predicts one token further; inside of a Transformer's block there is one layer of both parts. */
    private void prediction(String prefix, List<LayerKind> kinds, boolean hybrid) throws CheckpointException {
        tensors.norm(prefix + "enorm.weight", spec.hidden());
        tensors.norm(prefix + "hnorm.weight", spec.hidden());
        tensors.weight(prefix + "eh_proj.weight", spec.hidden(), 2 * spec.hidden());
        for (int layer = 0; layer < kinds.size(); layer++) {
            String inner = prefix + "mtp_model_layer." + (hybrid ? "layers." + layer + "." : "");
            layers.add(inner, kinds.get(layer));
        }
        tensors.norm(prefix + "final_layernorm.weight", spec.hidden());
    }
}
