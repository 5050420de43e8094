package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Layers that samples do not have, through distributed checkpoints and rank files of other sizes. */
class RareLayersTest {
    private static final String LAYER = "decoder.layers.0.";

    @TempDir
    Path folder;

    private Path source(String pattern, Map<String, long[]> shapes) throws Exception {
        TestArchive archive = new TestArchive();
        Map<String, PyValue> model = new LinkedHashMap<>();
        int from = 1;
        for (Map.Entry<String, long[]> entry : shapes.entrySet()) {
            int size = (int) Arrays.stream(entry.getValue()).reduce(1, (a, b) -> a * b);
            int[] values = new int[size];
            int first = from;
            Arrays.setAll(values, i -> first + i);
            from += size;
            model.put(LAYER + entry.getKey(), archive.tensor(values, entry.getValue()));
        }
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(1));
        fields.put("hybrid_layer_pattern", new PyStr(pattern));
        fields.put("tensor_model_parallel_size", PyInt.of(1));
        fields.put("mamba_num_groups", PyInt.of(2));
        fields.put("num_attention_heads", PyInt.of(4));
        fields.put("linear_num_key_heads", PyInt.of(2));
        fields.put("linear_num_value_heads", PyInt.of(2));
        fields.put("mla_down_proj_fusion", PyBool.TRUE);
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", MegatronArgs.create(fields).node());
        entries.put("model", TestArchive.dict(model));
        Path root = Files.createTempDirectory(folder, "rare");
        archive.write(root.resolve("iter_0000001/mp_rank_00/model_optim_rng.pt"), TestArchive.dict(entries));
        Files.writeString(root.resolve("latest_checkpointed_iteration.txt"), "1");
        return root;
    }

    private List<String> throughEverything(String pattern, Map<String, long[]> shapes) throws Exception {
        MegatronRuns runs = new MegatronRuns(folder);
        Path source = source(pattern, shapes);
        Path two = runs.convert(source, o -> {
            o.allowMissing = MegatronRuns.PARTS;
            o.tensor = OptionalInt.of(2);
        });
        Path dist = runs.convert(two, o -> {
            o.allowMissing = MegatronRuns.PARTS;
            o.to = Optional.of(Layout.TORCH_DIST);
        });
        Path one = runs.convert(dist, o -> {
            o.allowMissing = MegatronRuns.PARTS;
            o.to = Optional.of(Layout.MEGATRON);
            o.tensor = OptionalInt.of(1);
        });
        assertThat(MegatronRuns.digests(two)).isEqualTo(MegatronRuns.digests(source));
        assertThat(MegatronRuns.digests(dist)).isEqualTo(MegatronRuns.digests(source));
        assertThat(MegatronRuns.digests(one)).isEqualTo(MegatronRuns.digests(source));
        try (FilePool pool = new FilePool()) {
            return DcpCheckpoint.open(pool, dist.resolve("iter_0000001")).tensors().stream()
                    .map(DcpTensor::name)
                    .filter(name -> name.startsWith(LAYER))
                    .map(name -> name.substring(LAYER.length()))
                    .toList();
        }
    }

    private static Map<String, long[]> shapes(Object... pairs) {
        Map<String, long[]> shapes = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            shapes.put((String) pairs[i], (long[]) pairs[i + 1]);
        }
        return shapes;
    }

    private static long[] of(long... sizes) {
        return sizes;
    }

    @Test
    void gatedDeltaProducts() throws Exception {
        List<String> keys = throughEverything(
                "M",
                shapes(
                        "mixer.dt_bias", of(4),
                        "mixer.A_log", of(4),
                        "mixer.in_proj.weight", of(48, 6),
                        "mixer.conv1d.weight", of(28, 1, 4),
                        "mixer.norm.weight", of(8),
                        "mixer.out_proj.weight", of(6, 8)));
        assertThat(keys)
                .contains(
                        "mixer.in_proj.weight.z",
                        "mixer.in_proj.weight.V0",
                        "mixer.in_proj.weight.V1",
                        "mixer.in_proj.weight.K1",
                        "mixer.in_proj.weight.Q",
                        "mixer.in_proj.weight.b1",
                        "mixer.in_proj.weight.a",
                        "mixer.conv1d.weight.V1",
                        "mixer.conv1d.weight.Q")
                .doesNotContain("mixer.in_proj.weight.x");
    }

    @Test
    void gatedDeltaNetsOfTheSecondForm() throws Exception {
        List<String> keys = throughEverything(
                "G",
                shapes(
                        "self_attention.dt_bias", of(4),
                        "self_attention.A_log", of(2),
                        "self_attention.in_proj.layer_norm_weight", of(5),
                        "self_attention.in_proj.weight", of(34, 5),
                        "self_attention.conv1d.weight", of(14, 1, 4),
                        "self_attention.out_norm.weight", of(3),
                        "self_attention.out_proj.weight", of(5, 6)));
        assertThat(keys)
                .contains(
                        "self_attention.in_proj.weight.query",
                        "self_attention.in_proj.weight.f",
                        "self_attention.in_proj.weight.b",
                        "self_attention.in_proj.weight.w",
                        "self_attention.conv1d.weight.value")
                .doesNotContain("self_attention.in_proj.weight.beta");
    }

    @Test
    void firstMambaLayers() throws Exception {
        assertThat(throughEverything(
                        "M",
                        shapes(
                                "mixer.A_log", of(8, 4),
                                "mixer.D", of(8),
                                "mixer.in_proj.weight", of(16, 4),
                                "mixer.conv1d.weight", of(8, 1, 4),
                                "mixer.conv1d.bias", of(8),
                                "mixer.x_proj.weight", of(9, 8),
                                "mixer.dt_proj.weight", of(8, 1),
                                "mixer.dt_proj.bias", of(8),
                                "mixer.out_proj.weight", of(4, 8))))
                .contains("mixer.x_proj.weight", "mixer.conv1d.weight");
    }

    @Test
    void fusedDownProjectionsAreStoredAsTwo() throws Exception {
        assertThat(throughEverything(
                        "+",
                        shapes(
                                "self_attention.linear_proj.weight", of(8, 8),
                                "self_attention.linear_qkv_down_proj.layer_norm_weight", of(8),
                                "self_attention.linear_qkv_down_proj.weight", of(14, 8),
                                "self_attention.linear_q_up_proj.layer_norm_weight", of(6),
                                "self_attention.linear_q_up_proj.weight", of(8, 6),
                                "self_attention.linear_kv_up_proj.layer_norm_weight", of(4),
                                "self_attention.linear_kv_up_proj.weight", of(8, 4))))
                .contains(
                        "self_attention.linear_q_down_proj.weight",
                        "self_attention.linear_kv_down_proj.weight",
                        "input_layernorm.weight")
                .noneMatch(key -> key.contains("qkv_down"));
    }
}
