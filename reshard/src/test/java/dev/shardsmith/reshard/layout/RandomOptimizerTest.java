package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.layout.RandomModelTest.Case;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.Cases;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Optimizer states of random models in random parallel layouts. */
class RandomOptimizerTest {
    @TempDir
    Path folder;

    /**
     * The state has other values than the model, so a tensor or an element at the place of another shows. Both models are
     * written by the same code; that the model's chunks are right is shown elsewhere, here the state must lie as the model does.
     */
    @Test
    void everyStateGoesThroughAnySizesBitForBitWithTheChunksOfItsParameter() {
        Cases.forAll(12, this::checkRoundTrip);
    }

    @Test
    @Tag("soak")
    void everyStateGoesThroughAnySizesBitForBitManyTimes() {
        Cases.forAll(500, this::checkRoundTrip);
    }

    private void checkRoundTrip(RandomGenerator random) throws IOException {
        Case first = RandomModelTest.randomCase(random);
        Case second = RandomModelTest.layoutOf(first.spec(), random);
        Path root = Files.createTempDirectory(folder, "case");
        Map<String, String> expected;
        try (ModelView sample = Optimizers.sample(first.spec(), random.nextBoolean())) {
            expected = Optimizers.digests(sample);
            write(sample, root.resolve("a"), first);
        }
        try (ModelView view = Checkpoints.open(root.resolve("a"), OpenOptions.defaults())) {
            assertThat(Optimizers.digests(view)).isEqualTo(new TreeMap<>(expected));
            write(view, root.resolve("b"), second);
        }
        try (ModelView view = Checkpoints.open(root.resolve("b"), OpenOptions.defaults())) {
            assertThat(Optimizers.digests(view)).isEqualTo(new TreeMap<>(expected));
            write(view, root.resolve("c"), first);
        }
        Map<String, String> chunks = StoredChunks.of(root.resolve("a"));
        assertThat(StoredChunks.of(root.resolve("c"))).isEqualTo(chunks);
        List<String> others = new ArrayList<>();
        chunks.forEach((key, boxes) -> {
            String parameter = key.replaceFirst("^(chained_\\d\\.)?optimizer\\.state\\.\\w+\\.", "");
            if (!boxes.equals(chunks.get(parameter))) {
                others.add(key + " " + boxes);
            }
        });
        assertThat(others).isEmpty();
    }

    private static void write(ModelView view, Path to, Case wanted) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        ConversionOptions sizes = RandomModelTest.options(wanted, Layout.TORCH_DIST);
        options.to = sizes.to();
        options.tensor = sizes.tensor();
        options.pipeline = sizes.pipeline();
        options.virtual = sizes.virtual();
        options.expert = sizes.expert();
        options.expertTensor = sizes.expertTensor();
        options.optimizer = Keep.KEEP;
        Plan plan = Conversion.plan(view, options.build());
        assertThat(plan.ledger().balanced()).isTrue();
        assertThat(plan.dropped()).isEmpty();
        PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
    }
}
