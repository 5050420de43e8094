package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.family.MambaDivisions;
import dev.shardsmith.reshard.family.MambaDivisions.Extent;
import dev.shardsmith.reshard.layout.SlowMamba.Held;
import dev.shardsmith.reshard.layout.SlowMamba.Parameter;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.CountedWeights;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.random.RandomGenerator;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Random models of the reference implementation among random ranks, against an oracle that deals rows out like cards. */
class RandomMambaTest {
    @TempDir
    Path folder;

    private int divided;
    private int refused;

    @Test
    void everyDivisionIsThatOfASlowOracle() {
        Cases.forAll(1000, random -> check(MambaNumbers.random(random), 1 + random.nextInt(8)));
        assertThat(divided).isGreaterThan(250);
        assertThat(refused).isGreaterThan(250);
    }

    @Test
    @Tag("soak")
    void everyDivisionIsThatOfASlowOracleManyTimes() {
        Cases.forAll(20_000, random -> check(MambaNumbers.random(random), 1 + random.nextInt(8)));
    }

    @Test
    void everyModelGoesThroughRankFilesAndBackBitForBit() {
        Cases.forAll(40, random -> {
            MambaNumbers spec = MambaNumbers.random(random, 128);
            Path root = Files.createTempDirectory(folder, "case");
            Path source = root.resolve("whole");
            SlowMamba whole = SlowMamba.of(spec, 1);
            Map<String, long[]> shapes = new LinkedHashMap<>();
            whole.parameters().stream()
                    .filter(parameter -> !spec.tied() || !parameter.name().equals("lm_head.weight"))
                    .forEach(parameter -> shapes.put(parameter.name(), parameter.shape()));
            CountedWeights.write(source.resolve("model.safetensors"), shapes);
            Files.writeString(source.resolve("config.json"), Json.write(spec.config()));
            int first = legal(spec, random);
            int second = legal(spec, random);
            convert(source, root.resolve("a"), first);
            checkFiles(SlowMamba.of(spec, first), first, shapes, root.resolve("a"));
            convert(root.resolve("a"), root.resolve("b"), second);
            checkFiles(SlowMamba.of(spec, second), second, shapes, root.resolve("b"));
            convert(root.resolve("b"), root.resolve("c"), 1);
            checkFiles(SlowMamba.of(spec, 1), 1, shapes, root.resolve("c"));
        });
    }

    private static int legal(MambaNumbers spec, RandomGenerator random) {
        int world = 1 + random.nextInt(8);
        while (!SlowMamba.of(spec, world).legal()) {
            world--;
        }
        return world;
    }

    private static void convert(Path from, Path to, int world) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(Layout.MAMBA_SSM);
        options.tensor = OptionalInt.of(world);
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            assertThat(source.warnings()).isEmpty();
            PlanExecutor.execute(Conversion.plan(source, options.build()), to, ExecutionOptions.defaults());
        }
    }

    /** Each rank's file by itself: its names, and of every element the number that it had in the whole model. */
    private static void checkFiles(SlowMamba oracle, int world, Map<String, long[]> shapes, Path folder)
            throws IOException {
        for (int rank = 0; rank < world; rank++) {
            Path file = folder.resolve(world == 1 ? "pytorch_model.bin" : "rank_" + rank + ".pt");
            Map<String, StoredTensor> found = new LinkedHashMap<>();
            try (FilePool pool = new FilePool()) {
                for (NamedTensor tensor : TorchFile.open(pool, file).tensors()) {
                    found.put(tensor.name(), tensor.tensor().data().orElseThrow());
                }
                long start = 0;
                for (Parameter parameter : oracle.parameters()) {
                    String name = parameter.name();
                    boolean held = parameter.held() != Held.BY_RANK_ZERO || rank == 0;
                    boolean own = shapes.containsKey(name);
                    // The tied head is there under its name, on the embedding's bytes.
                    boolean alias = !own && shapes.containsKey("backbone.embedding.weight");
                    assertThat(found.containsKey(name)).as(name).isEqualTo(held && (own || alias));
                    if (held && own) {
                        assertThat(numbers(found.get(name)))
                                .as(name + " in " + file.getFileName() + " of " + world)
                                .isEqualTo(expected(parameter, rank, start));
                    }
                    start += own ? Shape.of(parameter.shape()).elements() : 0;
                }
            }
        }
    }

    private static float[] expected(Parameter parameter, int rank, long start) {
        long width = parameter.shape().length > 1
                ? Shape.of(parameter.shape()).elements() / parameter.shape()[0]
                : 1;
        List<Long> rows = parameter.heldBy(rank);
        List<Long> columns = new ArrayList<>();
        if (parameter.held() == Held.BY_COLUMNS) {
            columns = rows;
            rows = LongStream.range(0, parameter.shape()[0]).boxed().toList();
        } else {
            columns.addAll(LongStream.range(0, width).boxed().toList());
        }
        float[] numbers = new float[rows.size() * columns.size()];
        int at = 0;
        for (long row : rows) {
            for (long column : columns) {
                numbers[at++] = start + row * width + column;
            }
        }
        return numbers;
    }

    private static float[] numbers(StoredTensor tensor) throws IOException {
        assertThat(tensor.isRowMajor()).isTrue();
        FloatBuffer numbers = tensor.source()
                .readBuffer(tensor.offset(), (int) tensor.bytes())
                .asFloatBuffer();
        float[] found = new float[numbers.remaining()];
        numbers.get(found);
        return found;
    }

    private void check(MambaNumbers spec, int world) {
        SlowMamba whole = SlowMamba.of(spec, 1);
        SlowMamba oracle = SlowMamba.of(spec, world);
        MambaConfig config = new MambaConfig(spec.config());
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
            MambaDivisions measured = MambaDivisions.measured(ranks, measurable(spec, config), List.of(), Extent.RANKS);
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
    private static MambaConfig measurable(MambaNumbers spec, MambaConfig config) {
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
