package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.ConvNaming;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

/** An option either takes effect or is refused. */
class UnusableOptionsTest {
    private static final Path MEGATRON = TestData.path("megatron-legacy", "current_plain_bf16", "tp1pp1");
    private static final Path NEMOTRON = TestData.path("hf", "nemotron_h_nomoe", "safetensors");
    private static final Path MAMBA = TestData.path("hf", "mamba2", "safetensors");
    private static final Path PLAIN = TestData.path("pytorch-zip", "shared_storage", "model.pt");

    @Test
    void sizesAreRefusedWhereThereAreNoRanks() {
        refused(PLAIN, Layout.PT, o -> o.tensor = OptionalInt.of(2), "--tp");
        refused(PLAIN, Layout.PT, o -> o.pipelineLayers = List.of(1, 3), "--pp-layers");
        refused(NEMOTRON, Layout.HUGGINGFACE, o -> o.tensor = OptionalInt.of(2), "--tp");
        refused(NEMOTRON, Layout.SAFETENSORS, o -> o.virtual = OptionalInt.of(2), "--vpp");
        refused(MAMBA, Layout.MAMBA_SSM, o -> o.pipeline = OptionalInt.of(2), "--pp");
    }

    @Test
    void changesOfAModelAreRefusedWhereTensorsAreOnlyCopied() {
        refused(MEGATRON, Layout.SAFETENSORS, o -> o.stripPadding = true, "--strip-padding");
        refused(MEGATRON, Layout.PT, o -> o.padVocabularyTo = OptionalLong.of(64), "--pad-vocab-to");
        refused(MEGATRON, Layout.SAFETENSORS, o -> o.convNaming = ConvNaming.OLD, "--conv1d-naming");
        refused(MEGATRON, Layout.MEGATRON, o -> o.tie = Tie.MATERIALISE, "--tie");
        refused(MEGATRON, Layout.PT, o -> o.dropLayers = "M", "--drop-layers");
        refused(MEGATRON, Layout.TORCH_DIST, o -> o.experts = Optional.of(ExpertForm.FLAT), "--experts");
        refused(MEGATRON, Layout.MEGATRON, o -> o.maxShardSize = OptionalLong.of(4096), "--max-shard-size");
    }

    @Test
    void everythingThatIsRefusedIsNamedAtOnce() {
        refused(
                PLAIN,
                Layout.PT,
                o -> {
                    o.tensor = OptionalInt.of(2);
                    o.set.put("seed", "1");
                },
                "--tp, --set");
    }

    @Test
    void sizesOfOneAndUsableOptionsAreAccepted() {
        accepted(PLAIN, Layout.PT, o -> o.tensor = OptionalInt.of(1));
        accepted(NEMOTRON, Layout.HUGGINGFACE, o -> {
            o.tensor = OptionalInt.of(1);
            o.pipeline = OptionalInt.of(1);
            o.maxShardSize = OptionalLong.of(8192);
        });
        accepted(MAMBA, Layout.MAMBA_SSM, o -> o.tensor = OptionalInt.of(2));
        accepted(MEGATRON, Layout.MEGATRON, o -> {
            o.vocabulary = OptionalLong.of(30);
            o.stripPadding = true;
            o.convNaming = ConvNaming.OLD;
            o.pipeline = OptionalInt.of(2);
        });
    }

    @Test
    void layoutsThatAFamilyHasAreNamed() {
        assertThatThrownBy(() -> plan(PLAIN, Layout.HUGGINGFACE, o -> {}))
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).isEqualTo(Kind.REFUSED);
                    assertThat(e.hint()).hasValue("--to torch_dist, or --to safetensors, or --to pt");
                });
    }

    @Test
    void givenLayoutIsHeldAgainstTheContent() throws IOException {
        assertThatThrownBy(() -> open(MEGATRON, Layout.HUGGINGFACE))
                .isInstanceOfSatisfying(
                        CheckpointException.class,
                        e -> assertThat(e.hint().orElse("")).contains("--layout megatron"));
        try (ModelView view = open(MEGATRON, Layout.MEGATRON);
                ModelView file = open(MEGATRON.resolve("iter_0000100/mp_rank_00/model_optim_rng.pt"), Layout.PT)) {
            assertThat(view.layout()).isEqualTo(Layout.MEGATRON);
            assertThat(file.layout()).isEqualTo(Layout.PT);
        }
    }

    private static ModelView open(Path path, Layout layout) throws IOException {
        OpenOptions given = OpenOptions.defaults();
        return Checkpoints.open(
                path,
                new OpenOptions(
                        Optional.of(layout),
                        given.iteration(),
                        given.rules(),
                        given.allowMissing(),
                        given.filePattern(),
                        given.trailingBytes()));
    }

    private static void refused(Path path, Layout to, Consumer<ConversionOptions.Builder> change, String names) {
        assertThatThrownBy(() -> plan(path, to, change)).isInstanceOfSatisfying(CheckpointException.class, e -> {
            assertThat(e.kind()).isEqualTo(Kind.REFUSED);
            assertThat(e.problem()).endsWith(" to " + to.id() + " cannot do " + names);
        });
    }

    private static void accepted(Path path, Layout to, Consumer<ConversionOptions.Builder> change) {
        assertThatCode(() -> plan(path, to, change)).doesNotThrowAnyException();
    }

    private static void plan(Path path, Layout to, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(to);
        change.accept(options);
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            Conversion.plan(view, options.build());
        }
    }
}
