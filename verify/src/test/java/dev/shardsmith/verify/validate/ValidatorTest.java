package dev.shardsmith.verify.validate;

import static dev.shardsmith.verify.validate.OnlyFinding.ofSeverity;
import static dev.shardsmith.verify.validate.OnlyFinding.onlyError;
import static dev.shardsmith.verify.validate.OnlyFinding.onlyWarning;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.completeness.LayerKeys;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ValidatorTest {
    @Test
    void anUnchangedModelIsValid() throws Exception {
        Validation validation = Altered.sample("M-*EM").validate();
        assertThat(validation.findings()).extracting(Finding::severity).containsOnly(Severity.INFO);
        assertThat(validation.valid()).isTrue();
        assertThat(validation.inferred()).contains("M-*EM");
    }

    @Test
    void anyModelTellsItsPattern() {
        Cases.forAll(15, random -> {
            StringBuilder pattern = new StringBuilder();
            int layers = 1 + random.nextInt(12);
            for (int i = 0; i < layers; i++) {
                pattern.append("M*-E".charAt(random.nextInt(4)));
            }
            SampleSpec base = SampleSpec.of(pattern.toString(), 64, DType.BF16, random.nextInt());
            SampleSpec spec = new SampleSpec(
                    base.pattern(),
                    64,
                    128,
                    4,
                    2,
                    16,
                    8,
                    16,
                    4,
                    8,
                    96,
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    4,
                    32,
                    random.nextBoolean() ? 16 : 0,
                    random.nextBoolean(),
                    DType.BF16,
                    random.nextInt());
            Validation validation = Altered.sample(spec).validate();
            assertThat(ofSeverity(validation, Severity.ERROR)).isEmpty();
            assertThat(validation.inferred()).contains(pattern.toString());
        });
    }

    @Test
    void theLargePublishedModelHasItsLayers() throws Exception {
        String pattern = "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-";
        SampleSpec spec = new SampleSpec(
                pattern,
                4096,
                256_000,
                32,
                8,
                128,
                128,
                64,
                8,
                128,
                16_384,
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
        Validation validation = Validator.validate(
                Altered.sample(spec).view(), ValidateOptions.defaults().withoutValues());
        assertThat(validation.valid()).isTrue();
        assertThat(validation.layers()).hasSize(56);
        assertThat(count(validation, "M")).isEqualTo(24);
        assertThat(count(validation, "*")).isEqualTo(4);
        assertThat(count(validation, "-")).isEqualTo(28);
    }

    private static long count(Validation validation, String symbol) {
        return validation.layers().stream()
                .filter(row -> row.found().equals(symbol))
                .count();
    }

    @Test
    void aMissingParameterIsNamed() throws Exception {
        Finding missing = onlyError(Altered.sample("MM")
                .without("decoder.layers.1.mixer.D")
                .filled("decoder.layers.1.mixer.D", 1, 2)
                .without("decoder.layers.1.mixer.dt_bias"));
        assertThat(missing.code()).isEqualTo("keys.missing");
        assertThat(missing.where()).isEqualTo("decoder.layers.1.mixer.dt_bias");
    }

    @Test
    void aParameterWithTwoSpellingsIsRemarkedOn() throws Exception {
        Finding mixed = onlyWarning(Altered.sample("MM")
                .renamed("decoder.layers.0.mixer.conv1d_weight", "decoder.layers.0.mixer.conv1d.weight"));
        assertThat(mixed.code()).isEqualTo("keys.mixed");
    }

    @Test
    void aParameterThatOnlyMostLayersHaveIsNamed() throws Exception {
        Finding missing = onlyError(Altered.sample("MMM").without("decoder.layers.1.mixer.conv1d_bias"));
        assertThat(missing.where()).isEqualTo("decoder.layers.1.mixer.conv1d_bias");
        assertThat(missing.message()).isEqualTo("it is missing: 2 of 3 Mamba layers have it");
    }

    @Test
    void layersAtTheEndThatAToolHasLostAreMissed() throws Exception {
        Altered altered = Altered.sample("MMMMM");
        altered.view().tensors().keySet().stream()
                .filter(name -> name.startsWith("decoder.layers.4.")
                        || name.startsWith("decoder.final_norm")
                        || name.startsWith("output_layer"))
                .toList()
                .forEach(altered::without);
        List<Finding> errors = ofSeverity(altered.validate(), Severity.ERROR);
        assertThat(errors)
                .extracting(Finding::code)
                .containsExactlyInAnyOrder(
                        "layers.missing",
                        "keys.missing",
                        "keys.missing",
                        "pattern.length",
                        "args.weights",
                        "args.weights");
        assertThat(errors)
                .extracting(Finding::where)
                .contains(
                        "decoder.layers.4.*",
                        "decoder.final_norm.weight",
                        "output_layer.weight",
                        "args.num_layers",
                        "args.untie_embeddings_and_output_weights");
    }

    @Test
    void aGapInTheNumbersIsAnError() throws Exception {
        Altered altered = Altered.sample("MMM");
        altered.view().tensors().keySet().stream()
                .filter(name -> name.startsWith("decoder.layers.1."))
                .toList()
                .forEach(altered::without);
        assertThat(ofSeverity(altered.validate(), Severity.ERROR))
                .extracting(Finding::code)
                .contains("layers.missing");
    }

    @Test
    void twoStagesWithTheSameLayersAreNoticed() throws Exception {
        Finding repeated = onlyWarning(Altered.sample("MMMM").copied(0, 2));
        assertThat(repeated.code()).isEqualTo("layers.repeated");
        assertThat(repeated.message()).contains("layers [0, 2]");
    }

    @Test
    void keysOfAnotherKindOfLayerAreSurplus() throws Exception {
        Finding surplus = onlyError(Altered.sample("M-").filled("decoder.layers.1.mixer.norm.weight", 1, 128));
        assertThat(surplus.code()).isEqualTo("keys.surplus");
        assertThat(surplus.where()).isEqualTo("decoder.layers.1.mixer.norm.weight");
    }

    @Test
    void expertsAreCounted() throws Exception {
        Finding missing = ofSeverity(
                        Altered.sample("ME")
                                .without("decoder.layers.1.mlp.experts.linear_fc2.weight5")
                                .validate(),
                        Severity.ERROR)
                .get(0);
        assertThat(missing.code()).isEqualTo("experts.count");
        assertThat(missing.message()).isEqualTo("it is missing: the router chooses among 8 experts, but 7 are there");
        assertThat(onlyError(Altered.sample("ME").arg("num_experts", 4)).message())
                .contains("the weights say 8");
    }

    @Test
    void valuesThatAreNoNumbersAreErrors() throws Exception {
        Finding broken = onlyError(Altered.sample("M")
                .valued("decoder.final_norm.weight", Shape.of(64), ones(64, Float.NaN, Float.NEGATIVE_INFINITY)));
        assertThat(broken.code()).isEqualTo("values.nonfinite");
        assertThat(broken.message()).isEqualTo("1 of 64 values are NaN, 1 infinite");
    }

    private static float[] ones(int count, float... first) {
        float[] values = new float[count];
        java.util.Arrays.fill(values, 1);
        System.arraycopy(first, 0, values, 0, first.length);
        return values;
    }

    @Test
    void valuesOfTheWrongFormAreSuspected() throws Exception {
        String decay = "decoder.layers.0.mixer.A_log";
        assertThat(onlyWarning(Altered.sample("M").valued(decay, Shape.of(2), -1.5f, -12f))
                        .message())
                .contains("looks like A = -exp(A_log)");
        assertThat(onlyWarning(Altered.sample("M").valued(decay, Shape.of(2), 2f, 15f))
                        .message())
                .contains("looks like exp(A_log)");
        assertThat(onlyWarning(Altered.sample("M").valued("decoder.layers.0.mixer.dt_bias", Shape.of(2), 0.01f, 0.05f))
                        .code())
                .isEqualTo("values.dt-bias");
        assertThat(onlyWarning(Altered.sample("M").filled("output_layer.weight", 0, 1024, 64))
                        .code())
                .isEqualTo("values.constant");
        assertThat(onlyWarning(Altered.sample("M").filled("decoder.final_norm.weight", 0, 64))
                        .code())
                .isEqualTo("values.norm");
        assertThat(ofSeverity(
                        Altered.sample("M").arg("apply_layernorm_1p", true).validate(), Severity.WARNING))
                .isNotEmpty()
                .extracting(Finding::code)
                .containsOnly("values.norm");
    }

    @Test
    void everyReasonAgainstATensorParallelSizeIsGiven() throws Exception {
        SampleSpec spec = new SampleSpec(
                "M*-", 64, 120, 8, 2, 8, 8, 16, 4, 8, 96, false, false, false, true, true, 1, 1, 0, false, DType.F32,
                3);
        Validation eight = Validator.validate(
                Altered.sample(spec).view(),
                ValidateOptions.defaults().withoutValues().withTarget(OptionalInt.of(8), OptionalInt.of(2)));
        assertThat(ofSeverity(eight, Severity.ERROR)).extracting(Finding::where).containsExactly("mamba_num_groups");
        assertThat(ofSeverity(eight, Severity.ERROR).get(0).message())
                .isEqualTo(
                        "mamba_num_groups 4 does not divide by TP 8: every rank needs at least one group of B and C");
        assertThat(ofSeverity(eight, Severity.WARNING))
                .extracting(Finding::code)
                .containsExactly("target.pp");
        Validation three = Validator.validate(
                Altered.sample(spec).view(),
                ValidateOptions.defaults().withoutValues().withTarget(OptionalInt.of(3), OptionalInt.empty()));
        assertThat(ofSeverity(three, Severity.ERROR))
                .extracting(Finding::where)
                .containsExactly("mamba_num_heads", "mamba_num_groups", "num_attention_heads", "num_query_groups");
        Validation four = Validator.validate(
                Altered.sample(spec).view(),
                ValidateOptions.defaults().withoutValues().withTarget(OptionalInt.of(4), OptionalInt.of(3)));
        assertThat(four.valid()).isTrue();
    }

    @Test
    void aGivenPatternThatIsNoneIsRefused() throws Exception {
        Altered altered = Altered.sample("M-");
        assertThatThrownBy(() -> Validator.validate(
                        altered.view(), ValidateOptions.defaults().withPattern("Mq")))
                .hasMessageContaining("column 2");
    }

    @Test
    void layersOfEveryKindAreKnownByTheirKeys() throws Exception {
        for (LayerKind kind : LayerKind.values()) {
            Altered altered = Altered.sample("M");
            altered.view().tensors().keySet().stream()
                    .filter(name -> name.startsWith("decoder.layers."))
                    .toList()
                    .forEach(altered::without);
            for (List<String> names : LayerKeys.required(kind)) {
                altered.filled("decoder.layers.0." + names.get(0), 0.5f, 8, 64);
            }
            altered.filled("decoder.layers.0.mlp.experts.linear_fc1.weight0", 0.5f, 8, 64);
            if (kind != LayerKind.EXPERTS) {
                altered.without("decoder.layers.0.mlp.experts.linear_fc1.weight0");
            }
            Validation validation = Validator.validate(
                    altered.view(), ValidateOptions.defaults().withoutValues());
            assertThat(validation.inferred()).contains(Character.toString(kind.symbol()));
            assertThat(ofSeverity(validation, Severity.ERROR))
                    .extracting(Finding::code)
                    .doesNotContain("keys.missing", "layer.kind");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "8, 4, 1, ''",
        "8, 4, 2, ''",
        "8, 4, 4, ''",
        "8, 4, 8, mamba_num_groups",
        "8, 1, 4, mamba_num_groups",
        "6, 3, 5, mamba_num_heads mamba_num_groups",
        "6, 3, 3, ''",
        "16, 8, 4, ''",
    })
    void headsAndGroupsDecideWhichSizesAreAccepted(int heads, int groups, int tensor, String refused) throws Exception {
        SampleSpec spec = new SampleSpec(
                "M", 64, 1920, 8, 8, 8, heads, 16, groups, 8, 96, false, false, false, true, true, 1, 1, 0, false,
                DType.F32, 3);
        Validation validation = Validator.validate(
                Altered.sample(spec).view(),
                ValidateOptions.defaults().withoutValues().withTarget(OptionalInt.of(tensor), OptionalInt.empty()));
        assertThat(ofSeverity(validation, Severity.ERROR).stream().map(Finding::where))
                .containsExactlyElementsOf(refused.isEmpty() ? List.of() : List.of(refused.split(" ")));
    }

    @Test
    void everyKindOfLayerHasItsKeys() {
        assertThat(Stream.of(LayerKind.values()).map(LayerKeys::required)).noneMatch(List::isEmpty);
        assertThat(LayerKeys.required(LayerKind.SPARSE_ATTENTION)).hasSizeGreaterThan(4);
    }
}
