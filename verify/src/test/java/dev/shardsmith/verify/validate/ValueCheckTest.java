package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;
import java.util.List;
import org.junit.jupiter.api.Test;

class ValueCheckTest {
    private static long buffers() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getCount)
                .sum();
    }

    @Test
    void aThreadReadsAllTensorsIntoItsOwnBuffers() throws Exception {
        ModelView view =
                Altered.sample(SampleSpec.of("M-M-M-M-", 64, DType.F32, 7)).view();
        long before = buffers();
        new ValueCheck(view, false, new Findings()).check(1);
        assertThat(view.tensors()).hasSizeGreaterThan(50);
        assertThat(buffers() - before).isLessThan(10);
    }

    @Test
    void layersThatShareATensorAreNamedInTheOrderOfTheModel() throws Exception {
        List<Finding> findings = Altered.sample("MM--MM")
                .copied(5, 0)
                .copied(4, 1)
                .copied(2, 3)
                .validate()
                .findings();
        assertThat(findings.stream()
                        .filter(finding -> finding.code().equals("layers.repeated"))
                        .map(Finding::message))
                .containsExactly(
                        "layers [0, 5] have the same weights, bit for bit",
                        "layers [1, 4] have the same weights, bit for bit",
                        "layers [2, 3] have the same weights, bit for bit");
    }

    @Test
    void tensorsOfEqualContentButOtherNameOrShapeAreNoRepetition() throws Exception {
        RepeatedLayers layers = new RepeatedLayers();
        String[] names = {"decoder.layers.0.a", "decoder.layers.1.b", "decoder.layers.2.a", "decoder.layers.3.a", "a"};
        long[] rows = {4, 4, 8, 4, 4};
        double[] means = {1, 1, 1, 2, 1};
        for (int i = 0; i < names.length; i++) {
            layers.add(LogicalTensor.lazy(names[i], DType.F32, Shape.of(rows[i], 2), "whole", List::of), 77, means[i]);
        }
        Findings findings = new Findings();
        layers.report(findings);
        assertThat(findings.all()).isEmpty();
    }
}
