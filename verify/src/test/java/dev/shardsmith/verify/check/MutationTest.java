package dev.shardsmith.verify.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.testdata.Cases;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Damages a correct division one rule at a time: every mutant must be found, in its layer, and explained where it can be. */
final class MutationTest {
    static final int RANKS = 2;
    static final HybridModel MODEL = new HybridModel(
            Cases.random(11),
            new HybridModel.Sizes("M*-EM", 32, 8, 4, 4, 8, 8, 4, 8, 16, 4, 32, true, true, true, false, false, false));
    private static final String MIXER = "decoder.layers.0.mixer.";
    private static final String ATTENTION = "decoder.layers.1.self_attention.";
    private static final String MLP = "decoder.layers.2.mlp.";
    private static final String EXPERTS = "decoder.layers.3.mlp.";

    /**
     * One damaged rule.
     *
     * @param layer the layer that must be named; -1 embedding, -2 head
     * @param explanation part of what must be said about it; empty if any sentence will do
     */
    record Mutant(String name, int layer, String explanation, Consumer<List<Map<String, Grid>>> damage) {
        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Mutant> mutants() {
        int[] rows = local(MODEL.sizes.projection());
        int[] channels = local(MODEL.sizes.channels());
        int heads = rows[4];
        int step = rows[0] * 2 + rows[2] * 2;
        int ffn = MODEL.sizes.ffn() / RANKS;
        return Stream.of(
                mamba(
                        "z and x exchanged",
                        "z and x are exchanged",
                        List.of("in_proj.weight", "in_proj.bias"),
                        g -> g.components(rows, 1, 0, 2, 3, 4)),
                mamba(
                        "B and C exchanged in in_proj",
                        "B and C are exchanged in in_proj",
                        List.of("in_proj.weight", "in_proj.bias"),
                        g -> g.components(rows, 0, 1, 3, 2, 4)),
                mamba(
                        "B and C exchanged in the convolution",
                        "B and C are exchanged in the conv",
                        List.of("conv1d_weight", "conv1d_bias"),
                        g -> g.components(channels, 0, 2, 1)),
                mamba(
                        "B and C exchanged in both",
                        "in in_proj and the conv",
                        List.of("in_proj.weight", "in_proj.bias", "conv1d_weight", "conv1d_bias"),
                        g -> g.rows() == IntStream.of(rows).sum()
                                ? g.components(rows, 0, 1, 3, 2, 4)
                                : g.components(channels, 0, 2, 1)),
                mamba("heads of A_log rotated", "A_log are shifted", List.of("A_log"), g -> shifted(g, 0, heads, 1)),
                mamba("heads of D rotated", "D are shifted", List.of("D"), g -> shifted(g, 0, heads, -1)),
                mamba(
                        "heads of dt_bias rotated",
                        "dt_bias are shifted",
                        List.of("dt_bias"),
                        g -> shifted(g, 0, heads, 1)),
                mamba(
                        "heads of dt rotated",
                        "dt are shifted",
                        List.of("in_proj.weight", "in_proj.bias"),
                        g -> shifted(g, step, heads, 1)),
                mamba(
                        "z split off by one head",
                        "z are shifted",
                        List.of("in_proj.weight", "in_proj.bias"),
                        g -> shifted(g, 0, rows[0], MODEL.sizes.headDim())),
                mamba(
                        "x split off by one head",
                        "x are shifted",
                        List.of("in_proj.weight", "in_proj.bias"),
                        g -> shifted(g, rows[0], rows[1], MODEL.sizes.headDim())),
                mamba(
                        "channels of the convolution shifted",
                        "channels of the convolution",
                        List.of("conv1d_weight", "conv1d_bias"),
                        g -> shifted(g, 0, IntStream.of(channels).sum(), 1)),
                mamba(
                        "taps of the convolution reversed",
                        "reverse order",
                        List.of("conv1d_weight"),
                        g -> tapsReversed(g)),
                mamba("norm weights off by one channel", "", List.of("norm.weight"), g -> shifted(g, 0, rows[0], 1)),
                mamba(
                        "columns of out_proj off by one head",
                        "out_proj are shifted",
                        List.of("out_proj.weight"),
                        g -> columnsShifted(g, MODEL.sizes.headDim())),
                new Mutant("groups by % for /", 0, "modulo", MutationTest::moduloGroups),
                new Mutant(
                        "in_proj cut as one block",
                        0,
                        "in_proj was cut",
                        shards -> cutAsOneBlock(shards, MIXER + "in_proj.weight", MIXER + "in_proj.bias")),
                new Mutant(
                        "convolution cut as one block",
                        0,
                        "convolution was cut",
                        shards -> cutAsOneBlock(shards, MIXER + "conv1d_weight", MIXER + "conv1d_bias")),
                new Mutant(
                        "ranks of out_proj exchanged",
                        0,
                        "another order",
                        shards -> exchangeRanks(shards, MIXER + "out_proj.weight")),
                new Mutant(
                        "output bias of Mamba doubled",
                        0,
                        "added 2 times",
                        shards -> change(shards, MIXER + "out_proj.bias", (g, rank) -> g.times(2))),
                new Mutant(
                        "output bias of Mamba dropped",
                        0,
                        "output bias is missing",
                        shards -> drop(shards, MIXER + "out_proj.bias")),
                new Mutant(
                        "bias of the convolution dropped",
                        0,
                        "bias of the convolution is missing",
                        shards -> drop(shards, MIXER + "conv1d_bias")),
                new Mutant(
                        "bias of in_proj dropped",
                        0,
                        "bias of in_proj is missing",
                        shards -> drop(shards, MIXER + "in_proj.bias")),
                new Mutant(
                        "norm in front stored around zero",
                        0,
                        "added 1",
                        shards -> change(shards, MIXER + "in_proj.layer_norm_weight", (g, rank) -> g.plus(-1))),
                new Mutant(
                        "norm in front of another layer",
                        0,
                        "weights of the norm",
                        shards -> change(
                                shards,
                                MIXER + "in_proj.layer_norm_weight",
                                (g, rank) -> MODEL.whole.get("decoder.layers.4.mixer.in_proj.layer_norm_weight"))),
                new Mutant("q, k and v in blocks", 1, "in blocks where groups", MutationTest::attentionBlocks),
                new Mutant("k and v exchanged", 1, "k and v are exchanged", MutationTest::keysForValues),
                new Mutant(
                        "ranks of linear_proj exchanged",
                        1,
                        "another order",
                        shards -> exchangeRanks(shards, ATTENTION + "linear_proj.weight")),
                new Mutant(
                        "bias of qkv dropped",
                        1,
                        "bias of q, k and v",
                        shards -> drop(shards, ATTENTION + "linear_qkv.bias")),
                new Mutant(
                        "output bias of attention halved",
                        1,
                        "divided by 2",
                        shards -> change(shards, ATTENTION + "linear_proj.bias", (g, rank) -> g.times(0.5f))),
                new Mutant("gate and up exchanged", 2, "gate and up are exchanged", shards -> {
                    gateAndUp(shards, MLP + "linear_fc1.weight", ffn);
                    gateAndUp(shards, MLP + "linear_fc1.bias", ffn);
                }),
                new Mutant(
                        "gated projection cut as one block",
                        2,
                        "cut over ranks as one block",
                        shards -> cutAsOneBlock(shards, MLP + "linear_fc1.weight", MLP + "linear_fc1.bias")),
                new Mutant(
                        "bias of the MLP doubled",
                        2,
                        "added 2 times",
                        shards -> change(shards, MLP + "linear_fc2.bias", (g, rank) -> g.times(2))),
                new Mutant("experts rotated", 3, "experts are shifted", MutationTest::rotateExperts),
                new Mutant(
                        "bias of the choice dropped",
                        3,
                        "choice is missing",
                        shards -> drop(shards, EXPERTS + "router.expert_bias")),
                new Mutant("gate and up of the shared expert exchanged", 3, "shared expert", shards -> {
                    gateAndUp(shards, EXPERTS + "shared_experts.linear_fc1.weight", ffn);
                    gateAndUp(shards, EXPERTS + "shared_experts.linear_fc1.bias", ffn);
                }),
                new Mutant(
                        "one value of one weight changed by 5 %",
                        4,
                        "no known mistake",
                        shards -> change(
                                shards,
                                "decoder.layers.4.mixer.out_proj.weight",
                                (g, rank) -> rank == 1 ? oneValue(g) : g)),
                new Mutant(
                        "shards of the vocabulary exchanged",
                        -1,
                        "vocabulary",
                        shards -> exchangeRanks(shards, "embedding.word_embeddings.weight")),
                new Mutant(
                        "rows of the head shifted",
                        -2,
                        "head",
                        shards -> change(shards, "output_layer.weight", (g, rank) -> shifted(g, 0, g.rows(), 1))));
    }

    @ParameterizedTest
    @MethodSource("mutants")
    void everyDamageIsFoundInItsLayer(Mutant mutant) throws Exception {
        List<Map<String, Grid>> shards = MODEL.shards(RANKS);
        mutant.damage.accept(shards);
        CheckReport report = new ForwardCheck(
                        CheckBackend.get(), MODEL.model(1), MODEL.model(shards), CheckOptions.DEFAULT)
                .run(row -> {});
        List<LayerRow> wrong = report.rows().stream().filter(row -> !row.ok()).toList();
        assertThat(wrong).hasSize(1);
        LayerRow row = report.firstDivergence().orElseThrow();
        switch (mutant.layer) {
            case -1 -> assertThat(row.kind()).isEqualTo("embedding");
            case -2 -> assertThat(row.kind()).isEqualTo("head");
            default -> assertThat(row.layer()).contains(mutant.layer);
        }
        assertThat(row.explanation().orElseThrow()).contains(mutant.explanation);
    }

    @Test
    void theUndamagedModelAgreesAtEverySize() throws Exception {
        for (int ranks : new int[] {1, 2, 4}) {
            CheckReport report = new ForwardCheck(
                            CheckBackend.get(), MODEL.model(1), MODEL.model(ranks), CheckOptions.DEFAULT)
                    .run(row -> {});
            assertThat(report.ok()).as("TP %d", ranks).isTrue();
            assertThat(report.rows()).hasSize(7);
        }
    }

    private static int[] local(int[] sizes) {
        return IntStream.of(sizes).map(size -> size / RANKS).toArray();
    }

    private static Mutant mamba(String name, String explanation, List<String> tensors, UnaryOperator<Grid> change) {
        return new Mutant(name, 0, explanation, shards -> {
            for (String tensor : tensors) {
                change(shards, MIXER + tensor, (g, rank) -> change.apply(g));
            }
        });
    }

    private static void change(List<Map<String, Grid>> shards, String name, BiFunction<Grid, Integer, Grid> change) {
        for (int rank = 0; rank < shards.size(); rank++) {
            shards.get(rank).put(name, change.apply(shards.get(rank).get(name), rank));
        }
    }

    private static void drop(List<Map<String, Grid>> shards, String name) {
        shards.forEach(shard -> shard.remove(name));
    }

    private static Grid shifted(Grid g, int from, int count, int by) {
        return g.reordered(IntStream.range(0, g.rows())
                .map(i -> i < from || i >= from + count ? i : from + Math.floorMod(i - from + by, count))
                .toArray());
    }

    private static Grid columnsShifted(Grid g, int by) {
        float[] moved = new float[g.values().length];
        for (int i = 0; i < moved.length; i++) {
            int row = i / g.columns();
            moved[i] = g.values()[row * g.columns() + Math.floorMod(i + by, g.columns())];
        }
        return new Grid(g.rows(), g.columns(), moved);
    }

    private static Grid tapsReversed(Grid g) {
        float[] turned = new float[g.values().length];
        for (int i = 0; i < turned.length; i++) {
            int row = i / g.columns();
            turned[i] = g.values()[row * g.columns() + g.columns() - 1 - i % g.columns()];
        }
        return new Grid(g.rows(), g.columns(), turned);
    }

    private static Grid oneValue(Grid g) {
        float[] changed = g.values().clone();
        changed[7] *= 1.05f;
        return new Grid(g.rows(), g.columns(), changed);
    }

    private static void gateAndUp(List<Map<String, Grid>> shards, String name, int ffn) {
        change(shards, name, (g, rank) -> g.components(new int[] {ffn, ffn}, 1, 0));
    }

    private static void cutAsOneBlock(List<Map<String, Grid>> shards, String... names) {
        for (String name : names) {
            Grid whole = MODEL.whole.get(name);
            change(shards, name, (g, rank) -> whole.share(rank, RANKS, whole.rows()));
        }
    }

    private static void exchangeRanks(List<Map<String, Grid>> shards, String name) {
        List<Grid> grids =
                new ArrayList<>(shards.stream().map(shard -> shard.get(name)).toList());
        Collections.reverse(grids);
        change(shards, name, (g, rank) -> grids.get(rank));
    }

    /** Permutes the heads so that those that a group serves by {@code /} are those that it should serve by {@code %}. */
    private static void moduloGroups(List<Map<String, Grid>> shards) {
        int groups = MODEL.sizes.groups() / RANKS;
        int heads = MODEL.sizes.heads() / RANKS;
        int state = MODEL.sizes.state();
        int perGroup = heads / groups;
        int[] order = IntStream.range(0, heads)
                .map(i -> i % groups * perGroup + i / groups)
                .toArray();
        int p = MODEL.sizes.headDim();
        int inner = heads * p;
        int columns = groups * state;
        assertThat(order).containsExactly(0, 2, 1, 3);
        change(shards, MIXER + "A_log", (g, rank) -> g.reordered(order));
        change(shards, MIXER + "D", (g, rank) -> g.reordered(order));
        change(shards, MIXER + "dt_bias", (g, rank) -> g.reordered(order));
        change(shards, MIXER + "norm.weight", (g, rank) -> blocks(g, 0, order, p));
        for (String name : List.of("in_proj.weight", "in_proj.bias")) {
            change(
                    shards,
                    MIXER + name,
                    (g, rank) ->
                            blocks(blocks(blocks(g, 0, order, p), inner, order, p), 2 * inner + 2 * columns, order, 1));
        }
        for (String name : List.of("conv1d_weight", "conv1d_bias")) {
            change(shards, MIXER + name, (g, rank) -> blocks(g, 0, order, p));
        }
        change(shards, MIXER + "out_proj.weight", (g, rank) -> transposed(blocks(transposed(g), 0, order, p)));
    }

    private static Grid blocks(Grid g, int from, int[] order, int size) {
        return g.reordered(IntStream.range(0, g.rows())
                .map(i -> i < from || i >= from + order.length * size
                        ? i
                        : from + order[(i - from) / size] * size + (i - from) % size)
                .toArray());
    }

    private static Grid transposed(Grid g) {
        float[] turned = new float[g.values().length];
        for (int row = 0; row < g.rows(); row++) {
            for (int c = 0; c < g.columns(); c++) {
                turned[c * g.rows() + row] = g.values()[row * g.columns() + c];
            }
        }
        return new Grid(g.columns(), g.rows(), turned);
    }

    private static void attentionBlocks(List<Map<String, Grid>> shards) {
        int c = MODEL.sizes.headChannels();
        // Groups of [q, q, k, v] become blocks of four q, two k, two v.
        int[] order = {0, 1, 4, 5, 2, 6, 3, 7};
        for (String name : List.of("linear_qkv.weight", "linear_qkv.bias")) {
            change(shards, ATTENTION + name, (g, rank) -> blocks(g, 0, order, c));
        }
    }

    private static void keysForValues(List<Map<String, Grid>> shards) {
        int c = MODEL.sizes.headChannels();
        int[] order = {0, 1, 3, 2, 4, 5, 7, 6};
        for (String name : List.of("linear_qkv.weight", "linear_qkv.bias")) {
            change(shards, ATTENTION + name, (g, rank) -> blocks(g, 0, order, c));
        }
    }

    private static void rotateExperts(List<Map<String, Grid>> shards) {
        for (Map<String, Grid> shard : shards) {
            Map<String, Grid> moved = new LinkedHashMap<>();
            shard.forEach((name, grid) -> {
                for (int e = 0; e < 4; e++) {
                    if (name.startsWith(EXPERTS + "experts.local_experts." + e + ".")) {
                        moved.put(name.replace("local_experts." + e, "local_experts." + (e + 1) % 4), grid);
                    }
                }
            });
            shard.putAll(moved);
        }
    }
}
