package dev.shardsmith.reshard.layout;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Random models of the reference implementation, and who owns each of their rows when ranks share them.
 *
 * <p>Written from the modules' constructors alone: a parameter is a list of owners, one for each row (or column), which are dealt out
 * like cards. Nothing here knows the product's tables or its arithmetic.
 */
final class SlowMamba {
    /** Owner of what every rank holds. */
    static final int ALL = -1;

    /** How a parameter is held. */
    enum Held {
        BY_ROWS,
        BY_COLUMNS,
        EVERYWHERE,
        BY_RANK_ZERO
    }

    /**
     * A parameter of the undivided model.
     *
     * @param owners the rank that holds each row or column
     */
    record Parameter(String name, long[] shape, Held held, List<Integer> owners) {
        int axis() {
            return held == Held.BY_COLUMNS ? 1 : 0;
        }

        /** Which rows or columns of the undivided parameter a rank has, in its order. */
        List<Long> heldBy(int rank) {
            List<Long> found = new ArrayList<>();
            for (int at = 0; at < owners.size(); at++) {
                if (owners.get(at) == rank || owners.get(at) == ALL) {
                    found.add((long) at);
                }
            }
            return found;
        }
    }

    private final MambaNumbers spec;
    private final int world;
    private final List<Parameter> parameters = new ArrayList<>();
    private List<Integer> owners = new ArrayList<>();
    private boolean legal = true;

    private SlowMamba(MambaNumbers spec, int world) {
        this.spec = spec;
        this.world = world;
    }

    /** The model as ranks of a world share it. */
    static SlowMamba of(MambaNumbers spec, int world) {
        SlowMamba model = new SlowMamba(spec, world);
        model.build();
        return model;
    }

    MambaNumbers spec() {
        return spec;
    }

    List<Parameter> parameters() {
        return parameters;
    }

    /** False if the real modules refuse this many ranks, or some rank would hold nothing. */
    boolean legal() {
        return legal;
    }

    private void build() {
        if (spec.positions() > 0) {
            even(spec.vocabulary(), 1);
            rows("backbone.embedding.word_embeddings.weight", spec.model());
            even(spec.model(), 1);
            columns("backbone.embedding.position_embeddings.weight", spec.positions());
        } else {
            even(spec.vocabulary(), 1);
            rows("backbone.embedding.weight", spec.model());
        }
        for (int layer = 0; layer < spec.layers(); layer++) {
            String prefix = "backbone.layers." + layer + ".";
            norm(prefix + "norm");
            int index = layer;
            boolean isAttention = Arrays.stream(spec.attention()).anyMatch(at -> at == index);
            if (isAttention) {
                attention(prefix + "mixer.");
            } else {
                switch (spec.kind()) {
                    case "Mamba1" -> mamba1(prefix + "mixer.");
                    case "Mamba2" -> mamba2(prefix + "mixer.");
                    default -> mamba3(prefix + "mixer.");
                }
            }
            if (spec.mlpUnits() > 0) {
                norm(prefix + "norm2");
                mlp(prefix + "mlp.");
            }
        }
        norm("backbone.norm_f");
        even(spec.vocabulary(), 1);
        rows("lm_head.weight", spec.model());
    }

    private void norm(String name) {
        everywhere(name + ".weight", spec.model());
        if (spec.layerNorm()) {
            everywhere(name + ".bias", spec.model());
        }
    }

    private void mamba1(String prefix) {
        int inner = spec.inner();
        deal(inner, 1);
        rows(prefix + "A_log", spec.states());
        deal(inner, 1);
        rows(prefix + "D");
        deal(inner, 1);
        deal(inner, 1);
        rows(prefix + "in_proj.weight", spec.model());
        if (spec.bias()) {
            deal(inner, 1);
            deal(inner, 1);
            rows(prefix + "in_proj.bias");
        }
        deal(inner, 1);
        rows(prefix + "conv1d.weight", 1, 4);
        if (spec.convBias()) {
            deal(inner, 1);
            rows(prefix + "conv1d.bias");
        }
        deal(inner, 1);
        columns(prefix + "x_proj.weight", 2 + 2L * spec.states());
        deal(inner, 1);
        rows(prefix + "dt_proj.weight", 2);
        deal(inner, 1);
        rows(prefix + "dt_proj.bias");
        deal(inner, 1);
        out(prefix, spec.bias());
    }

    /** A rank has whole groups, with their heads and the channels of these. */
    private void mamba2(String prefix) {
        int perGroup = spec.heads() / spec.groups();
        heads(perGroup);
        rows(prefix + "dt_bias");
        heads(perGroup);
        rows(prefix + "A_log");
        heads(spec.wideD() ? perGroup * spec.headDim() : perGroup);
        rows(prefix + "D");
        for (String parameter : spec.bias() ? List.of("in_proj.weight", "in_proj.bias") : List.of("in_proj.weight")) {
            even(spec.bypass(), 1);
            even(spec.bypass(), 1);
            heads(perGroup * spec.headDim());
            heads(perGroup * spec.headDim());
            heads(spec.states());
            heads(spec.states());
            heads(perGroup);
            rows(prefix + parameter, parameter.endsWith("bias") ? new long[0] : new long[] {spec.model()});
        }
        for (String parameter : spec.convBias() ? List.of("conv1d.weight", "conv1d.bias") : List.of("conv1d.weight")) {
            heads(perGroup * spec.headDim());
            heads(spec.states());
            heads(spec.states());
            rows(prefix + parameter, parameter.endsWith("bias") ? new long[0] : new long[] {1, 4});
        }
        if (spec.norm()) {
            heads(perGroup * spec.headDim());
            rows(prefix + "norm.weight");
        }
        even(spec.bypass(), 1);
        heads(perGroup * spec.headDim());
        out(prefix, spec.bias());
    }

    private void heads(int ofEachGroup) {
        even(spec.groups(), ofEachGroup);
    }

    private void mamba3(String prefix) {
        int angles = (int) (spec.states() * spec.rope()) / 2;
        heads3(1);
        rows(prefix + "dt_bias");
        for (String parameter : List.of("B_bias", "C_bias")) {
            heads3(1);
            rows(prefix + parameter, spec.mimoRank(), spec.states());
        }
        for (String parameter : spec.mimo() ? List.of("mimo_x", "mimo_z", "mimo_o") : List.<String>of()) {
            heads3(1);
            rows(prefix + parameter, spec.mimoRank(), spec.headDim());
        }
        heads3(1);
        rows(prefix + "D");
        heads3(spec.headDim());
        heads3(spec.headDim());
        for (int part = 0; part < 2 * spec.mimoRank(); part++) {
            if (spec.groups() == 1) {
                everyone(spec.states());
            } else {
                deal(spec.groups(), spec.states());
            }
        }
        heads3(1);
        heads3(1);
        heads3(1);
        everyone(angles);
        rows(prefix + "in_proj.weight", spec.model());
        everywhere(prefix + "B_norm.weight", spec.states());
        everywhere(prefix + "C_norm.weight", spec.states());
        if (spec.outNorm()) {
            heads3(spec.headDim());
            rows(prefix + "norm.weight");
        }
        heads3(spec.headDim());
        out(prefix, false);
    }

    /** With one group every rank may have any heads; with more it has whole groups. */
    private void heads3(int ofEachHead) {
        if (spec.groups() == 1) {
            deal(spec.heads(), ofEachHead);
        } else {
            deal(spec.groups(), spec.heads() / spec.groups() * ofEachHead);
        }
    }

    private void attention(String prefix) {
        int perKey = spec.queryHeads() / spec.keyHeads();
        int dim = spec.attentionDim();
        for (String parameter :
                spec.attentionBias() ? List.of("in_proj.weight", "in_proj.bias") : List.of("in_proj.weight")) {
            deal(spec.keyHeads(), perKey * dim);
            deal(spec.keyHeads(), dim);
            deal(spec.keyHeads(), dim);
            deal(spec.attentionMlp() / 2, 1);
            deal(spec.attentionMlp() / 2, 1);
            rows(prefix + parameter, parameter.endsWith("bias") ? new long[0] : new long[] {spec.model()});
        }
        for (String parameter :
                spec.attentionConv() > 0 ? List.of("conv1d.weight", "conv1d.bias") : List.<String>of()) {
            deal(spec.keyHeads(), perKey * dim);
            deal(spec.keyHeads(), dim);
            deal(spec.keyHeads(), dim);
            rows(prefix + parameter, parameter.endsWith("bias") ? new long[0] : new long[] {1, spec.attentionConv()});
        }
        deal(spec.keyHeads(), perKey * dim);
        deal(spec.attentionMlp() / 2, 1);
        out(prefix, spec.attentionBias());
    }

    private void mlp(String prefix) {
        for (String parameter : spec.mlpBias() ? List.of("fc1.weight", "fc1.bias") : List.of("fc1.weight")) {
            deal(spec.mlpUnits(), spec.mlpUnit());
            deal(spec.mlpUnits(), spec.mlpUnit());
            rows(prefix + parameter, parameter.endsWith("bias") ? new long[0] : new long[] {spec.model()});
        }
        deal(spec.mlpUnits(), spec.mlpUnit());
        columns(prefix + "fc2.weight", spec.model());
        if (spec.mlpBias()) {
            rankZero(prefix + "fc2.bias", spec.model());
        }
    }

    private void out(String prefix, boolean bias) {
        columns(prefix + "out_proj.weight", spec.model());
        if (bias) {
            rankZero(prefix + "out_proj.bias", spec.model());
        }
    }

    /** Deals cards to the ranks in turn; each then holds that many in a row. */
    private void deal(int cards, int linesOfEach) {
        int[] hands = new int[world];
        for (int card = 0; card < cards; card++) {
            hands[card % world]++;
        }
        if (cards > 0 && hands[world - 1] == 0) {
            legal = false;
        }
        for (int rank = 0; rank < world; rank++) {
            for (int line = 0; line < hands[rank] * linesOfEach; line++) {
                owners.add(rank);
            }
        }
    }

    private void even(int cards, int linesOfEach) {
        if (cards % world != 0) {
            legal = false;
        }
        deal(cards, linesOfEach);
    }

    private void everyone(int lines) {
        for (int line = 0; line < lines; line++) {
            owners.add(ALL);
        }
    }

    private void rows(String name, long... further) {
        long[] shape = new long[1 + further.length];
        shape[0] = owners.size();
        System.arraycopy(further, 0, shape, 1, further.length);
        add(name, shape, Held.BY_ROWS);
    }

    private void columns(String name, long rows) {
        add(name, new long[] {rows, owners.size()}, Held.BY_COLUMNS);
    }

    private void everywhere(String name, long size) {
        everyone((int) size);
        add(name, new long[] {size}, Held.EVERYWHERE);
    }

    private void rankZero(String name, long size) {
        for (int i = 0; i < size; i++) {
            owners.add(0);
        }
        add(name, new long[] {size}, Held.BY_RANK_ZERO);
    }

    private void add(String name, long[] shape, Held held) {
        parameters.add(new Parameter(name, shape, held, owners));
        owners = new ArrayList<>();
    }
}
