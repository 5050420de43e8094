package dev.shardsmith.reshard.completeness;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a model lacks is found by name, and a whole model lacks nothing. */
class CompletenessTest {

    @ParameterizedTest
    @ValueSource(strings = {"M-*M", "ME*E", "MM", "+-+E", "G-GE", "ME*-G", "M-*M/*-/*-", "M|-*|M"})
    void wholeSamplesLackNothing(String pattern) throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of(pattern, 64, DType.F32, 1))) {
            assertThat(Completeness.of(view)).isEmpty();
        }
    }

    static Stream<Path> checkpoints() throws IOException {
        List<Path> roots = new ArrayList<>();
        for (String kind : List.of("megatron-legacy", "megatron-torch-dist", "hf", "mamba-ssm-tp")) {
            try (Stream<Path> files = Files.walk(TestData.path(kind), 3)) {
                files.filter(CompletenessTest::opens).forEach(roots::add);
            }
        }
        return roots.stream();
    }

    private static boolean opens(Path folder) {
        if (!Files.isDirectory(folder)) {
            return false;
        }
        try (ModelView view = Checkpoints.open(folder, OpenOptions.defaults())) {
            return view.family() != ModelView.Family.PLAIN;
        } catch (IOException none) {
            return false;
        }
    }

    @ParameterizedTest
    @MethodSource("checkpoints")
    void whatRealLibrariesWroteLacksNothing(Path root) throws Exception {
        try (ModelView view = Checkpoints.open(root, OpenOptions.defaults())) {
            assertThat(Completeness.of(view)).isEmpty();
        }
    }

    /** Each tensor of a model of all kinds of layer in turn. */
    @ParameterizedTest
    @ValueSource(strings = {"ME*-GME*-G", "*-G", "M+-E+GME", "MM/*-"})
    void anyOneTensorIsMissed(String pattern) throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of(pattern, 64, DType.F32, 1))) {
            for (String name : view.tensors().keySet()) {
                assertThat(names(view, name::equals)).as(name).containsExactly(name);
            }
        }
    }

    @Test
    void anyOneTensorOfATransformerIsMissed() throws Exception {
        SampleSpec plain = SampleSpec.of("*-*-", 64, DType.F32, 1);
        try (ModelView view = SampleModel.of(plain.as(SampleSpec.Kind.TRANSFORMER, plain.latent(), plain.delta()))) {
            for (String name : view.tensors().keySet()) {
                assertThat(names(view, name::equals)).as(name).containsExactly(name);
            }
            assertThat(names(view, name -> name.startsWith("decoder.layers.1.self_attention.")))
                    .containsExactly("decoder.layers.1.self_attention.*");
            assertThat(names(view, name -> name.startsWith("decoder.layers.1.")))
                    .containsExactly("decoder.layers.1.*");
        }
    }

    @Test
    void aLostLayerIsNamedWhereverItWas() throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("M-*M", 64, DType.F32, 1))) {
            assertThat(gaps(view, name -> name.startsWith("decoder.layers.1.")))
                    .containsExactly(new Gap(Gap.Kind.LAYER, "decoder.layers.1.*", "layers behind it are there"));
            assertThat(gaps(view, name -> name.startsWith("decoder.layers.3.")))
                    .containsExactly(new Gap(
                            Gap.Kind.LAST_LAYER,
                            "decoder.layers.3.*",
                            "the saved pattern has 4 layers, the files hold 3"));
        }
    }

    @Test
    void whatOnlySomeLayersHaveTheOthersLack() throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("MMM", 64, DType.F32, 1))) {
            Predicate<String> mostBiases = name -> name.matches("decoder\\.layers\\.[12]\\.mixer\\.conv1d_bias");
            assertThat(gaps(view, mostBiases))
                    .extracting(Gap::name, Gap::reason)
                    .containsExactly(
                            tuple("decoder.layers.1.mixer.conv1d_bias", "1 of 3 Mamba layers have it"),
                            tuple("decoder.layers.2.mixer.conv1d_bias", "1 of 3 Mamba layers have it"));
            Predicate<String> allBiases = name -> name.endsWith("conv1d_bias");
            assertThat(gaps(view, allBiases)).isEmpty();
        }
    }

    @Test
    void anotherSpellingInSomeLayersIsNoGap() throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("MM", 64, DType.F32, 1))) {
            ModelViewBuilder builder = builder(view);
            view.tensors().values().forEach(tensor -> {
                boolean second = tensor.name().startsWith("decoder.layers.1.");
                builder.add(second ? tensor.named(tensor.name().replace("conv1d_", "conv1d.")) : tensor);
            });
            assertThat(Completeness.of(builder.build())).isEmpty();
        }
    }

    @Test
    void tensorsOfStrangersArePartOfNoConsensus() throws Exception {
        try (ModelView view = SampleModel.of(SampleSpec.of("MM", 64, DType.F32, 1))) {
            LogicalTensor any = view.tensors().get("decoder.layers.0.mixer.D");
            ModelViewBuilder builder = builder(view);
            view.tensors().values().forEach(builder::add);
            builder.add(any.named("decoder.layers.0.mixer.adapter.weight"));
            assertThat(Completeness.of(builder.build())).isEmpty();
        }
    }

    private static List<String> names(ModelView whole, Predicate<String> lost) {
        return gaps(whole, lost).stream().map(Gap::name).toList();
    }

    private static List<Gap> gaps(ModelView whole, Predicate<String> lost) {
        ModelViewBuilder builder = builder(whole);
        for (Map.Entry<String, LogicalTensor> tensor : whole.tensors().entrySet()) {
            if (!lost.test(tensor.getKey())) {
                builder.add(tensor.getValue());
            }
        }
        return Completeness.of(builder.build());
    }

    private static ModelViewBuilder builder(ModelView whole) {
        return new ModelViewBuilder(whole.path(), whole.files(), whole.layout())
                .family(whole.family())
                .pattern(whole.pattern())
                .config(whole.config())
                .state(whole.state());
    }
}
