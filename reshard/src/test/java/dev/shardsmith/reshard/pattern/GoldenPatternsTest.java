package dev.shardsmith.reshard.pattern;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.testdata.TestData;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The answers of the training framework itself to 40 patterns, 18 pairs of ratios and 9 uneven pipelines. */
class GoldenPatternsTest {
    private static final JsonNode GOLDEN = TestData.json(TestData.path("megatron-patterns", "patterns.json"));

    static Stream<Arguments> patterns() {
        List<Arguments> cases = new ArrayList<>();
        GOLDEN.get("cases").forEach(node -> {
            if (!node.get("pattern").isNull()) {
                cases.add(Arguments.of(node.get("pattern").asText(), node));
            }
        });
        return cases.stream();
    }

    @Test
    void allCasesAreThere() {
        assertThat(patterns()).hasSize(39);
        assertThat(GOLDEN.get("pattern_from_ratios")).hasSize(18);
        assertThat(GOLDEN.get("uneven_pipeline")).hasSize(9);
    }

    @Test
    void symbolsAreListedInTheFrameworksOrder() {
        List<String> order = new ArrayList<>();
        GOLDEN.get("name_sorted_valid_layer_symbols").forEach(node -> order.add(node.asText()));
        assertThat(Stream.of(LayerKind.values()).map(kind -> Character.toString(kind.symbol())))
                .containsExactlyElementsOf(order);
        assertThat(LayerKind.SYMBOLS).isEqualTo(String.join("", order));
    }

    @Test
    void noPatternIsNoMainPart() {
        JsonNode answer =
                GOLDEN.get("cases").get(39).get("parse_hybrid_pattern").get("ok");
        assertThat(answer.get("main_pattern").isNull()).isTrue();
        assertThat(HybridPattern.absent().main()).isEmpty();
        assertThat(HybridPattern.absent().mtp()).isEmpty();
        assertThat(HybridPattern.absent().mtpDepths()).isZero();
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void parsesAsTheFramework(String text, JsonNode golden) throws Exception {
        JsonNode answer = golden.get("parse_hybrid_pattern");
        if (answer.has("error")) {
            assertThatThrownBy(() -> HybridPattern.parse(text)).isInstanceOf(CheckpointException.class);
            assertThat(HybridPattern.read(text)).isInstanceOf(PatternReading.Refused.class);
            return;
        }
        HybridPattern pattern = HybridPattern.parse(text);
        assertThat(pattern.main().orElse(null))
                .isEqualTo(answer.get("ok").get("main_pattern").textValue());
        assertThat(pattern.mtp().orElse(null))
                .isEqualTo(answer.get("ok").get("mtp_pattern").textValue());
        assertThat(pattern.mtpDepths())
                .isEqualTo(answer.get("ok").get("mtp_num_depths").asInt());
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void countsAsTheFramework(String text, JsonNode golden) throws Exception {
        JsonNode total = golden.get("get_hybrid_total_layer_count");
        if (total.has("error")) {
            assertThatThrownBy(() -> HybridPattern.parseMain(text)).isInstanceOf(CheckpointException.class);
        } else {
            HybridPattern main = HybridPattern.parseMain(text);
            assertThat(main.layerCount()).isEqualTo(total.get("ok").asInt());
            assertThat(main.segments())
                    .hasSize(golden.get("get_hybrid_total_pipeline_segment_count")
                            .get("ok")
                            .asInt());
        }
        JsonNode counts = golden.get("get_hybrid_layer_counts");
        if (counts.has("ok")) {
            HybridPattern.parse(text)
                    .counts()
                    .forEach((kind, count) -> assertThat(count)
                            .as(kind.title())
                            .isEqualTo(counts.get("ok")
                                    .get(Character.toString(kind.symbol()))
                                    .asInt()));
        } else {
            assertThatThrownBy(() -> HybridPattern.parse(text)).isInstanceOf(CheckpointException.class);
        }
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void mapsLayersAsTheFramework(String text, JsonNode golden) {
        JsonNode answer = golden.get("get_layer_maps");
        String symbols = HybridPattern.mainText(text).replace("|", "");
        boolean known =
                symbols.chars().allMatch(symbol -> LayerKind.of((char) symbol).isPresent());
        assertThat(known).isEqualTo(answer.has("ok"));
        if (!known) {
            return;
        }
        LayerMaps maps = LayerMaps.of(symbols.chars()
                .mapToObj(symbol -> LayerKind.of((char) symbol).orElseThrow())
                .toList());
        for (LayerKind kind : LayerKind.values()) {
            Map<Integer, Integer> expected = new TreeMap<>();
            answer.get("ok")
                    .get(Character.toString(kind.symbol()))
                    .fields()
                    .forEachRemaining(
                            field -> expected.put(field.getValue().asInt(), Integer.parseInt(field.getKey())));
            assertThat(maps.layersOf(kind)).containsExactlyElementsOf(expected.values());
        }
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void selectsStagesAsTheFramework(String text, JsonNode golden) throws Exception {
        String main = HybridPattern.mainText(text);
        assertThat(golden.get("select_pipeline_segment_of_main").size()).isPositive();
        for (JsonNode answer : golden.get("select_pipeline_segment_of_main")) {
            OptionalInt vp = optional(answer.get("vp_stage"));
            int rank = answer.get("pp_rank").asInt();
            int size = answer.get("pp_size").asInt();
            compare(answer, () -> StageSelection.select(main, rank, size, vp, EdgeStages.NONE));
        }
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void checksSegmentsAsTheFramework(String text, JsonNode golden) {
        JsonNode answer = golden.get("validate_segment_layers");
        try {
            List<LayerKind> kinds = SymbolCheck.kinds(text, 0, text.length(), "segment", SymbolCheck.Pipes.FORBIDDEN);
            assertThat(answer.has("ok")).isTrue();
            assertThat(kinds).hasSameSizeAs(answer.get("ok"));
        } catch (PatternFault fault) {
            assertThat(answer.has("error")).isTrue();
            String message = answer.get("message").asText();
            if (message.startsWith("In ")) {
                assertThat(fault.problem().message())
                        .startsWith(message.substring(message.indexOf('\''), message.indexOf(" is not")));
            }
        }
    }

    @ParameterizedTest(name = "''{0}''")
    @MethodSource("patterns")
    void pairsTransformerLayersAsTheFrameworksTool(String text, JsonNode golden) throws Exception {
        for (String direction : List.of("gpt-to-hybrid", "hybrid-to-gpt")) {
            JsonNode answer = golden.get("gpt_hybrid_conversion").get(direction);
            if (answer.has("error")) {
                assertThatThrownBy(() -> GptPairing.of(HybridPattern.parseMain(text)))
                        .isInstanceOf(CheckpointException.class);
                continue;
            }
            GptPairing pairing = GptPairing.of(HybridPattern.parseMain(text));
            assertThat(pairing.attention()).containsExactlyElementsOf(hybridLayers(direction, answer, "attn"));
            assertThat(pairing.feedForward()).containsExactlyElementsOf(hybridLayers(direction, answer, "mlp"));
            List<Integer> ssm = new ArrayList<>();
            answer.get("ok").get("ssm").forEach(node -> ssm.add(node.asInt()));
            assertThat(pairing.stateSpace()).isEqualTo(ssm);
        }
    }

    private static List<Integer> hybridLayers(String direction, JsonNode answer, String part) {
        Map<Integer, Integer> layers = new TreeMap<>();
        answer.get("ok").get(part).fields().forEachRemaining(field -> {
            int from = Integer.parseInt(field.getKey());
            int to = field.getValue().asInt();
            if (direction.equals("gpt-to-hybrid")) {
                layers.put(from, to);
            } else {
                layers.put(to, from);
            }
        });
        return new ArrayList<>(layers.values());
    }

    static Stream<JsonNode> ratios() {
        return elements("pattern_from_ratios");
    }

    @ParameterizedTest
    @MethodSource("ratios")
    void ratiosGiveTheFrameworksPattern(JsonNode golden) throws Exception {
        int layers = golden.get("num_layers").asInt();
        double attention = golden.get("attention_ratio").asDouble();
        double mlp = golden.get("mlp_ratio").asDouble();
        if (golden.has("error")) {
            assertThatThrownBy(() -> RatioPattern.of(layers, attention, mlp)).isInstanceOf(CheckpointException.class);
        } else {
            assertThat(RatioPattern.of(layers, attention, mlp).text())
                    .isEqualTo(golden.get("ok").asText());
        }
    }

    static Stream<JsonNode> unevenPipelines() {
        return elements("uneven_pipeline");
    }

    @ParameterizedTest
    @MethodSource("unevenPipelines")
    void unevenPipelinesAreTheFrameworks(JsonNode golden) throws Exception {
        String pattern = golden.get("pattern").asText();
        int size = golden.get("pp_size").asInt();
        EdgeStages edges =
                new EdgeStages(optional(golden.get("first_stage_layers")), optional(golden.get("last_stage_layers")));
        for (int rank = 0; rank < size; rank++) {
            int pp = rank;
            compare(
                    golden.get("ranks").get(rank),
                    () -> StageSelection.select(pattern, pp, size, OptionalInt.empty(), edges));
        }
    }

    private interface Selection {
        Stage get() throws CheckpointException;
    }

    private static void compare(JsonNode answer, Selection selection) throws CheckpointException {
        if (answer.has("error")) {
            assertThatThrownBy(selection::get)
                    .as(answer.toString())
                    .isInstanceOf(CheckpointException.class)
                    .matches(e -> ((CheckpointException) e).kind() == CheckpointException.Kind.REFUSED);
        } else {
            Stage stage = selection.get();
            assertThat(stage.layers())
                    .as(answer.toString())
                    .isEqualTo(answer.get("ok").get("layers").asText());
            assertThat(stage.offset()).isEqualTo(answer.get("ok").get("offset").asInt());
        }
    }

    private static OptionalInt optional(JsonNode node) {
        return node.isNull() ? OptionalInt.empty() : OptionalInt.of(node.asInt());
    }

    private static Stream<JsonNode> elements(String field) {
        List<JsonNode> nodes = new ArrayList<>();
        GOLDEN.get(field).forEach(nodes::add);
        return nodes.stream();
    }
}
