package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Model;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Transformers to hybrid models and back: the i-th attention and the i-th MLP are layer i. */
class ModelKindConversionTest {
    private static final Path TOOL = TestData.path("megatron-torch-dist", "gpt_hybrid_tool");

    @TempDir
    Path folder;

    @Test
    void hybridWithoutStateSpaceLayersIsWhatNvidiasToolWrites() throws Exception {
        Path out = convert(TOOL.resolve("hybrid_out"), o -> o.dropLayers = "M");
        Map<String, String> expected = new TreeMap<>();
        for (Map.Entry<String, JsonNode> tensor : TestData.expected(TOOL)
                .get("checkpoints")
                .get("gpt_back")
                .get("tensors")
                .properties()) {
            expected.put(
                    tensor.getKey(),
                    tensor.getValue().get("shape")
                            + tensor.getValue().get("sha256").asText());
        }
        assertThat(digests(out)).isEqualTo(expected);
        MegatronArgs args = args(out);
        assertThat(args.integer("num_layers")).hasValue(1);
        assertThat(args.pattern()).isEmpty();
        // Keys of single layers are Megatron's for a Transformer only where the checkpoint says that it has them.
        try (ModelView view = Checkpoints.open(out, OpenOptions.defaults())) {
            PyDict content = (PyDict) view.state().entries().get("content_metadata");
            assertThat(content.get("non_homogeneous_layers")).hasValue(PyBool.TRUE);
        }
    }

    @Test
    void transformerBecomesHybridAndComesBack() throws Exception {
        Path hybrid = convert(TOOL.resolve("gpt_in"), o -> o.pattern = Optional.of("*-"));
        assertThat(digests(hybrid).keySet())
                .contains(
                        "decoder.layers.0.self_attention.linear_qkv.weight",
                        "decoder.layers.1.mlp.linear_fc1.layer_norm_weight",
                        "decoder.final_norm.weight");
        assertThat(args(hybrid).text("hybrid_layer_pattern")).hasValue("*-");
        assertThat(args(hybrid).integer("num_layers")).hasValue(2);
        Path back = convert(hybrid, o -> o.model = Optional.of(Model.TRANSFORMER));
        assertThat(digests(back)).isEqualTo(digests(TOOL.resolve("gpt_in")));
    }

    @Test
    void partsArePairedInTheirOrderThroughAllLayouts() throws Exception {
        SampleSpec spec = SampleSpec.of("M*MM-*M-*-/*-", 16, DType.F32, 3);
        Path gpt = sample(spec, o -> {
            o.dropLayers = "M";
            o.tensor = OptionalInt.of(1);
            o.pipeline = OptionalInt.of(3);
        });
        Map<String, String> from = digests(SampleModel.of(spec));
        Map<String, String> to = digests(gpt);
        int[] attention = {1, 5, 8};
        int[] mlp = {4, 7, 9};
        for (int layer = 0; layer < 3; layer++) {
            String target = "decoder.layers." + layer + ".";
            String qkv = "self_attention.linear_qkv.weight";
            assertThat(to.get(target + qkv)).isEqualTo(from.get("decoder.layers." + attention[layer] + "." + qkv));
            String fc2 = "mlp.linear_fc2.weight";
            assertThat(to.get(target + fc2)).isEqualTo(from.get("decoder.layers." + mlp[layer] + "." + fc2));
        }
        assertThat(to.get("mtp.layers.0.mtp_model_layer.mlp.linear_fc2.weight"))
                .isEqualTo(from.get("mtp.layers.0.mtp_model_layer.layers.1.mlp.linear_fc2.weight"));
        assertThat(to.get("decoder.final_layernorm.weight")).isEqualTo(from.get("decoder.final_norm.weight"));
        Path stacked = convert(gpt, o -> o.to = Optional.of(Layout.TORCH_DIST));
        assertThat(digests(stacked)).isEqualTo(to);
        Path hybrid = convert(stacked, o -> {
            o.pattern = Optional.of("*-|*-|*-/*-");
            o.to = Optional.of(Layout.MEGATRON);
            o.pipeline = OptionalInt.of(3);
        });
        assertThat(args(hybrid).text("hybrid_layer_pattern")).hasValue("*-|*-|*-/*-");
        assertThat(digests(convert(hybrid, o -> {
                    o.model = Optional.of(Model.TRANSFORMER);
                    o.pipeline = OptionalInt.of(1);
                })))
                .isEqualTo(to);
    }

    @Test
    void transformersOfEqualLayersAreStackedInDistributedCheckpoints() throws Exception {
        SampleSpec plain = SampleSpec.of("*E*E*E/*E", 16, DType.F32, 4);
        SampleSpec spec = plain.as(SampleSpec.Kind.TRANSFORMER, plain.latent(), plain.delta());
        Path dist = sample(spec, o -> {
            o.to = Optional.of(Layout.TORCH_DIST);
            o.expert = OptionalInt.of(2);
        });
        try (FilePool pool = new FilePool()) {
            DcpCheckpoint stored = DcpCheckpoint.open(pool, dist.resolve("iter_0000001"));
            Map<String, String> shapes = new LinkedHashMap<>();
            for (DcpTensor tensor : stored.tensors()) {
                shapes.put(tensor.name(), tensor.shape().toString());
            }
            assertThat(shapes)
                    .containsEntry("decoder.layers.self_attention.linear_proj.weight", "[3, 16, 16]")
                    .containsEntry("decoder.layers.mlp.experts.experts.linear_fc2.weight", "[3, 8, 16, 16]")
                    .containsEntry("mtp.layers.0.transformer_layer.self_attention.linear_proj.weight", "[16, 16]");
            assertThat(stored.objects())
                    .contains(
                            "decoder.layers.self_attention.linear_qkv._extra_state/shard_2_3",
                            "mtp.layers.0.transformer_layer.self_attention.linear_qkv._extra_state/shard_0_1");
        }
        Path back = convert(dist, o -> o.to = Optional.of(Layout.MEGATRON));
        assertThat(digests(back)).isEqualTo(digests(SampleModel.of(spec)));
        try (ModelView view = Checkpoints.open(back, OpenOptions.defaults());
                ModelView sample = SampleModel.of(spec)) {
            assertThat(view.extraStates().stream().map(extra -> extra.name()))
                    .containsExactlyInAnyOrderElementsOf(sample.extraStates().stream()
                            .map(extra -> extra.name())
                            .toList());
        }
    }

    @Test
    void normsOfATransformerAreStoredAsPartsOfLinearLayersAndReadAsTheModelHasThem() throws Exception {
        SampleSpec spec = new SampleSpec(
                "*E*E", 16, 32, 1, 1, 16, 2, 16, 1, 16, 16, true, false, false, false, true, 4, 16, 0, true, DType.F32,
                6);
        SampleSpec local = spec.as(SampleSpec.Kind.TRANSFORMER, spec.latent(), spec.delta());
        Path dist = sample(local, o -> o.to = Optional.of(Layout.TORCH_DIST));
        try (FilePool pool = new FilePool()) {
            assertThat(DcpCheckpoint.open(pool, dist.resolve("iter_0000001")).tensors().stream()
                            .map(DcpTensor::name))
                    .contains(
                            "decoder.layers.self_attention.linear_qkv.layer_norm_weight",
                            "decoder.layers.mlp.linear_fc1.layer_norm_weight");
        }
        assertThat(digests(dist)).isEqualTo(digests(SampleModel.of(local)));
    }

    @Test
    void layersAreNeverMadeUp() {
        refused(TOOL.resolve("gpt_in"), o -> o.pattern = Optional.of("M*-M"), "state space layers");
        refused(TOOL.resolve("gpt_in"), o -> o.pattern = Optional.of("*-*-"), "is not that of this Transformer");
        refused(TOOL.resolve("gpt_in"), o -> o.pattern = Optional.of("*E"), "is not that of this Transformer");
    }

    @Test
    void layersAreLostOnlyWhereAUserSaysSo() {
        refused(TOOL.resolve("hybrid_out"), o -> o.model = Optional.of(Model.TRANSFORMER), "cannot hold");
        refused(TOOL.resolve("hybrid_out"), o -> o.dropLayers = "G", "has no such layer");
        refused(TOOL.resolve("gpt_in"), o -> o.dropLayers = "M", "leaves out layers of hybrid models");
        refused(TOOL.resolve("hybrid_out"), o -> o.dropLayers = "M*-", "leaves no layer");
    }

    @Test
    void hybridStaysHybridWhereAUserWantsItOrPartsDoNotPair() throws Exception {
        Path hybrid = convert(TOOL.resolve("hybrid_out"), o -> {
            o.dropLayers = "M";
            o.model = Optional.of(Model.HYBRID);
        });
        assertThat(digests(hybrid).keySet()).contains("decoder.layers.1.mlp.linear_fc1.weight");
        assertThat(args(hybrid).text("hybrid_layer_pattern")).hasValue("*-");
        Path uneven = sample(SampleSpec.of("M-*M-", 16, DType.F32, 5), o -> o.dropLayers = "M");
        assertThat(args(uneven).text("hybrid_layer_pattern")).hasValue("-*-");
    }

    @Test
    void ledgerNamesEveryTensorThatIsLeftOut() throws Exception {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.dropLayers = "M";
        try (ModelView view = Checkpoints.open(TOOL.resolve("hybrid_out"), OpenOptions.defaults())) {
            Plan plan = Conversion.plan(view, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            assertThat(plan.dropped().stream().map(dropped -> dropped.what()))
                    .contains("decoder.layers.0.mixer.A_log", "decoder.layers.3.mixer.out_proj.weight");
        }
    }

    private Path sample(SampleSpec spec, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = SampleModel.of(spec)) {
            return write(view, change);
        }
    }

    private Path convert(Path from, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = Checkpoints.open(from, OpenOptions.defaults())) {
            return write(view, change);
        }
    }

    private Path write(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        change.accept(options);
        Path out = Files.createTempDirectory(folder, "case").resolve("out");
        PlanExecutor.execute(Conversion.plan(view, options.build()), out, ExecutionOptions.defaults());
        return out;
    }

    private static void refused(Path from, Consumer<ConversionOptions.Builder> change, String problem) {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        change.accept(options);
        assertThatThrownBy(() -> {
                    try (ModelView view = Checkpoints.open(from, OpenOptions.defaults())) {
                        Conversion.plan(view, options.build());
                    }
                })
                .isInstanceOfSatisfying(CheckpointException.class, e -> {
                    assertThat(e.kind()).isEqualTo(Kind.REFUSED);
                    assertThat(e.problem()).contains(problem);
                });
    }

    private static MegatronArgs args(Path root) throws IOException {
        try (ModelView view = Checkpoints.open(root, OpenOptions.defaults())) {
            return view.state().args().orElseThrow();
        }
    }

    private static Map<String, String> digests(Path root) throws IOException {
        try (ModelView view = Checkpoints.open(root, OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            return digests(view);
        }
    }

    private static Map<String, String> digests(ModelView view) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        for (LogicalTensor tensor : view.tensors().values()) {
            digests.put(tensor.name(), tensor.shape().toString().replace(" ", "") + Tensors.sha256(tensor));
        }
        return digests;
    }
}
