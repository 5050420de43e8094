package dev.shardsmith.verify.validate;

import static dev.shardsmith.verify.validate.OnlyFinding.ofSeverity;
import static dev.shardsmith.verify.validate.OnlyFinding.onlyError;
import static dev.shardsmith.verify.validate.OnlyFinding.onlyWarning;
import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.completeness.LayerKeys;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.verify.validate.Finding.Severity;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What validating says of saved arguments and patterns. */
final class ValidatorArgumentsTest {
    @Test
    void argumentsThatAskForParametersThatAreNotThereAreTold() throws Exception {
        Finding latent = onlyError(Altered.sample("M-E").arg("moe_latent_size", 16));
        assertThat(latent.where()).isEqualTo("args.moe_latent_size");
        assertThat(latent.message()).contains("no layer has mlp.fc1_latent_proj.weight");
        Finding table = onlyWarning(Altered.sample("M-E").arg("position_embedding_type", "learned_absolute"));
        assertThat(table.where()).isEqualTo("args.position_embedding_type");
        assertThat(Altered.sample("M-").arg("moe_latent_size", 16).validate().valid())
                .isTrue();
    }

    @Test
    void savedArgumentsThatContradictTheWeightsAreErrors() throws Exception {
        assertThat(onlyError(Altered.sample("M-").arg("ffn_hidden_size", 128)).message())
                .startsWith("ffn_hidden_size is 128, but the weights say 256");
        assertThat(onlyError(Altered.sample("M-").arg("swiglu", true)).where()).isEqualTo("args.swiglu");
        assertThat(onlyError(Altered.sample("M-").arg("padded_vocab_size", 1152))
                        .message())
                .contains("the weights say 1024");
        assertThat(onlyError(Altered.sample("M-").arg("untie_embeddings_and_output_weights", false))
                        .where())
                .isEqualTo("args.untie_embeddings_and_output_weights");
        assertThat(onlyError(Altered.sample("M-").arg("mamba_num_groups", 1)).message())
                .contains("1 groups of state size 64 make 128");
        assertThat(onlyError(Altered.sample("M*").arg("num_attention_heads", 2)).code())
                .isEqualTo("shape.args");
        assertThat(onlyError(Altered.sample("M*").withoutArg("hidden_size")).code())
                .isEqualTo("args.missing");
    }

    @Test
    void fewerQueryGroupsThanTheWeightsHaveAreCounted() throws Exception {
        SampleSpec spec = new SampleSpec(
                "M*", 64, 128, 8, 4, 8, 8, 16, 4, 8, 96, false, false, false, true, true, 1, 1, 0, false, DType.F32, 3);
        assertThat(onlyError(Altered.sample(spec).arg("num_query_groups", 2)).message())
                .isEqualTo(
                        "it has 128 rows, but 8 heads and 2 query groups of 8 channels make 96; the rows fit 4 query groups");
    }

    @Test
    void rowsThatNoHeadsMakeAreToldWithAndWithoutArguments() throws Exception {
        String fused = "decoder.layers.1.self_attention.linear_qkv.weight";
        long rows = Altered.sample("M**").view().tensors().get(fused).shape().size(0);
        assertThat(ofSeverity(
                        Altered.sample("M**").filled(fused, 1, rows + 32, 64).validate(), Severity.ERROR))
                .extracting(Finding::code)
                .contains("shape.args", "shape.differs");
        Altered untold = Altered.sample("M**").filled(fused, 1, rows + 32, 64);
        for (String field : List.of("num_query_groups", "kv_channels", "group_query_attention")) {
            untold.withoutArg(field);
        }
        assertThat(ofSeverity(untold.validate(), Severity.ERROR))
                .filteredOn(finding -> finding.code().equals("shape.differs"))
                .singleElement()
                .satisfies(finding -> assertThat(finding.message())
                        .contains(
                                "the number of query, key and value rows is " + rows + " here", "says " + (rows + 32)));
        assertThat(ofSeverity(
                        Altered.sample("M*").filled(fused, 1, rows + 1, 64).validate(), Severity.ERROR))
                .extracting(Finding::code)
                .contains("shape.attention");
        assertThat(ofSeverity(Altered.sample("M**").validate(), Severity.ERROR)).isEmpty();
    }

    @Test
    void depthsThatShareABlockHaveOne() throws Exception {
        assertThat(ofSeverity(
                        withPredictions(2).arg("mtp_use_repeated_layer", true).validate(), Severity.ERROR))
                .singleElement()
                .satisfies(finding -> {
                    assertThat(finding.where()).isEqualTo("args.mtp_use_repeated_layer");
                    assertThat(finding.message()).contains("mtp.layers has 2 blocks");
                });
        assertThat(ofSeverity(withPredictions(2).validate(), Severity.ERROR)).isEmpty();
        assertThat(ofSeverity(
                        withPredictions(1)
                                .arg("mtp_use_repeated_layer", true)
                                .arg("mtp_num_layers", 3)
                                .validate(),
                        Severity.ERROR))
                .isEmpty();
    }

    private static Altered withPredictions(int depths) throws Exception {
        Altered altered = Altered.sample("M*").arg("hybrid_layer_pattern", "M*" + "/M".repeat(depths));
        for (int depth = 0; depth < depths; depth++) {
            String block = "mtp.layers." + depth + ".";
            for (List<String> names : LayerKeys.prediction()) {
                long[] shape = names.get(0).startsWith("eh_proj") ? new long[] {64, 128} : new long[] {64};
                altered.filled(block + names.get(0), 0.5f + depth, shape);
            }
            altered.view().tensors().values().stream()
                    .filter(tensor -> tensor.name().startsWith("decoder.layers.0."))
                    .toList()
                    .forEach(tensor -> altered.named(
                            tensor,
                            block + "mtp_model_layer.layers.0."
                                    + tensor.name().substring("decoder.layers.0.".length())));
        }
        return altered;
    }

    @Test
    void argumentsOfOldReleasesMeanTheConstantsOfTheirTime() throws Exception {
        SampleSpec spec = new SampleSpec(
                "M-", 256, 128, 4, 4, 64, 8, 64, 8, 128, 512, false, false, false, true, false, 1, 1, 0, false,
                DType.F32, 3);
        Validation validation = Altered.sample(spec)
                .withoutArg("mamba_state_dim")
                .withoutArg("mamba_head_dim")
                .withoutArg("mamba_num_groups")
                .withoutArg("mamba_num_heads")
                .withoutArg("hybrid_layer_pattern")
                .arg("hybrid_override_pattern", "M-")
                .validate();
        assertThat(validation.valid()).isTrue();
        assertThat(validation.saved()).contains("M-");
        assertThat(ofSeverity(validation, Severity.INFO))
                .extracting(Finding::code)
                .contains("args.old", "keys.conv1d");
        Validation other = Altered.sample("M-")
                .withoutArg("mamba_state_dim")
                .withoutArg("mamba_head_dim")
                .withoutArg("mamba_num_groups")
                .validate();
        assertThat(ofSeverity(other, Severity.ERROR)).extracting(Finding::code).contains("shape.args");
    }

    @Test
    void twoPatternNamesThatDifferAreAnError() throws Exception {
        assertThat(onlyError(Altered.sample("M-").arg("hybrid_override_pattern", "MM"))
                        .code())
                .isEqualTo("args.pattern");
        assertThat(Altered.sample("M-")
                        .arg("hybrid_override_pattern", "M-")
                        .validate()
                        .valid())
                .isTrue();
    }

    @Test
    void aSavedPatternThatIsNoPatternIsAFinding() throws Exception {
        Validation validation =
                Altered.sample("M-").arg("hybrid_layer_pattern", "Mx").validate();
        assertThat(validation.valid()).isFalse();
        assertThat(validation.inferred()).contains("M-");
        assertThat(ofSeverity(validation, Severity.ERROR).get(0).where()).contains("column 2");
    }

    @Test
    void stagesMustBeThoseOfTheArguments() throws Exception {
        Altered even = Altered.sample("M-M-")
                .arg("pipeline_model_parallel_size", 2)
                .stages(List.of(List.of(0, 1), List.of(2, 3)));
        assertThat(even.validate().valid()).isTrue();
        assertThat(even.validate().inferred()).contains("M-M-");
        Altered uneven = Altered.sample("M-M-")
                .arg("pipeline_model_parallel_size", 2)
                .stages(List.of(List.of(0, 1, 2), List.of(3)));
        assertThat(onlyError(uneven).message())
                .contains("hold [3, 1] layers per stage, the saved args describe [2, 2]");
        assertThat(uneven.validate().inferred()).contains("M-M|-");
        Altered piped = uneven.arg("hybrid_layer_pattern", "M-M|-");
        assertThat(piped.validate().valid()).isTrue();
    }

    @Test
    void predictionBlocksAreCountedAndCompared() throws Exception {
        Altered altered = Altered.sample("M*");
        for (int depth = 0; depth < 2; depth++) {
            String block = "mtp.layers." + depth + ".";
            for (List<String> names : LayerKeys.prediction()) {
                long[] shape = names.get(0).startsWith("eh_proj") ? new long[] {64, 128} : new long[] {64};
                altered.filled(block + names.get(0), 0.5f + depth, shape);
            }
            altered.view().tensors().values().stream()
                    .filter(tensor -> tensor.name().startsWith("decoder.layers.0."))
                    .toList()
                    .forEach(tensor -> altered.named(
                            tensor,
                            block + "mtp_model_layer.layers.0."
                                    + tensor.name().substring("decoder.layers.0.".length())));
        }
        Validation validation = Validator.validate(
                altered.view(), ValidateOptions.defaults().withoutValues().withPattern("M*/M/M"));
        assertThat(validation.inferred()).contains("M*/M/M");
        assertThat(ofSeverity(validation, Severity.ERROR))
                .extracting(Finding::message)
                .containsExactly(
                        "the pattern has 0 prediction depths, the weights have 2",
                        "the saved pattern says , the weights say M",
                        "the saved pattern says , the weights say M");
        Validation sound = Validator.validate(
                altered.arg("hybrid_layer_pattern", "M*/M/M").view(),
                ValidateOptions.defaults().withoutValues());
        assertThat(sound.valid()).isTrue();
    }
}
