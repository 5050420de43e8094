package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class MambaDivisionsTest {
    static Stream<Path> modules() {
        return TestData.cases("mamba-ssm-tp").stream()
                .filter(folder -> folder.getFileName().toString().matches("(mamba2|mha|gated_mlp|embeddings).*"));
    }

    @ParameterizedTest
    @MethodSource("modules")
    void ranksOfRealModulesMergeIntoTheWholeAndSplitAgain(Path folder) throws Exception {
        JsonNode expected = TestData.expected(folder);
        JsonNode info = expected.get("info");
        int world = expected.get("world_size").asInt();
        MambaConfig config = config(info);
        try (FilePool pool = new FilePool()) {
            Map<String, StoredTensor> full = tensors(pool, folder.resolve("full.pt"), info);
            List<Map<String, StoredTensor>> ranks = new ArrayList<>();
            List<Map<String, Shape>> shapes = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                Map<String, StoredTensor> own = tensors(pool, folder.resolve("rank" + rank + ".pt"), info);
                ranks.add(own);
                shapes.add(shapes(own));
            }
            MambaDivisions measured = MambaDivisions.measured(shapes, config);
            Optional<Long> multiple = info.has("multiple_of")
                    ? Optional.of(info.get("multiple_of").asLong())
                    : Optional.empty();
            MambaDivisions planned = MambaDivisions.planned(shapes(full), config, world, multiple);
            assertThat(measured.unknown()).isEmpty();
            for (Map.Entry<String, StoredTensor> entry : full.entrySet()) {
                String name = entry.getKey();
                assertThat(measured.shapes().get(name))
                        .as(name)
                        .isEqualTo(entry.getValue().shape());
                checkRanks(name, entry.getValue(), measured.divisions().get(name), ranks);
                checkRanks(name, entry.getValue(), planned.divisions().get(name), ranks);
            }
        }
    }

    private static void checkRanks(
            String name, StoredTensor full, Division division, List<Map<String, StoredTensor>> ranks)
            throws IOException {
        for (int rank = 0; rank < ranks.size(); rank++) {
            StoredTensor own = ranks.get(rank).get(name);
            assertThat(own != null).as(name + " on rank " + rank).isEqualTo(division.heldBy(rank));
            if (own == null) {
                continue;
            }
            assertThat(division.localShape(full.shape(), rank, ranks.size()))
                    .as(name)
                    .isEqualTo(own.shape());
            long covered = 0;
            for (Placement placement : division.placements(full.shape(), rank, ranks.size())) {
                long[] size = placement.logical().size();
                covered += placement.logical().elements();
                assertThat(bytes(own.narrow(placement.local(), size)))
                        .as(name + " " + placement.component() + " on rank " + rank)
                        .isEqualTo(bytes(full.narrow(placement.logical().offset(), size)));
            }
            assertThat(covered).isEqualTo(own.shape().elements());
        }
    }

    @Test
    void refusesWhatTheRealModulesRefuseAndNamesTheSizesThatFit() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", Shape.of(50280, 8));
        shapes.put("lm_head.weight", Shape.of(50280, 8));
        assertThatThrownBy(() -> MambaDivisions.planned(shapes, new MambaConfig(Map.of()), 7, Optional.empty()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("vocabulary rows")
                .hasMessageContaining("sizes that divide it: 1, 2, 3, 4, 5, 6, 8, 10, 12");
    }

    @Test
    void saysWhichRankIsOffAndByHowMuch() {
        List<Map<String, Shape>> ranks = List.of(
                Map.of(
                        "backbone.layers.0.mlp.fc2.weight",
                        Shape.of(4, 24),
                        "backbone.layers.0.mlp.fc1.weight",
                        Shape.of(48, 4)),
                Map.of(
                        "backbone.layers.0.mlp.fc2.weight",
                        Shape.of(4, 25),
                        "backbone.layers.0.mlp.fc1.weight",
                        Shape.of(50, 4)));
        assertThatThrownBy(() -> MambaDivisions.measured(ranks, new MambaConfig(Map.of())))
                .hasMessageContaining("rank 0 of 2 holds 24")
                .hasMessageContaining("gives it 25")
                .hasMessageContaining("off by 1");
    }

    /** Divides row by row with a list of owners instead of arithmetic. */
    @Test
    void unevenSplitsAgreeWithASlowOracle() {
        Cases.forAll(1000, random -> {
            int unit = 1 + random.nextInt(16);
            int units = random.nextInt(40);
            int world = 1 + random.nextInt(9);
            List<Integer> owners = new ArrayList<>();
            List<List<Integer>> cards = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                cards.add(new ArrayList<>());
            }
            for (int dealt = 0; dealt < units; dealt++) {
                cards.get(dealt % world).add(dealt);
            }
            for (int rank = 0; rank < world; rank++) {
                for (int i = 0; i < cards.get(rank).size() * unit; i++) {
                    owners.add(rank);
                }
            }
            Component component = new Component("", (long) units * unit, unit);
            for (int rank = 0; rank < world; rank++) {
                int owner = rank;
                assertThat(component.length(rank, world))
                        .isEqualTo(owners.stream().filter(o -> o == owner).count());
                assertThat(component.start(rank, world))
                        .isEqualTo(owners.stream().filter(o -> o < owner).count());
            }
        });
    }

    private static MambaConfig config(JsonNode info) {
        Map<String, Object> ssm = new LinkedHashMap<>();
        Map<String, Object> attention = new LinkedHashMap<>();
        if (info.has("ngroups")) {
            ssm.put("ngroups", info.get("ngroups").asLong());
            ssm.put("headdim", info.get("headdim").asLong());
        }
        if (info.has("heads")) {
            attention.put("num_heads", info.get("heads").asLong());
            attention.put("num_heads_kv", info.get("kv_heads").asLong());
            attention.put("head_dim", info.get("head_dim").asLong());
        }
        return new MambaConfig(Map.of("ssm_cfg", ssm, "attn_cfg", attention));
    }

    private static Map<String, StoredTensor> tensors(FilePool pool, Path file, JsonNode info) throws IOException {
        String prefix = switch (info.get("module").asText()) {
            case "GatedMLP" -> "backbone.layers.0.mlp.";
            case "ParallelEmbeddings" -> "backbone.embedding.";
            default -> "backbone.layers.0.mixer.";
        };
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        for (NamedTensor tensor : TorchFile.open(pool, file).tensors()) {
            tensors.put(prefix + tensor.name(), tensor.tensor().data().orElseThrow());
        }
        return tensors;
    }

    private static Map<String, Shape> shapes(Map<String, StoredTensor> tensors) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        tensors.forEach((name, data) -> shapes.put(name, data.shape()));
        return shapes;
    }

    private static byte[] bytes(StoredTensor view) throws IOException {
        int width = view.dtype().byteSize();
        long[] strides = view.shape().rowMajorStrides();
        byte[] bytes = new byte[(int) view.bytes()];
        for (long i = 0; i < view.shape().elements(); i++) {
            long from = view.offset();
            for (int dim = 0; dim < strides.length; dim++) {
                from += i / strides[dim] % view.shape().size(dim) * view.strides()[dim] * width;
            }
            view.source().read(from, ByteBuffer.wrap(bytes, (int) i * width, width));
        }
        return bytes;
    }
}
