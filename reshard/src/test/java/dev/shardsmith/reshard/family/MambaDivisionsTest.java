package dev.shardsmith.reshard.family;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.torch.NamedTensor;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.family.MambaDivisions.Extent;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.rule.Component;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.rule.UserRule;
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
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class MambaDivisionsTest {
    static Stream<Path> modules() {
        return TestData.cases("mamba-ssm-tp").stream();
    }

    /** The shards are of single modules, so their names are bare: what they are is told from the names. */
    @ParameterizedTest
    @MethodSource("modules")
    void ranksOfRealModulesMergeIntoTheWholeAndSplitAgain(Path folder) throws Exception {
        JsonNode expected = TestData.expected(folder);
        JsonNode info = expected.get("info");
        int world = expected.get("world_size").asInt();
        MambaConfig config = config(info);
        // Nothing but a name tells the two kinds of Linear apart where they divide evenly and have no bias.
        List<UserRule> rules = switch (info.get("module").asText()) {
            case "ColumnParallelLinear" -> List.of(UserRule.parse("weight=column"), UserRule.parse("bias=column"));
            case "RowParallelLinear" -> List.of(UserRule.parse("weight=row"));
            default -> List.of();
        };
        try (FilePool pool = new FilePool()) {
            Map<String, StoredTensor> full = tensors(pool, folder.resolve("full.pt"));
            List<Map<String, StoredTensor>> ranks = new ArrayList<>();
            List<Map<String, Shape>> shapes = new ArrayList<>();
            for (int rank = 0; rank < world; rank++) {
                Map<String, StoredTensor> own = tensors(pool, folder.resolve("rank" + rank + ".pt"));
                ranks.add(own);
                shapes.add(shapes(own));
            }
            MambaDivisions measured = MambaDivisions.measured(shapes, config, rules, Extent.RANKS);
            Optional<Long> multiple = info.has("multiple_of")
                    ? Optional.of(info.get("multiple_of").asLong())
                    : Optional.empty();
            MambaDivisions planned = MambaDivisions.planned(shapes(full), config, world, multiple, rules);
            assertThat(measured.unknown()).isEmpty();
            assertThat(planned.unknown()).isEmpty();
            boolean linear = info.get("module").asText().endsWith("Linear");
            for (Map.Entry<String, StoredTensor> entry : full.entrySet()) {
                String name = entry.getKey();
                assertThat(measured.shapes().get(name))
                        .as(name)
                        .isEqualTo(entry.getValue().shape());
                checkRanks(name, entry.getValue(), measured.divisions().get(name), ranks);
                if (!linear) {
                    checkRanks(name, entry.getValue(), planned.divisions().get(name), ranks);
                }
            }
            if (linear) {
                checkLinear(full, ranks, info.get("multiple_of").asLong(), rules);
            }
        }
    }

    /** A Linear's own multiple, with the axis that it cuts. */
    private static void checkLinear(
            Map<String, StoredTensor> full, List<Map<String, StoredTensor>> ranks, long multiple, List<UserRule> rules)
            throws IOException {
        int axis = rules.size() == 2 ? 0 : 1;
        for (Map.Entry<String, StoredTensor> entry : full.entrySet()) {
            Division division = new Division.RankZeroOnly();
            if (entry.getKey().equals("weight") || axis == 0) {
                long width = entry.getValue().shape().size(axis);
                division = new Division.Split(axis, List.of(new Component("", width, multiple)));
            }
            checkRanks(entry.getKey(), entry.getValue(), division, ranks);
        }
    }

    /** Uneven rows, or where the bias lies, tell without a rule which kind of Linear it is. */
    @Test
    void tellsTheKindsOfLinearApartWhereTheShardsDo() throws CheckpointException {
        Shape bias = Shape.of(3);
        Map<String, Shape> shard = Map.of("weight", Shape.of(3, 5), "bias", bias);
        MambaConfig config = new MambaConfig(Map.of());
        MambaDivisions column = MambaDivisions.measured(List.of(shard, shard), config, List.of(), Extent.RANKS);
        assertThat(column.shapes()).isEqualTo(Map.of("weight", Shape.of(6, 5), "bias", Shape.of(6)));
        MambaDivisions row = MambaDivisions.measured(
                List.of(shard, Map.of("weight", Shape.of(3, 5))), config, List.of(), Extent.RANKS);
        assertThat(row.shapes()).isEqualTo(Map.of("weight", Shape.of(3, 10), "bias", bias));
        MambaDivisions uneven = MambaDivisions.measured(
                List.of(Map.of("weight", Shape.of(4, 5)), Map.of("weight", Shape.of(3, 5))),
                config,
                List.of(),
                Extent.RANKS);
        assertThat(uneven.shapes()).isEqualTo(Map.of("weight", Shape.of(7, 5)));
        MambaDivisions unclear = MambaDivisions.measured(
                List.of(Map.of("weight", Shape.of(4, 5)), Map.of("weight", Shape.of(4, 5))),
                config,
                List.of(),
                Extent.RANKS);
        assertThat(unclear.unknown()).containsExactly("weight");
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

    /** A head reads the B and C of its group, so a rank has whole groups; the reference refuses a rest. */
    @ParameterizedTest
    @CsvSource({
        "8, 8, 4, ''",
        "8, 4, 2, ''",
        "8, 2, 2, ''",
        "6, 3, 3, ''",
        "8, 1, 1, ''",
        "8, 1, 4, '1 groups of heads (ngroups) do not divide evenly by 4'",
        "15, 3, 5, '3 groups of heads (ngroups) do not divide evenly by 5'",
        "8, 4, 8, '4 groups of heads (ngroups) do not divide evenly by 8'",
        "12, 6, 4, '6 groups of heads (ngroups) do not divide evenly by 4'"
    })
    void headsAndGroupsDecideWhichSizesAreAccepted(int heads, int groups, int world, String refused) throws Exception {
        Map<String, Shape> shapes = mamba2(heads, groups, 5, 1);
        MambaConfig config = new MambaConfig(Map.of("ssm_cfg", Map.of("ngroups", (long) groups)));
        if (refused.isEmpty()) {
            Division division = MambaDivisions.planned(shapes, config, world, Optional.empty(), List.of())
                    .divisions()
                    .get("backbone.layers.0.mixer.in_proj.weight");
            long rows = 4L * heads / world + 10L * groups / world + heads / world;
            for (int rank = 0; rank < world; rank++) {
                assertThat(division.localShape(Shape.of(5L * heads + 10L * groups, 8), rank, world))
                        .isEqualTo(Shape.of(rows, 8));
            }
        } else {
            assertThatThrownBy(() -> MambaDivisions.planned(shapes, config, world, Optional.empty(), List.of()))
                    .hasMessageContaining(refused)
                    .hasMessageContaining("sizes that divide it: 1");
        }
    }

    /** Ranks that were made with one group have B and C each: they are kept once, and compared. */
    @Test
    void oneGroupIsOnEveryRankAndKeptOnce() throws Exception {
        Map<String, Shape> shard = mamba2(2, 1, 5, 1);
        MambaConfig config = new MambaConfig(
                Map.of("d_model", 8L, "ssm_cfg", Map.of("ngroups", 1L, "d_state", 5L, "headdim", 2L, "expand", 2L)));
        MambaDivisions measured =
                MambaDivisions.measured(List.of(shard, shard, shard, shard), config, List.of(), Extent.RANKS);
        String name = "backbone.layers.0.mixer.in_proj.weight";
        assertThat(measured.shapes().get(name)).isEqualTo(Shape.of(5 * 8 + 2 * 5, 8));
        List<Placement> placements =
                measured.divisions().get(name).placements(measured.shapes().get(name), 3, 4);
        assertThat(placements).extracting(Placement::component).containsExactly("z", "x", "B", "C", "dt");
        assertThat(placements.get(2).logical()).isEqualTo(Box.slice(Shape.of(50, 8), 0, 32, 5));
        assertThat(placements.get(4).logical()).isEqualTo(Box.slice(Shape.of(50, 8), 0, 48, 2));
    }

    /** The shapes of a Mamba-2 layer with heads of two channels. */
    private static Map<String, Shape> mamba2(long heads, long groups, long states, int layers) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        for (int layer = 0; layer < layers; layer++) {
            String mixer = "backbone.layers." + layer + ".mixer.";
            long channels = 2 * heads + 2 * groups * states;
            shapes.put(mixer + "A_log", Shape.of(heads));
            shapes.put(mixer + "D", Shape.of(heads));
            shapes.put(mixer + "dt_bias", Shape.of(heads));
            shapes.put(mixer + "in_proj.weight", Shape.of(2 * heads + channels + heads, 8));
            shapes.put(mixer + "conv1d.weight", Shape.of(channels, 1, 4));
            shapes.put(mixer + "norm.weight", Shape.of(2 * heads));
            shapes.put(mixer + "out_proj.weight", Shape.of(8, 2 * heads));
        }
        return shapes;
    }

    @Test
    void aRankWithOtherHeadsThanChannelsIsNamed() {
        Map<String, Shape> odd = new LinkedHashMap<>(mamba2(4, 2, 5, 1));
        for (String name : List.of("A_log", "D", "dt_bias")) {
            odd.put("backbone.layers.0.mixer." + name, Shape.of(2));
        }
        odd.put("backbone.layers.0.mixer.in_proj.weight", Shape.of(8 + 28 + 2, 8));
        MambaConfig config = new MambaConfig(Map.of("ssm_cfg", Map.of("ngroups", 4L)));
        assertThatThrownBy(() ->
                        MambaDivisions.measured(List.of(mamba2(4, 2, 5, 1), odd), config, List.of(), Extent.RANKS))
                .hasMessageContaining("rank 0 of 2 holds 4 of 6 heads, but 8 of 16 channels of the scan");
    }

    @Test
    void anotherMultipleThanTheUsualIsFoundAndSaid() throws Exception {
        List<Map<String, Shape>> ranks = List.of(mlp(64), mlp(48), mlp(48));
        MambaDivisions measured = MambaDivisions.measured(ranks, new MambaConfig(Map.of()), List.of(), Extent.RANKS);
        assertThat(measured.warnings()).containsExactly("MLP channels are divided in multiples of 16, not of 32");
        assertThat(measured.shapes().get("backbone.layers.0.mlp.fc1.weight")).isEqualTo(Shape.of(320, 4));
    }

    @Test
    void theOneRankThatFitsNothingIsNamed() {
        List<Map<String, Shape>> ranks = List.of(mlp(1792), mlp(1792), mlp(1664), mlp(1600));
        assertThatThrownBy(() -> MambaDivisions.measured(ranks, new MambaConfig(Map.of()), List.of(), Extent.RANKS))
                .hasMessageContaining("rank 3 of 4 holds 1600 up rows, the rule gives it 1664: off by 64")
                .hasMessageContaining("no multiple_of gives [1792, 1792, 1664, 1600]");
    }

    @Test
    void aLostRankShowsAgainstTheConfig() {
        MambaConfig config = new MambaConfig(Map.of("d_model", 4L, "d_intermediate", 384L));
        assertThatThrownBy(() -> MambaDivisions.measured(List.of(mlp(128), mlp(128)), config, List.of(), Extent.RANKS))
                .isInstanceOf(CheckpointException.class)
                .satisfies(e -> assertThat(((CheckpointException) e).kind()).isEqualTo(Kind.INCOMPLETE))
                .hasMessageContaining("256 MLP channels (d_intermediate) where config.json says 384")
                .hasMessageContaining("see whether the file of a rank is missing");
    }

    @Test
    void parametersThatOnlyLaterRanksHaveAreNotLost() {
        Map<String, Shape> more = new LinkedHashMap<>(mlp(128));
        more.put("backbone.layers.0.mlp.extra", Shape.of(1));
        assertThatThrownBy(() -> MambaDivisions.measured(
                        List.of(mlp(128), more), new MambaConfig(Map.of()), List.of(), Extent.RANKS))
                .hasMessageContaining("rank 1 of 2 has this parameter, but rank 0 does not");
    }

    @Test
    void replicatedParametersHaveOneShape() {
        Map<String, Shape> one = Map.of("backbone.norm_f.weight", Shape.of(8));
        Map<String, Shape> other = Map.of("backbone.norm_f.weight", Shape.of(6));
        assertThatThrownBy(() -> MambaDivisions.measured(
                        List.of(one, other), new MambaConfig(Map.of()), List.of(), Extent.RANKS))
                .hasMessageContaining("rank 1 of 2 has shape [6], but rank 0 has [8]");
    }

    private static Map<String, Shape> mlp(long channels) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put("backbone.layers.0.mlp.fc1.weight", Shape.of(2 * channels, 4));
        shapes.put("backbone.layers.0.mlp.fc2.weight", Shape.of(4, channels));
        return shapes;
    }

    @Test
    void refusesWhatTheRealModulesRefuseAndNamesTheSizesThatFit() {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        shapes.put("backbone.embedding.weight", Shape.of(50280, 8));
        shapes.put("lm_head.weight", Shape.of(50280, 8));
        assertThatThrownBy(
                        () -> MambaDivisions.planned(shapes, new MambaConfig(Map.of()), 7, Optional.empty(), List.of()))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining("50280 rows of the vocabulary do not divide evenly by 7")
                .hasMessageContaining("try: --tp 6 or --tp 8")
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
        assertThatThrownBy(() -> MambaDivisions.measured(ranks, new MambaConfig(Map.of()), List.of(), Extent.RANKS))
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

    private static Map<String, StoredTensor> tensors(FilePool pool, Path file) throws IOException {
        Map<String, StoredTensor> tensors = new LinkedHashMap<>();
        for (NamedTensor tensor : TorchFile.open(pool, file).tensors()) {
            tensors.put(tensor.name(), tensor.tensor().data().orElseThrow());
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
