package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stages that nobody asks to change stay as they are, and the saved options go on describing them. */
class KeptStagesTest {
    @TempDir
    Path folder;

    @Test
    void countsOfTheFirstAndTheLastStageStay() throws Exception {
        Path uneven = sample("M*M*M*M*", SampleSpec.Kind.HYBRID, o -> {
            o.pipeline = OptionalInt.of(3);
            o.pipelineLayers = List.of(1, 3, 4);
            o.set.put("decoder_first_pipeline_num_layers", "1");
            o.set.put("decoder_last_pipeline_num_layers", "4");
            o.set.put("hybrid_layer_pattern", "M*M*M*M*");
        });
        Path wider = convert(uneven, o -> o.tensor = OptionalInt.of(2));
        assertThat(layers(wider)).containsExactly(List.of(0), List.of(1, 2, 3), List.of(4, 5, 6, 7));
        try (ModelView view = open(wider)) {
            var args = view.state().args().orElseThrow();
            assertThat(args.text("hybrid_layer_pattern")).hasValue("M*M*M*M*");
            assertThat(args.integer("decoder_first_pipeline_num_layers")).hasValue(1);
            assertThat(args.integer("decoder_last_pipeline_num_layers")).hasValue(4);
        }
        Path other = convert(uneven, o -> o.pipeline = OptionalInt.of(2));
        assertThat(layers(other)).containsExactly(List.of(0, 1, 2, 3), List.of(4, 5, 6, 7));
        try (ModelView view = open(other)) {
            var args = view.state().args().orElseThrow();
            assertThat(args.integer("decoder_first_pipeline_num_layers")).isEmpty();
            assertThat(args.integer("decoder_last_pipeline_num_layers")).isEmpty();
        }
    }

    @Test
    void stagesThatTheFilesShowStayWhereNothingDescribesThem() throws Exception {
        Path uneven = sample("M*M*", SampleSpec.Kind.HYBRID, o -> {
            o.pipeline = OptionalInt.of(2);
            o.pipelineLayers = List.of(3, 1);
            o.set.put("hybrid_layer_pattern", "M*M*");
        });
        Path wider = convert(uneven, o -> o.tensor = OptionalInt.of(2));
        assertThat(layers(wider)).containsExactly(List.of(0, 1, 2), List.of(3));
        try (ModelView view = open(wider)) {
            assertThat(view.pattern()).hasValue("M*M|*");
        }
    }

    @Test
    void unevenStagesOfATransformerAreDescribedByItsEdges() throws Exception {
        Path gpt = sample("*-*-*-*-*-*-*-", SampleSpec.Kind.TRANSFORMER, o -> o.pipeline = OptionalInt.of(3));
        assertThat(layers(gpt)).containsExactly(List.of(0, 1, 2), List.of(3, 4), List.of(5, 6));
        try (ModelView view = open(gpt)) {
            var args = view.state().args().orElseThrow();
            assertThat(args.integer("decoder_first_pipeline_num_layers")).isEqualTo(OptionalLong.of(3));
            assertThat(args.integer("decoder_last_pipeline_num_layers")).isEqualTo(OptionalLong.of(2));
            assertThat(view.pattern()).isEmpty();
        }
        assertThatThrownBy(() -> convert(gpt, o -> {
                    o.pipeline = OptionalInt.of(4);
                    o.pipelineLayers = List.of(1, 3, 2, 1);
                }))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("the first and the last stage only");
    }

    /** The stages in model order, each with the numbers of its layers. */
    private static List<List<Integer>> layers(Path root) throws IOException {
        List<List<Integer>> stages = new ArrayList<>();
        try (ModelView view = open(root)) {
            for (var rank : view.ranks()) {
                if (rank.tensor() == 0) {
                    Set<Integer> held = new LinkedHashSet<>();
                    rank.tensors()
                            .keySet()
                            .forEach(name -> MegatronName.parse(name).layer().ifPresent(held::add));
                    stages.add(List.copyOf(held).stream().sorted().toList());
                }
            }
        }
        return stages;
    }

    private static ModelView open(Path root) throws IOException {
        return Checkpoints.open(root, OpenOptions.defaults());
    }

    private Path sample(String pattern, SampleSpec.Kind kind, Consumer<ConversionOptions.Builder> change)
            throws IOException {
        SampleSpec usual = SampleSpec.of(pattern, 256, DType.BF16, 1);
        try (ModelView view = SampleModel.of(usual.as(kind, usual.latent(), usual.delta()))) {
            return write(view, change);
        }
    }

    private Path convert(Path from, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = open(from)) {
            return write(view, change);
        }
    }

    private Path write(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(ModelView.Layout.MEGATRON);
        change.accept(options);
        Path out = Files.createTempDirectory(folder, "case").resolve("out");
        PlanExecutor.execute(Conversion.plan(view, options.build()), out, ExecutionOptions.defaults());
        return out;
    }
}
