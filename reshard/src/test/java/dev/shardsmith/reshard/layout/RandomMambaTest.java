package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.family.MambaDivisions;
import dev.shardsmith.reshard.layout.SlowMamba.Held;
import dev.shardsmith.reshard.layout.SlowMamba.Parameter;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.testdata.Cases;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Random models of the reference implementation among random ranks, against an oracle that deals rows out like cards. */
class RandomMambaTest {
    private int divided;
    private int refused;

    @Test
    void everyDivisionIsThatOfASlowOracle() {
        Cases.forAll(1000, random -> check(SlowMamba.random(random), 1 + random.nextInt(8)));
        assertThat(divided).isGreaterThan(250);
        assertThat(refused).isGreaterThan(250);
    }

    @Test
    @Tag("soak")
    void everyDivisionIsThatOfASlowOracleManyTimes() {
        Cases.forAll(20_000, random -> check(SlowMamba.random(random), 1 + random.nextInt(8)));
    }

    private void check(SlowMamba.Spec spec, int world) {
        SlowMamba whole = SlowMamba.of(spec, 1);
        SlowMamba oracle = SlowMamba.of(spec, world);
        MambaConfig config = new MambaConfig(whole.config());
        Optional<Long> multiple = Optional.of((long) spec.mlpUnit());
        Map<String, Shape> shapes = new LinkedHashMap<>();
        whole.parameters().forEach(parameter -> shapes.put(parameter.name(), Shape.of(parameter.shape())));
        if (!oracle.legal()) {
            refused++;
            assertThatThrownBy(() -> MambaDivisions.planned(shapes, config, world, multiple, List.of()))
                    .as(spec + " on " + world)
                    .isInstanceOf(CheckpointException.class)
                    .hasMessageContaining("sizes that divide it: 1");
            return;
        }
        divided++;
        try {
            MambaDivisions planned = MambaDivisions.planned(shapes, config, world, multiple, List.of());
            assertThat(planned.unknown()).isEmpty();
            List<Map<String, Shape>> ranks = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                ranks.add(new LinkedHashMap<>());
                for (Parameter parameter : oracle.parameters()) {
                    if (parameter.held() != Held.BY_RANK_ZERO || rank == 0) {
                        ranks.get(rank).put(parameter.name(), local(parameter, rank));
                    }
                }
            }
            MambaDivisions measured = MambaDivisions.measured(ranks, measurable(spec, config), List.of());
            assertThat(measured.unknown()).isEmpty();
            assertThat(measured.shapes()).isEqualTo(shapes);
            for (Parameter parameter : oracle.parameters()) {
                for (int rank = 0; rank < world; rank++) {
                    compare(parameter, planned.divisions().get(parameter.name()), rank, world);
                    compare(parameter, measured.divisions().get(parameter.name()), rank, world);
                }
            }
        } catch (CheckpointException e) {
            throw new AssertionError(spec + " on " + world + ": " + e.getMessage(), e);
        }
    }

    /** The config without the MLP's width where that is no multiple of 128, which no config can say. */
    private static MambaConfig measurable(SlowMamba.Spec spec, MambaConfig config) {
        Map<String, Object> fields = new LinkedHashMap<>(config.fields());
        if (spec.mlpUnits() * spec.mlpUnit() % 128 != 0) {
            fields.remove("d_intermediate");
        }
        return new MambaConfig(fields);
    }

    private static Shape local(Parameter parameter, int rank) {
        Shape whole = Shape.of(parameter.shape());
        return switch (parameter.held()) {
            case BY_ROWS, BY_COLUMNS ->
                whole.with(parameter.axis(), parameter.heldBy(rank).size());
            case EVERYWHERE, BY_RANK_ZERO -> whole;
        };
    }

    private static void compare(Parameter parameter, Division division, int rank, int world) {
        Shape whole = Shape.of(parameter.shape());
        String what = parameter.name() + " on rank " + rank + " of " + world;
        assertThat(division.heldBy(rank)).as(what).isEqualTo(parameter.held() != Held.BY_RANK_ZERO || rank == 0);
        if (!division.heldBy(rank)) {
            return;
        }
        assertThat(division.localShape(whole, rank, world)).as(what).isEqualTo(local(parameter, rank));
        int axis = parameter.axis();
        List<Long> found = new ArrayList<>();
        for (Placement placement : division.placements(whole, rank, world)) {
            assertThat(placement.local()[axis]).as(what).isEqualTo(found.size());
            for (long line = 0; line < placement.logical().size()[axis]; line++) {
                found.add(placement.logical().offset()[axis] + line);
            }
        }
        assertThat(found).as(what).isEqualTo(parameter.heldBy(rank));
    }
}
