package dev.shardsmith.verify.validate;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.launch.LaunchScript;
import dev.shardsmith.verify.validate.Finding.Severity;
import dev.shardsmith.verify.validate.LaunchRow.Verdict;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class LaunchCheckTest {
    private static final String LARGE = "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-";
    private static final String SMALL = "M-M-M--M-*M-M-M-M--*M-M-M-M-*M--M-M-M-*M-M--M-M-";

    /** Sizes that the published script gives, and no more. */
    private static SampleSpec published(String pattern, long hidden, long heads) {
        return new SampleSpec(
                pattern,
                hidden,
                256_000,
                heads,
                8,
                hidden / heads,
                hidden / 32,
                64,
                8,
                128,
                4 * hidden,
                false,
                false,
                false,
                true,
                true,
                1,
                1,
                0,
                false,
                DType.BF16,
                1);
    }

    private static String twoSizes() throws Exception {
        try (InputStream in = LaunchScript.class.getResourceAsStream("two-sizes.sh")) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    private static Validation check(Altered altered, String script, Map<String, String> variables) throws Exception {
        return Validator.validate(
                altered.view(),
                ValidateOptions.defaults()
                        .withoutValues()
                        .withLaunch(LaunchScript.parse("train.sh", script, variables)));
    }

    private static Altered model() throws Exception {
        return Altered.sample(new SampleSpec(
                        "M-M*",
                        64,
                        128,
                        8,
                        4,
                        8,
                        8,
                        16,
                        4,
                        8,
                        96,
                        true,
                        false,
                        false,
                        true,
                        true,
                        1,
                        1,
                        0,
                        false,
                        DType.BF16,
                        1))
                .layout(ModelView.Layout.TORCH_DIST);
    }

    private static final String GOOD = """
            --load ckpt --num-layers 4 --hidden-size 64 --ffn-hidden-size 96 --swiglu --num-attention-heads 8
            --group-query-attention --num-query-groups 4 --kv-channels 8 --mamba-num-heads 8 --mamba-head-dim 16
            --mamba-num-groups 4 --mamba-state-dim 8 --normalization RMSNorm --disable-bias-linear
            --untie-embeddings-and-output-weights --position-embedding-type none --max-position-embeddings 4096
            --hybrid-layer-pattern 'M-M*' --tokenizer-type NullTokenizer --bf16
            """;

    private static Validation check(String options) throws Exception {
        return check(model(), options, Map.of());
    }

    private static List<Finding> errors(Validation validation) {
        return validation.findings().stream()
                .filter(finding -> finding.severity() == Severity.ERROR)
                .toList();
    }

    private static Finding onlyError(String options) throws Exception {
        List<Finding> errors = errors(check(options));
        assertThat(errors).hasSize(1);
        return errors.get(0);
    }

    @Test
    void bothPublishedConfigurationsLoad() throws Exception {
        Validation small = check(
                Altered.sample(published(SMALL, 1024, 16)).layout(ModelView.Layout.TORCH_DIST), twoSizes(), Map.of());
        assertThat(errors(small)).isEmpty();
        assertThat(small.inferred()).contains(SMALL);
        Validation large = check(
                Altered.sample(published(LARGE, 4096, 32)).layout(ModelView.Layout.TORCH_DIST),
                twoSizes(),
                Map.of("MODEL_SCALE", "8B"));
        assertThat(errors(large)).isEmpty();
        assertThat(large.findings()).extracting(Finding::code).contains("launch.outdated");
        assertThat(large.launch())
                .filteredOn(row -> row.verdict() == Verdict.FAILS)
                .isEmpty();
    }

    @Test
    void theOtherSizeIsRefusedOptionByOption() throws Exception {
        Validation wrong = check(
                Altered.sample(published(LARGE, 4096, 32)).layout(ModelView.Layout.TORCH_DIST), twoSizes(), Map.of());
        assertThat(wrong.valid()).isFalse();
        assertThat(wrong.launch())
                .filteredOn(row -> row.verdict() == Verdict.FAILS)
                .extracting(LaunchRow::option)
                .contains("--hidden-size", "--num-attention-heads", "--hybrid-attention-ratio", "--ffn-hidden-size");
        LaunchRow hidden = wrong.launch().stream()
                .filter(row -> row.option().equals("--hidden-size"))
                .findFirst()
                .orElseThrow();
        assertThat(hidden)
                .isEqualTo(new LaunchRow("--hidden-size", 41, "1024", "4096", Verdict.FAILS, "--hidden-size 4096"));
    }

    @Test
    void fittingOptionsLoad() throws Exception {
        Validation validation = check(GOOD);
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.findings()).noneMatch(finding -> finding.severity() == Severity.WARNING);
        assertThat(validation.launch()).allMatch(row -> row.verdict() == Verdict.FITS);
        assertThat(validation.launch()).extracting(LaunchRow::option).contains("--swiglu", "--hybrid-layer-pattern");
    }

    @Test
    void everyWrongOptionIsNamedWithWhatToWriteInstead() throws Exception {
        assertThat(onlyError(GOOD.replace("--swiglu", "")).fix()).isEqualTo("add --swiglu");
        assertThat(onlyError(GOOD.replace("--disable-bias-linear", "")).fix()).isEqualTo("add --disable-bias-linear");
        assertThat(onlyError(GOOD.replace("--untie-embeddings-and-output-weights", ""))
                        .where())
                .isEqualTo("train.sh, without --untie-embeddings-and-output-weights");
        assertThat(onlyError(GOOD.replace("--ffn-hidden-size 96", "--ffn-hidden-size 128"))
                        .where())
                .isEqualTo("train.sh:1, --ffn-hidden-size");
        assertThat(onlyError(GOOD.replace("RMSNorm", "LayerNorm")).fix()).isEqualTo("--normalization RMSNorm");
        assertThat(onlyError(GOOD.replace("--num-layers 4 ", "").replace("M-M*", "M-MM"))
                        .fix())
                .isEqualTo("--hybrid-layer-pattern 'M-M*'");
        assertThat(onlyError(GOOD.replace("M-M*", "M-M*-")).message()).contains("5 layers here, 4 in the weights");
        assertThat(onlyError(GOOD.replace("--hybrid-layer-pattern 'M-M*'", "")).fix())
                .isEqualTo("--hybrid-layer-pattern 'M-M*'");
        assertThat(onlyError(GOOD + " --no-position-embedding").message()).contains("the run stops");
    }

    @Test
    void whatLoadsButComputesSomethingElseIsAnError() throws Exception {
        Finding finding = onlyError(GOOD.replace("--position-embedding-type none", "--position-embedding-type rope"));
        assertThat(finding.code()).isEqualTo("launch.behaviour");
        assertThat(finding.message()).contains("it loads, but computes something else");
        assertThat(errors(check(GOOD + " --norm-epsilon 0.00001"))).isEmpty();
        assertThat(onlyError(GOOD + " --norm-epsilon 1e-6").code()).isEqualTo("launch.behaviour");
    }

    @Test
    void theCheckpointsOwnArgumentsWinWhereTheRunTakesThem() throws Exception {
        Validation validation =
                check("--load ckpt --use-checkpoint-args --hidden-size 32 --num-layers 4 --bf16 --spec mamba x");
        assertThat(errors(validation)).isEmpty();
        assertThat(validation.launch())
                .filteredOn(row -> row.option().equals("--hidden-size"))
                .singleElement()
                .matches(row -> row.verdict() == Verdict.OVERRIDDEN);
    }

    @Test
    void filesOfRanksLoadOnlyWithTheirOwnSizes() throws Exception {
        Altered legacy = model().layout(ModelView.Layout.MEGATRON);
        String options = GOOD + " --no-load-rng --no-load-optim";
        assertThat(errors(check(legacy, options, Map.of()))).isEmpty();
        List<Finding> errors = errors(check(legacy, options + " --tensor-model-parallel-size 2", Map.of()));
        assertThat(errors).singleElement().matches(finding -> finding.code().equals("launch.size"));
        assertThat(errors.get(0).fix()).isEqualTo("shardsmith convert --tp 2, or --tensor-model-parallel-size 1");
        assertThat(errors(check(GOOD + " --tensor-model-parallel-size 2"))).isEmpty();
        assertThat(errors(check(legacy, GOOD, Map.of())))
                .extracting(Finding::fix)
                .containsExactly("add --no-load-rng or --finetune", "add --no-load-optim or --finetune");
        assertThat(errors(check(model().layout(ModelView.Layout.HUGGINGFACE), GOOD, Map.of())))
                .extracting(Finding::code)
                .containsExactly("launch.layout");
    }

    @Test
    void sizesMustDivideTheModelAndTheProcesses() throws Exception {
        assertThat(errors(check(GOOD + " --tensor-model-parallel-size 8")))
                .extracting(Finding::where)
                .containsExactly("mamba_num_groups");
        String run = "torchrun --nproc-per-node 3 pretrain_mamba.py " + GOOD.replace("\n", " ");
        assertThat(errors(check(run + " --tensor-model-parallel-size 2")))
                .extracting(Finding::code)
                .containsExactly("launch.processes");
    }

    @Test
    void aVocabularyIsPaddedAsTheRunWould() throws Exception {
        assertThat(check(GOOD + " --vocab-size 101").findings())
                .extracting(Finding::code)
                .doesNotContain("launch.vocabulary");
        Altered legacy = model().layout(ModelView.Layout.MEGATRON);
        List<Finding> errors = errors(check(legacy, GOOD + " --finetune --vocab-size 129", Map.of()));
        assertThat(errors).singleElement().matches(finding -> finding.fix().equals("convert --pad-vocab-to 256"));
    }

    @Test
    void variablesThatTheScriptDoesNotSetAreNamedAndNotGuessed() throws Exception {
        Validation validation =
                check(GOOD.replace("--hidden-size 64", "--hidden-size $WIDTH").replace("'M-M*'", "$PATTERN"));
        assertThat(validation.valid()).isTrue();
        assertThat(validation.launch())
                .filteredOn(row -> row.verdict() == Verdict.UNKNOWN)
                .extracting(LaunchRow::given)
                .containsExactly("${PATTERN}", "${WIDTH}");
        assertThat(validation.findings())
                .filteredOn(finding -> finding.code().equals("launch.unresolved"))
                .extracting(Finding::fix)
                .containsExactly("--hybrid-layer-pattern 'M-M*'", "--hidden-size 64");
    }

    @Test
    void slipsOfTheShellAreReported() throws Exception {
        assertThat(check(GOOD.replace("'M-M*'", "M-M*")).findings())
                .extracting(Finding::code)
                .contains("launch.quotes");
        assertThat(errors(check(GOOD.replace("--hybrid-layer-pattern 'M-M*'", "--hybrid-layer-pattern -M*"))))
                .extracting(Finding::code)
                .contains("launch.value");
        assertThat(check(GOOD.replace("--load ckpt", "")).findings())
                .extracting(Finding::code)
                .contains("launch.load");
    }
}
