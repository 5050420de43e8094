package dev.shardsmith.verify.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import dev.shardsmith.testdata.TestData;
import dev.shardsmith.verify.forward.Block;
import dev.shardsmith.verify.forward.CpuBackend;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.Pass;
import dev.shardsmith.verify.forward.Signal;
import dev.shardsmith.verify.forward.WeightSource;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Layers with unusual options, computed once by plain PyTorch code: {@code test-data/forward-options/make.py}. */
final class LayerOptionsTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    static Stream<String> cases() throws IOException {
        return Folders.files(TestData.path("forward-options"), ".json").stream()
                .map(file -> file.getFileName().toString())
                .sorted();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aLayerComputesWhatItsFrameworkDoes(String file) throws Exception {
        JsonNode expected =
                JSON.readTree(TestData.path("forward-options").resolve(file).toFile());
        Block block = model(expected).blocks().get(0);
        assertThat(block.notRun()).isEmpty();
        double[] output = numbers(expected.get("output"));
        assertClose(run(new WideBackend(), block, expected), output, 1e-9);
        assertClose(run(new CpuBackend(), block, expected), output, 1e-5);
    }

    /** That what rounding explains is more than what it does, and much less than what a damage does. */
    private static void assertClose(Result found, double[] expected, double tolerance) {
        assertThat(found.values()).hasSameSizeAs(expected);
        double squares = 0;
        double[] explained = found.error();
        int width = expected.length / explained.length;
        for (int i = 0; i < expected.length; i++) {
            assertThat(found.values()[i]).isCloseTo(expected[i], within(tolerance));
            if (tolerance > 1e-6) {
                assertThat(found.values()[i]).isCloseTo(expected[i], within(8 * explained[i / width]));
            }
            squares += expected[i] * expected[i];
        }
        double share = Arrays.stream(explained).max().orElseThrow() / Math.sqrt(squares / expected.length);
        assertThat(share).isPositive();
        if (tolerance < 1e-6) {
            assertThat(share).isLessThan(1e-8);
        }
    }

    /** What a layer gave, and the estimated error of each token. */
    private record Result(double[] values, double[] error) {}

    private static Result run(ForwardBackend backend, Block block, JsonNode expected) throws IOException {
        double[] wide = numbers(expected.get("input"));
        float[] input = new float[wide.length];
        for (int i = 0; i < input.length; i++) {
            input[i] = (float) wide[i];
        }
        try (Pass pass = new Pass(backend, 1, expected.get("length").asInt())) {
            Signal out =
                    block.branch(pass, pass.input(input, expected.get("width").asInt()));
            return new Result(pass.readWide(out), out.error());
        }
    }

    private static LayeredModel model(JsonNode expected) throws IOException {
        boolean megatron = expected.get("framework").asText().equals("megatron");
        int width = expected.get("width").asInt();
        @SuppressWarnings("unchecked")
        Map<String, Object> options = JSON.convertValue(expected.get("options"), LinkedHashMap.class);
        List<NamedWeights> ranks = new ArrayList<>();
        for (JsonNode rank : expected.get("ranks")) {
            Map<String, NamedWeights.Entry> entries = new LinkedHashMap<>();
            rank.fields()
                    .forEachRemaining(tensor -> entries.put(
                            (megatron ? "decoder.layers.0." : "backbone.layers.0.") + tensor.getKey(),
                            entry(tensor.getValue())));
            NamedWeights.Entry ends = new NamedWeights.Entry(new int[] {1, width}, WeightSource.of(new float[width]));
            entries.put(megatron ? "embedding.word_embeddings.weight" : "backbone.embedding.weight", ends);
            entries.put("backbone.norm_f.weight", ends);
            ranks.add(new NamedWeights(entries));
        }
        Settings settings = new Settings("test", options);
        return megatron ? MegatronModels.of(settings, ranks, 1) : MambaSsmModels.of(settings, ranks);
    }

    private static NamedWeights.Entry entry(JsonNode tensor) {
        int[] shape = new int[tensor.get("shape").size()];
        for (int dim = 0; dim < shape.length; dim++) {
            shape[dim] = tensor.get("shape").get(dim).asInt();
        }
        double[] wide = numbers(tensor.get("values"));
        float[] values = new float[wide.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) wide[i];
        }
        return new NamedWeights.Entry(shape, WeightSource.of(values));
    }

    private static double[] numbers(JsonNode array) {
        double[] numbers = new double[array.size()];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = array.get(i).asDouble();
        }
        return numbers;
    }
}
