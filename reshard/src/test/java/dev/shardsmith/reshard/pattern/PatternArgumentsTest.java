package dev.shardsmith.reshard.pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.pattern.ArgumentRemark.Severity;
import dev.shardsmith.reshard.pattern.PatternArguments.Origin;
import dev.shardsmith.reshard.pattern.PatternArguments.Source;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class PatternArgumentsTest {
    private static PatternArguments resolve(Source source, String... pairs) throws CheckpointException {
        Map<String, String> values = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            values.put(pairs[i], pairs[i + 1]);
        }
        return PatternArguments.of(ArgumentValues.of("args", values), source);
    }

    private static List<String> errors(PatternArguments arguments) {
        return arguments.remarks().stream()
                .filter(remark -> remark.severity() == Severity.ERROR)
                .map(ArgumentRemark::field)
                .toList();
    }

    @Test
    void theNewNameTheOldNameAndBothEqualGiveTheSamePattern() throws Exception {
        PatternArguments layer =
                resolve(Source.SAVED, "hybrid_layer_pattern", "M-M*", "hybrid_override_pattern", "None");
        PatternArguments override = resolve(Source.SAVED, "hybrid_override_pattern", "M-M*");
        PatternArguments both =
                resolve(Source.SAVED, "hybrid_layer_pattern", "M-M*", "hybrid_override_pattern", "M-M*");
        for (PatternArguments arguments : List.of(layer, override, both)) {
            assertThat(arguments.pattern().text()).isEqualTo("M-M*");
            assertThat(arguments.remarks()).isEmpty();
        }
        assertThat(layer.origin()).isEqualTo(Origin.LAYER_PATTERN);
        assertThat(override.origin()).isEqualTo(Origin.OVERRIDE_PATTERN);
        assertThat(override.origin().patternField()).isEqualTo(StageChoice.PatternField.OVERRIDE_PATTERN);
    }

    @Test
    void twoDifferentPatternsAreAnErrorAndOnTheCommandLineEvenTwoEqualOnes() throws Exception {
        String[] different = {"hybrid_layer_pattern", "M-M*", "hybrid_override_pattern", "MMM*"};
        assertThat(errors(resolve(Source.SAVED, different))).containsExactly("hybrid_override_pattern");
        String[] equal = {"hybrid_layer_pattern", "M-M*", "hybrid_override_pattern", "M-M*"};
        assertThat(errors(resolve(Source.COMMAND_LINE, equal))).containsExactly("hybrid_override_pattern");
    }

    @Test
    void ratiosAndNothingAtAllAreUnderstoodAsOlderReleasesDid() throws Exception {
        PatternArguments ratios =
                resolve(Source.SAVED, "num_layers", "10", "hybrid_attention_ratio", "0.1", "hybrid_mlp_ratio", "0.3");
        assertThat(ratios.pattern().text()).isEqualTo("MM-MM*-MM-");
        assertThat(ratios.origin()).isEqualTo(Origin.RATIOS);
        assertThat(ratios.remarks().get(0).fix()).contains("--hybrid-layer-pattern 'MM-MM*-MM-'");
        PatternArguments all =
                resolve(Source.SAVED, "num_layers", "3", "hybrid_attention_ratio", "0.0", "is_hybrid_model", "True");
        assertThat(all.pattern().text()).isEqualTo("MMM");
        assertThat(all.origin()).isEqualTo(Origin.ALL_MAMBA);
        assertThat(resolve(Source.SAVED, "num_layers", "3").origin()).isEqualTo(Origin.NONE);
    }

    @Test
    void ratiosThatContradictThePatternAreRemarkedOn() throws Exception {
        PatternArguments arguments = resolve(
                Source.SAVED, "hybrid_override_pattern", "MMM*", "hybrid_attention_ratio", "0.5", "num_layers", "4");
        assertThat(arguments.remarks())
                .extracting(ArgumentRemark::message)
                .singleElement()
                .asString()
                .contains("2 attention");
        assertThat(resolve(
                                Source.SAVED,
                                "hybrid_override_pattern",
                                "MMM*",
                                "hybrid_attention_ratio",
                                "0.25",
                                "num_layers",
                                "4")
                        .remarks())
                .isEmpty();
    }

    @Test
    void theOlderPredictionPatternIsAppended() throws Exception {
        PatternArguments arguments = resolve(
                Source.SAVED,
                "hybrid_override_pattern",
                "M*M*",
                "mtp_hybrid_override_pattern",
                "MM",
                "mtp_num_layers",
                "2",
                "position_embedding_type",
                "none");
        assertThat(arguments.pattern().text()).isEqualTo("M*M*/MM/MM");
        assertThat(errors(arguments)).isEmpty();
    }

    @Test
    void theLayerCountOfACheckpointMustBeThatOfItsPattern() throws Exception {
        assertThat(errors(resolve(Source.SAVED, "hybrid_layer_pattern", "M-M*", "num_layers", "5")))
                .containsExactly("num_layers");
        PatternArguments commandLine = resolve(Source.COMMAND_LINE, "hybrid_layer_pattern", "M-M*", "num_layers", "5");
        assertThat(errors(commandLine)).isEmpty();
        assertThat(commandLine.remarks()).hasSize(1);
        assertThat(resolve(Source.SAVED, "hybrid_layer_pattern", "M-M*", "num_layers", "4")
                        .remarks())
                .isEmpty();
    }

    @Test
    void predictionNeedsRotaryOrNoPositions() throws Exception {
        assertThat(errors(resolve(Source.SAVED, "hybrid_layer_pattern", "MM/M", "position_embedding_type", "rope")))
                .isEmpty();
        assertThat(errors(resolve(
                        Source.SAVED, "hybrid_layer_pattern", "MM/M", "position_embedding_type", "learned_absolute")))
                .containsExactly("position_embedding_type");
    }

    @Test
    void stagesComeFromPipesOrCountsAndNotFromBoth() throws Exception {
        PatternArguments piped =
                resolve(Source.SAVED, "hybrid_layer_pattern", "M-|M*|M-|M*", "pipeline_model_parallel_size", "2");
        assertThat(piped.layout().orElseThrow().vpSize()).isEqualTo(2);
        PatternArguments both = resolve(
                Source.SAVED,
                "hybrid_layer_pattern",
                "M-|M*",
                "pipeline_model_parallel_size",
                "2",
                "decoder_first_pipeline_num_layers",
                "1");
        assertThat(both.layout()).isEmpty();
        assertThat(errors(both)).containsExactly("pipeline_model_parallel_size");
        PatternArguments layout = resolve(
                Source.COMMAND_LINE, "hybrid_layer_pattern", "M-M*", "num_layers_per_virtual_pipeline_stage", "1");
        assertThat(errors(layout)).containsExactly("num_layers_per_virtual_pipeline_stage");
    }

    @Test
    void aValueThatCannotBeReadNamesItsField() {
        assertThatThrownBy(() -> resolve(Source.SAVED, "hybrid_layer_pattern", "MM", "num_layers", "many"))
                .hasMessageContaining("num_layers should be a whole number, but is 'many'");
        assertThatThrownBy(() -> resolve(Source.SAVED, "hybrid_layer_pattern", "MX"))
                .hasMessageContaining("args, hybrid_layer_pattern, column 2");
    }
}
