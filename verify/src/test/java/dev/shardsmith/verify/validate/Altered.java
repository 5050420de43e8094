package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.Parallelism;
import dev.shardsmith.reshard.view.RankShard;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A sample model with something changed, as a faulty tool would leave it. */
final class Altered {
    private final ModelView base;
    private final Map<String, LogicalTensor> tensors;
    private final Map<String, PyValue> args = new LinkedHashMap<>();
    private final List<String> withoutArgs = new ArrayList<>();
    private final List<List<Integer>> stages = new ArrayList<>();
    private ModelView.Layout layout = ModelView.Layout.MEGATRON;

    private Altered(ModelView base) {
        this.base = base;
        this.tensors = new LinkedHashMap<>(base.tensors());
    }

    static Altered sample(String pattern) throws Exception {
        return new Altered(SampleModel.of(SampleSpec.of(pattern, 64, DType.F32, 7)));
    }

    static Altered sample(SampleSpec spec) throws Exception {
        return new Altered(SampleModel.of(spec));
    }

    Altered without(String name) {
        if (tensors.remove(name) == null) {
            throw new IllegalArgumentException("no " + name);
        }
        return this;
    }

    Altered named(LogicalTensor tensor, String name) {
        tensors.put(name, tensor.named(name));
        return this;
    }

    Altered renamed(String from, String to) {
        Map<String, LogicalTensor> copy = new LinkedHashMap<>();
        tensors.forEach((name, tensor) ->
                copy.put(name.equals(from) ? to : name, name.equals(from) ? tensor.named(to) : tensor));
        tensors.clear();
        tensors.putAll(copy);
        return this;
    }

    /** A tensor of these sizes whose elements are all {@code value}. */
    Altered filled(String name, float value, long... sizes) throws Exception {
        Shape shape = Shape.of(sizes);
        float[] values = new float[Math.toIntExact(shape.elements())];
        java.util.Arrays.fill(values, value);
        return valued(name, shape, values);
    }

    Altered valued(String name, Shape shape, float... values) throws Exception {
        ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
        for (float value : values) {
            bytes.putFloat(value);
        }
        ByteSource source = ByteSource.of(name, bytes.array());
        tensors.put(name, LogicalTensor.whole(name, StoredTensor.contiguous(name, DType.F32, shape, source, 0)));
        return this;
    }

    /** The layer's tensors become those of another layer. */
    Altered copied(int from, int to) {
        String source = "decoder.layers." + from + ".";
        base.tensors().forEach((name, tensor) -> {
            if (name.startsWith(source)) {
                String target = "decoder.layers." + to + "." + name.substring(source.length());
                tensors.put(target, tensor.named(target));
            }
        });
        return this;
    }

    Altered arg(String field, Object value) {
        args.put(
                field,
                value instanceof Integer number
                        ? PyInt.of(number)
                        : value instanceof Boolean flag ? PyBool.of(flag) : new PyStr(value.toString()));
        return this;
    }

    Altered withoutArg(String field) {
        withoutArgs.add(field);
        return this;
    }

    Altered layout(ModelView.Layout other) {
        layout = other;
        return this;
    }

    /** The numbers of the layers of each stage. */
    Altered stages(List<List<Integer>> held) {
        stages.addAll(held);
        return this;
    }

    ModelView view() {
        Map<String, PyValue> fields = new LinkedHashMap<>();
        MegatronArgs saved = base.state().args().orElseThrow();
        saved.names().forEach(name -> saved.value(name).ifPresent(value -> fields.put(name, value)));
        fields.putAll(args);
        withoutArgs.forEach(fields::remove);
        Map<String, PyValue> entries = new LinkedHashMap<>(base.state().entries());
        entries.put("args", MegatronArgs.create(fields).node());
        ModelViewBuilder builder = new ModelViewBuilder(base.path(), base.files(), layout)
                .family(ModelView.Family.MEGATRON)
                .pattern(base.pattern())
                .state(new ModelState(entries, new IdentityHashMap<>()));
        if (!stages.isEmpty()) {
            builder.parallelism(new Parallelism(1, stages.size(), 1, 1, 1));
        }
        tensors.values().forEach(builder::add);
        for (int stage = 0; stage < stages.size(); stage++) {
            Map<String, LogicalTensor> held = new LinkedHashMap<>();
            for (int layer : stages.get(stage)) {
                String prefix = "decoder.layers." + layer + ".";
                tensors.forEach((name, tensor) -> {
                    if (name.startsWith(prefix)) {
                        held.put(name, tensor);
                    }
                });
            }
            builder.addRank(new RankShard(0, stage, 0, 0, held, ModelState.none()));
        }
        return builder.build();
    }

    Validation validate() throws Exception {
        return Validator.validate(view(), ValidateOptions.defaults());
    }
}
