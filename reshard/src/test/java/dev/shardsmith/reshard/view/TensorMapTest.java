package dev.shardsmith.reshard.view;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class TensorMapTest {
    private final TensorMap tensors = new TensorMap();
    private final Map<String, LogicalTensor> expected = new LinkedHashMap<>();

    @Test
    void isAMapInTheOrderInWhichTensorsCame() {
        for (int i = 0; i < 1000; i++) {
            LogicalTensor tensor = tensor("t" + i * 7919 % 1000, i);
            expected.put(tensor.name(), tensor);
            if (i % 2 == 0) {
                tensors.add(tensor);
            } else {
                tensors.append(tensor);
            }
        }

        assertThat(tensors).isEqualTo(expected).hasSize(1000);
        assertThat(List.copyOf(tensors.keySet())).isEqualTo(List.copyOf(expected.keySet()));
        assertThat(List.copyOf(tensors.values())).isEqualTo(List.copyOf(expected.values()));
        assertThat(List.copyOf(tensors.entrySet())).isEqualTo(List.copyOf(expected.entrySet()));
        assertThat(tensors.names()).isEqualTo(List.copyOf(expected.keySet()));
        assertThat(tensors.get("t3")).isSameAs(expected.get("t3"));
        assertThat(tensors.get("none")).isNull();
        assertThat(tensors.containsKey("t999")).isTrue();
        assertThat(tensors.keySet().contains("t1000")).isFalse();
    }

    @Test
    void aTensorOfANameThatIsThereTakesItsPlace() {
        LogicalTensor first = tensor("a", 1);
        LogicalTensor second = tensor("b", 2);
        LogicalTensor newer = tensor("a", 3);
        tensors.add(first);
        tensors.append(second);
        tensors.add(newer);

        assertThat(tensors.values()).containsExactly(newer, second);
    }

    private static LogicalTensor tensor(String name, long size) {
        return LogicalTensor.lazy(name, DType.F32, Shape.of(size), "whole", List::of);
    }
}
