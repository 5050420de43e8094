package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.NamedPart.Link;
import dev.shardsmith.reshard.region.Box;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * A Megatron hybrid model as a model of mamba_ssm: which block each layer becomes, and the names of its parameters there.
 *
 * <p>A block of mamba_ssm has a mixer and, in all blocks or in none, an MLP. Megatron counts each of them as a layer.
 *
 * @param blocks for each layer of the pattern, the block that it is in
 * @param pattern the symbols of the layers
 */
public record MambaHybrid(List<Integer> blocks, String pattern) {
    private static final Map<String, String> MODEL = Map.of(
            "embedding.word_embeddings.weight", "backbone.embedding.weight",
            "decoder.final_norm.weight", "backbone.norm_f.weight",
            "decoder.final_layernorm.weight", "backbone.norm_f.weight",
            "output_layer.weight", "lm_head.weight");

    /** Symbol, Megatron's suffix, mamba_ssm's; the first of several is what a new Megatron checkpoint gets. */
    private static final String LAYER = """
            M  mixer.conv1d_weight                          mixer.conv1d.weight
            M  mixer.conv1d_bias                            mixer.conv1d.bias
            M  mixer.dt_bias                                mixer.dt_bias
            M  mixer.A_log                                  mixer.A_log
            M  mixer.D                                      mixer.D
            M  mixer.in_proj.weight                         mixer.in_proj.weight
            M  mixer.in_proj.layer_norm_weight              norm.weight
            M  mixer.in_proj.bias                           mixer.in_proj.bias
            M  mixer.norm.weight                            mixer.norm.weight
            M  mixer.out_proj.weight                        mixer.out_proj.weight
            M  mixer.out_proj.bias                          mixer.out_proj.bias
            M  mixer.conv1d.weight                          mixer.conv1d.weight
            M  mixer.conv1d.bias                            mixer.conv1d.bias
            M  norm.weight                                  norm.weight
            *  self_attention.linear_proj.weight            mixer.out_proj.weight
            *  self_attention.linear_proj.bias              mixer.out_proj.bias
            *  self_attention.linear_qkv.layer_norm_weight  norm.weight
            *  self_attention.linear_qkv.weight             mixer.in_proj.weight
            *  self_attention.linear_qkv.bias               mixer.in_proj.bias
            *  input_layernorm.weight                       norm.weight
            -  mlp.linear_fc1.layer_norm_weight             norm2.weight
            -  mlp.linear_fc1.weight                        mlp.fc1.weight
            -  mlp.linear_fc2.weight                        mlp.fc2.weight
            -  pre_mlp_layernorm.weight                     norm2.weight
            """;

    private record Row(char kind, String megatron, String mamba) {}

    private static final List<Row> ROWS = LAYER.lines()
            .map(line -> line.trim().split(" +"))
            .map(cells -> new Row(cells[0].charAt(0), cells[1], cells[2]))
            .toList();

    /** The blocks of a pattern; empty if its layers are no mixers with an MLP after each or after none. */
    public static Optional<MambaHybrid> of(String pattern) {
        List<Integer> blocks = new ArrayList<>();
        boolean withMlp = pattern.contains("-");
        int block = -1;
        boolean mixer = false;
        for (char symbol : pattern.toCharArray()) {
            if (symbol == '-' && mixer) {
                mixer = false;
            } else if ((symbol == 'M' || symbol == '*') && !(withMlp && mixer)) {
                block++;
                mixer = true;
            } else {
                return Optional.empty();
            }
            blocks.add(block);
        }
        return block < 0 || withMlp && mixer ? Optional.empty() : Optional.of(new MambaHybrid(blocks, pattern));
    }

    /** The pattern of a model of mamba_ssm with this many blocks, of which some have attention. */
    public static String pattern(long blocks, List<Long> attention, boolean withMlp) {
        StringBuilder pattern = new StringBuilder();
        for (long block = 0; block < blocks; block++) {
            pattern.append(attention.contains(block) ? '*' : 'M').append(withMlp ? "-" : "");
        }
        return pattern.toString();
    }

    /** Number of blocks. */
    public int count() {
        return blocks.isEmpty() ? 0 : blocks.get(blocks.size() - 1) + 1;
    }

    /** The blocks whose mixer is attention. */
    public List<Object> attention() {
        List<Object> indices = new ArrayList<>();
        for (int layer = 0; layer < pattern.length(); layer++) {
            if (pattern.charAt(layer) == '*') {
                indices.add((long) blocks.get(layer));
            }
        }
        return indices;
    }

    /**
     * The tensor of mamba_ssm that holds a Megatron parameter.
     *
     * @param shape its undivided shape
     * @param attention heads, for the fused projection
     * @return nothing if mamba_ssm has no such parameter
     */
    public Optional<NamedPart> part(MegatronName name, Shape shape, Optional<AttentionSizes> attention) {
        if (name.scope() == MegatronName.Scope.MODEL) {
            return Optional.ofNullable(MODEL.get(name.suffix())).map(found -> NamedPart.whole(found, shape));
        }
        int layer = name.scope() == MegatronName.Scope.LAYER ? name.layer().orElse(-1) : -1;
        if (layer < 0 || layer >= pattern.length()) {
            return Optional.empty();
        }
        return ROWS.stream()
                .filter(row ->
                        row.kind() == pattern.charAt(layer) && row.megatron().equals(name.suffix()))
                .findFirst()
                .flatMap(row -> part(
                        "backbone.layers." + blocks.get(layer) + "." + row.mamba(), row.megatron(), shape, attention));
    }

    private static Optional<NamedPart> part(
            String name, String suffix, Shape shape, Optional<AttentionSizes> attention) {
        if (suffix.contains("linear_qkv.") && !suffix.contains("norm")) {
            return attention.filter(sizes -> sizes.fits(shape)).map(sizes -> unfused(name, shape, sizes));
        }
        if (suffix.equals("mlp.linear_fc1.weight")) {
            // Megatron has the gate first, mamba_ssm the value.
            long half = shape.size(0) / 2;
            return shape.size(0) % 2 != 0
                    ? Optional.empty()
                    : Optional.of(new NamedPart(
                            name,
                            shape,
                            List.of(
                                    new Link(Box.slice(shape, 0, half, half), at(shape, 0)),
                                    new Link(Box.slice(shape, 0, 0, half), at(shape, half)))));
        }
        return Optional.of(NamedPart.whole(name, shape));
    }

    /** Megatron interleaves per query group: its query heads, key and value; mamba_ssm has all queries, keys, values. */
    private static NamedPart unfused(String name, Shape shape, AttentionSizes sizes) {
        long perGroup = sizes.heads() / sizes.groups();
        long dim = sizes.headDim();
        long stride = (perGroup + 2) * dim;
        List<Link> links = new ArrayList<>();
        for (long group = 0; group < sizes.groups(); group++) {
            long from = group * stride;
            links.add(new Link(Box.slice(shape, 0, from, perGroup * dim), at(shape, group * perGroup * dim)));
            links.add(new Link(
                    Box.slice(shape, 0, from + perGroup * dim, dim), at(shape, (sizes.heads() + group) * dim)));
            links.add(new Link(
                    Box.slice(shape, 0, from + (perGroup + 1) * dim, dim),
                    at(shape, (sizes.heads() + sizes.groups() + group) * dim)));
        }
        return new NamedPart(name, shape, links);
    }

    private static long[] at(Shape shape, long row) {
        long[] at = new long[shape.rank()];
        at[0] = row;
        return at;
    }

    /**
     * The Megatron names of a mamba_ssm model's tensors, in its order.
     *
     * @param unknown gets the names that have no counterpart
     * @return the tensors' names by Megatron's
     */
    public Map<String, String> megatron(Iterable<String> names, List<String> unknown) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String name : names) {
            Optional<String> other = megatron(name);
            if (other.isPresent()) {
                found.put(other.get(), name);
            } else {
                unknown.add(name);
            }
        }
        return found;
    }

    private Optional<String> megatron(String name) {
        switch (name) {
            case "backbone.embedding.weight":
                return Optional.of("embedding.word_embeddings.weight");
            case "backbone.norm_f.weight":
                return Optional.of("decoder.final_norm.weight");
            case "lm_head.weight":
                return Optional.of("output_layer.weight");
            default:
                break;
        }
        for (int layer = 0; layer < pattern.length(); layer++) {
            String prefix = "backbone.layers." + blocks.get(layer) + ".";
            if (name.startsWith(prefix)) {
                char kind = pattern.charAt(layer);
                String suffix = name.substring(prefix.length());
                Optional<Row> row = ROWS.stream()
                        .filter(each -> each.kind() == kind && each.mamba().equals(suffix))
                        .findFirst();
                if (row.isPresent()) {
                    return Optional.of(
                            "decoder.layers." + layer + "." + row.get().megatron());
                }
            }
        }
        return Optional.empty();
    }
}
