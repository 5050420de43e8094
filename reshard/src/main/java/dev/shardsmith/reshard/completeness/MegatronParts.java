package dev.shardsmith.reshard.completeness;

import dev.shardsmith.reshard.family.LayerSignature;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A model of Megatron's family, taken apart.
 *
 * @param model what belongs to no layer
 * @param layers the decoder's layers by number
 * @param inner the layers inside of prediction blocks, by prefix
 * @param blocks what prediction blocks have besides, by prefix
 */
record MegatronParts(
        LayerParts model,
        TreeMap<Integer, LayerParts> layers,
        Map<String, LayerParts> inner,
        Map<String, LayerParts> blocks) {

    static MegatronParts of(ModelView view) {
        MegatronParts parts =
                new MegatronParts(new LayerParts(""), new TreeMap<>(), new LinkedHashMap<>(), new LinkedHashMap<>());
        view.tensors().values().forEach(parts::add);
        return parts;
    }

    private void add(LogicalTensor tensor) {
        MegatronName name = MegatronName.parse(tensor.name());
        switch (name.scope()) {
            case MODEL -> model.add(tensor.name(), tensor);
            case LAYER ->
                layers.computeIfAbsent(name.layer().getAsInt(), number -> new LayerParts(name.prefix()))
                        .add(name.suffix(), tensor);
            case MTP_LAYER ->
                inner.computeIfAbsent(name.prefix(), LayerParts::new).add(name.suffix(), tensor);
            case MTP -> blocks.computeIfAbsent(name.prefix(), LayerParts::new).add(name.suffix(), tensor);
        }
    }

    /** The decoder's layers and those of predictions. */
    List<LayerParts> allLayers() {
        List<LayerParts> all = new ArrayList<>(layers.values());
        all.addAll(inner.values());
        return all;
    }

    /** Whether some layer has the two parts of a Transformer's. */
    boolean isTransformer() {
        return layers.values().stream()
                .anyMatch(layer -> LayerSignature.isTransformer(LayerSignature.kinds(layer::has)));
    }
}
