package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every checkpoint that the real libraries wrote is valid, and its pattern follows from its weights alone. */
class ValidatorGoldenTest {
    static Stream<Path> legacyTrees() throws IOException {
        List<Path> trees = new ArrayList<>();
        for (Path folder : TestData.cases("megatron-legacy")) {
            try (Stream<Path> entries = Files.list(folder)) {
                entries.filter(entry -> Files.exists(entry.resolve("latest_checkpointed_iteration.txt")))
                        .sorted()
                        .forEach(trees::add);
            }
        }
        return trees.stream();
    }

    private static Validation validate(Path tree, ValidateOptions options) throws IOException {
        try (ModelView view = Checkpoints.open(tree, OpenOptions.defaults())) {
            return Validator.validate(view, options);
        }
    }

    private static List<Finding> errors(Validation validation) {
        return validation.findings().stream()
                .filter(finding -> finding.severity() == Severity.ERROR)
                .toList();
    }

    @ParameterizedTest
    @MethodSource("legacyTrees")
    void legacyCheckpointsAreValidAndTellTheirPattern(Path tree) throws Exception {
        String pattern =
                TestData.expected(tree.getParent()).get("dims").get("pattern").asText();
        Validation validation = validate(tree, ValidateOptions.defaults().withPattern(pattern));
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.valid()).isTrue();
        assertThat(validation.inferred()).contains(pattern);
        assertThat(validation.saved()).contains(pattern);
        assertThat(validation.layers()).hasSize(pattern.length());
        for (LayerRow row : validation.layers()) {
            assertThat(row.found())
                    .isEqualTo(row.expected())
                    .isEqualTo(pattern.substring(row.layer(), row.layer() + 1));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "plain_bf16_tp1pp1",
                "plain_bf16_tp2pp1dp2",
                "plain_bf16_tp2pp2",
                "moe_swiglu_tied_tp2pp1",
                "swiglu_float16module_tp2pp1"
            })
    void distributedCheckpointsAreValidAndTellTheirPattern(String name) throws Exception {
        Path tree = TestData.path("megatron-torch-dist", name);
        Validation validation = validate(tree, ValidateOptions.defaults());
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.inferred()).isEqualTo(validation.saved()).isPresent();
    }

    /** NemotronH has an option for the biases of MLPs and another for those of attention, and Megatron one for both. */
    @Test
    void biasesOfMlpsAndAttentionAreIndependentInNemotronH() throws Exception {
        Path tree = TestData.path("hf-options", "nemotron_h_bias", "safetensors");
        Validation validation = validate(tree, ValidateOptions.defaults());
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.inferred()).isEqualTo(validation.saved()).isPresent();
    }

    @Test
    void theFileOfOneRankOverAnothersIsTold(@TempDir Path folder) throws Exception {
        Path tree = TestData.path("megatron-legacy", "older_plain_bf16", "tp2pp2");
        List<Path> all;
        try (Stream<Path> paths = Files.walk(tree)) {
            all = paths.toList();
        }
        for (Path path : all) {
            Files.copy(path, folder.resolve(tree.relativize(path).toString()), StandardCopyOption.REPLACE_EXISTING);
        }
        assertThat(errors(validate(folder, ValidateOptions.defaults()))).isEmpty();

        Path iteration = folder.resolve("iter_0000100");
        Files.copy(
                iteration.resolve("mp_rank_00_001/model_optim_rng.pt"),
                iteration.resolve("mp_rank_01_001/model_optim_rng.pt"),
                StandardCopyOption.REPLACE_EXISTING);
        assertThat(errors(validate(folder, ValidateOptions.defaults())))
                .filteredOn(finding -> finding.code().equals("ranks.copied"))
                .singleElement()
                .satisfies(finding -> assertThat(finding.where()).isEqualTo("TP ranks [0, 1], PP rank 1"));
    }

    @Test
    void normsThatDifferBetweenRanksAreMeasured() throws Exception {
        Path tree = TestData.path("megatron-legacy", "with_optimizer_fp32main_tp2");
        Validation validation = validate(tree, ValidateOptions.defaults());
        assertThat(validation.valid()).isFalse();
        assertThat(errors(validation))
                .extracting(Finding::code)
                .containsOnly("replicas.differ")
                .hasSize(4);
        assertThat(errors(validation).get(0).where()).isEqualTo("decoder.layers.0.mixer.in_proj.layer_norm_weight");
        assertThat(errors(validation).get(0).message()).contains("0.16796875");
    }

    @Test
    void aWrongPatternIsContradictedLayerByLayer() throws Exception {
        Path tree = TestData.path("megatron-legacy", "older_plain_bf16", "tp2pp2");
        Validation swapped = validate(tree, ValidateOptions.defaults().withPattern("M*-M"));
        assertThat(swapped.valid()).isFalse();
        assertThat(errors(swapped))
                .extracting(Finding::where)
                .containsExactly("layer 1, pp 0 vp 0 local 1", "layer 2, pp 1 vp 0 local 0");
        assertThat(errors(swapped).get(0).message())
                .isEqualTo("the given pattern says *, the weights say - (mlp.linear_fc1.weight)");
        Validation shorter = validate(tree, ValidateOptions.defaults().withPattern("M-*"));
        assertThat(errors(shorter)).extracting(Finding::code).containsExactly("pattern.length");
        assertThat(errors(shorter).get(0).message()).isEqualTo("the pattern has 3 layers, the weights have 4");
    }

    @Test
    void stagesOfTheFilesAreThoseOfTheTable() throws Exception {
        Path tree = TestData.path("megatron-legacy", "current_plain_bf16", "tp2pp2");
        Validation validation = validate(tree, ValidateOptions.defaults().withoutValues());
        assertThat(validation.layers()).extracting(LayerRow::pp).containsExactly(0, 0, 1, 1);
    }

    @Test
    void aHuggingFaceModelOfTheFamilyTellsItsPatternToo() throws Exception {
        Validation validation = validate(TestData.path("hf", "nemotron_h", "safetensors"), ValidateOptions.defaults());
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.inferred()).contains("M-M*EM-");
        assertThat(validation.saved()).contains("M-M*EM-");
    }
}
