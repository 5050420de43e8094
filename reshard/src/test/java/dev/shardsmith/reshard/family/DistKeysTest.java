package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class DistKeysTest {
    private static final DistNames NAMES = new DistNames(true, true, false, false);

    private final Map<String, Shape> stored = new LinkedHashMap<>();

    @Test
    void eachExpertOfAStackIsATensorAndExpertsOfTheirOwnKeepTheirNumbers() throws CheckpointException {
        stored.put("decoder.layers.1.mlp.experts.experts.linear_fc2.weight", Shape.of(2, 8, 4));
        stored.put("decoder.layers.0.mlp.experts.experts.12.linear_fc1.weight", Shape.of(4, 8));

        DistTensors tensors = read(List.of());

        assertThat(names(tensors))
                .containsExactly(
                        "decoder.layers.0.mlp.experts.linear_fc1.weight12",
                        "decoder.layers.1.mlp.experts.linear_fc2.weight0",
                        "decoder.layers.1.mlp.experts.linear_fc2.weight1");
        assertThat(tensors.shape(2)).isEqualTo(Shape.of(8, 4));
        assertThat(tensors.number(2)).isZero();
        assertThat(tensors.sources(2).get(0).leading()).containsExactly(1);
        assertThat(tensors.sources(0).get(0).leading()).isEmpty();
        assertThat(tensors.number(0)).isEqualTo(1);
    }

    @Test
    void expertsOfStackedLayersHaveTwoIndices() throws CheckpointException {
        stored.put("decoder.layers.mlp.experts.experts.linear_fc1.weight", Shape.of(2, 3, 8, 4));
        stored.put("decoder.layers.input_layernorm.weight", Shape.of(2, 8));

        DistTensors tensors = read(List.of());

        assertThat(names(tensors))
                .containsExactly(
                        "decoder.layers.0.input_layernorm.weight",
                        "decoder.layers.0.mlp.experts.linear_fc1.weight0",
                        "decoder.layers.0.mlp.experts.linear_fc1.weight1",
                        "decoder.layers.0.mlp.experts.linear_fc1.weight2",
                        "decoder.layers.1.input_layernorm.weight",
                        "decoder.layers.1.mlp.experts.linear_fc1.weight0",
                        "decoder.layers.1.mlp.experts.linear_fc1.weight1",
                        "decoder.layers.1.mlp.experts.linear_fc1.weight2");
        assertThat(tensors.sources(7).get(0).leading()).containsExactly(1, 2);
        assertThat(tensors.sources(4).get(0).leading()).containsExactly(1);
        assertThat(tensors.shape(7)).isEqualTo(Shape.of(8, 4));
    }

    @Test
    void partsAreOneTensorAndOtherThingsStandAmongTheTensors() throws CheckpointException {
        for (String part : List.of("dt", "x", "B", "C", "z")) {
            stored.put("decoder.layers.0.mixer.in_proj.weight." + part, Shape.of(part.equals("dt") ? 2 : 4, 8));
        }
        stored.put("output_layer.weight", Shape.of(16, 8));

        DistTensors tensors = read(List.of("decoder.layers.0.mixer.in_proj._extra_state"));

        assertThat(names(tensors))
                .containsExactly(
                        "decoder.layers.0.mixer.in_proj.weight",
                        "decoder.layers.0.mixer.in_proj._extra_state",
                        "output_layer.weight");
        assertThat(tensors.isOther(1)).isTrue();
        assertThat(tensors.isOther(0)).isFalse();
        assertThat(tensors.shape(0)).isEqualTo(Shape.of(18, 8));
        assertThat(tensors.sources(0).stream().mapToInt(DistSource::number)).containsExactly(4, 1, 2, 3, 0);
        assertThat(tensors.sources(0).stream().mapToLong(DistSource::base)).containsExactly(0L, 4L, 8L, 12L, 16L);
    }

    @Test
    void aTensorThatIsThereWholeAndInPartsIsRefused() {
        stored.put("decoder.layers.0.mlp.linear_fc1.weight", Shape.of(8, 4));
        stored.put("decoder.layers.0.mlp.linear_fc1.weight_w", Shape.of(4, 4));
        stored.put("decoder.layers.0.mlp.linear_fc1.weight_v", Shape.of(4, 4));

        assertThatThrownBy(() -> read(List.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("decoder.layers.0.mlp.linear_fc1.weight")
                .hasMessageContaining("stored whole and in parts");
    }

    @Test
    void moreLayersThanAnyModelHasAreRefusedBeforeMemoryRunsOut() {
        stored.put("decoder.layers.input_layernorm.weight", Shape.of(1L << 40, 0));

        assertThatThrownBy(() -> read(List.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("decoder.layers.input_layernorm.weight");
    }

    private DistTensors read(List<String> others) throws CheckpointException {
        return DistKeys.read(new Keys(stored), NAMES, others);
    }

    private static List<String> names(DistTensors tensors) {
        List<String> names = new ArrayList<>();
        for (int i = 0; i < tensors.size(); i++) {
            names.add(tensors.name(i));
        }
        return names;
    }

    private record Keys(Map<String, Shape> stored) implements StoredKeys {
        @Override
        public int size() {
            return stored.size();
        }

        @Override
        public String key(int number) {
            return List.copyOf(stored.keySet()).get(number);
        }

        @Override
        public NameTable names() {
            return NameTable.of(stored.keySet());
        }

        @Override
        public Shape shape(int number) {
            return List.copyOf(stored.values()).get(number);
        }

        @Override
        public boolean contains(String key) {
            return stored.containsKey(key);
        }
    }
}
