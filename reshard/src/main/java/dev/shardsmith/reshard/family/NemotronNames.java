package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.family.NamedPart.Link;
import dev.shardsmith.reshard.region.Box;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Names of Hugging Face's NemotronH for the parameters of a Megatron hybrid model.
 *
 * <p>All but one differ in name only. Megatron's {@code linear_qkv} interleaves per query group: its query heads, then its key, then
 * its value; NemotronH has three matrices.
 */
public final class NemotronNames {
    private static final Map<String, String> MODEL = Map.of(
            "embedding.word_embeddings.weight", "backbone.embeddings.weight",
            "decoder.final_norm.weight", "backbone.norm_f.weight",
            "decoder.final_layernorm.weight", "backbone.norm_f.weight",
            "output_layer.weight", "lm_head.weight");

    /** Kind of layer, Megatron's suffix, NemotronH's suffix; the first of several is what a new checkpoint gets. */
    private static final String LAYER = """
            M  mixer.conv1d_weight                           mixer.conv1d.weight
            M  mixer.conv1d_bias                             mixer.conv1d.bias
            M  mixer.dt_bias                                 mixer.dt_bias
            M  mixer.A_log                                   mixer.A_log
            M  mixer.D                                       mixer.D
            M  mixer.in_proj.layer_norm_weight               norm.weight
            M  mixer.in_proj.weight                          mixer.in_proj.weight
            M  mixer.in_proj.bias                            mixer.in_proj.bias
            M  mixer.conv1d.weight                           mixer.conv1d.weight
            M  mixer.conv1d.bias                             mixer.conv1d.bias
            M  mixer.norm.weight                             mixer.norm.weight
            M  mixer.out_proj.weight                         mixer.out_proj.weight
            M  mixer.out_proj.bias                           mixer.out_proj.bias
            M  norm.weight                                   norm.weight
            *  self_attention.linear_proj.weight             mixer.o_proj.weight
            *  self_attention.linear_proj.bias               mixer.o_proj.bias
            *  self_attention.linear_qkv.layer_norm_weight   norm.weight
            *  self_attention.linear_qkv.weight              mixer.?_proj.weight
            *  self_attention.linear_qkv.bias                mixer.?_proj.bias
            *  input_layernorm.weight                        norm.weight
            -  mlp.linear_fc1.layer_norm_weight              norm.weight
            -  mlp.linear_fc1.weight                         mixer.up_proj.weight
            -  mlp.linear_fc1.bias                           mixer.up_proj.bias
            -  mlp.linear_fc2.weight                         mixer.down_proj.weight
            -  mlp.linear_fc2.bias                           mixer.down_proj.bias
            E  pre_mlp_layernorm.weight                      norm.weight
            -  pre_mlp_layernorm.weight                      norm.weight
            E  mlp.router.weight                             mixer.gate.weight
            E  mlp.router.expert_bias                        mixer.gate.e_score_correction_bias
            E  mlp.fc1_latent_proj.weight                    mixer.fc1_latent_proj.weight
            E  mlp.fc2_latent_proj.weight                    mixer.fc2_latent_proj.weight
            E  mlp.experts.linear_fc1.weight#                mixer.experts.#.up_proj.weight
            E  mlp.experts.linear_fc2.weight#                mixer.experts.#.down_proj.weight
            E  mlp.experts.local_experts.#.linear_fc1.weight mixer.experts.#.up_proj.weight
            E  mlp.experts.local_experts.#.linear_fc2.weight mixer.experts.#.down_proj.weight
            E  mlp.shared_experts.linear_fc1.weight          mixer.shared_experts.up_proj.weight
            E  mlp.shared_experts.linear_fc2.weight          mixer.shared_experts.down_proj.weight
            """;

    /** Megatron's parameters of a prediction block itself: those before its layers, and the norm behind them. */
    private static final List<String> BLOCK = List.of("enorm.weight", "hnorm.weight", "eh_proj.weight");

    private static final String BLOCK_END = "final_layernorm.weight";

    private static final Pattern PREDICTION_NAME = Pattern.compile("mtp\\.layers\\.(\\d{1,9})\\.(.+)");
    private static final Pattern LAYER_NAME = Pattern.compile("(?:backbone|model)\\.layers\\.(\\d{1,9})\\.(.+)");
    private static final Pattern EXPERT = Pattern.compile("mixer\\.experts\\.(\\d{1,9})\\..+");

    private record Row(char kind, String megatron, String nemotron) {}

    private static final List<Row> ROWS = rows();

    private final String main;
    private final String prediction;

    private NemotronNames(String main, String prediction) {
        this.main = main;
        this.prediction = prediction;
    }

    /** The names in a model of these layers. */
    public static NemotronNames of(NemotronLayers layers) {
        return new NemotronNames(layers.main(), layers.prediction());
    }

    /**
     * The tensors that hold a Megatron parameter. Layers of prediction blocks are numbered through; the first of a block has its joining
     * projection and norms too, the last its final norm.
     *
     * @param name the parameter
     * @param shape its undivided shape
     * @param attention heads, for the fused projection
     * @return nothing if NemotronH has no such parameter
     */
    public Optional<List<NamedPart>> parts(MegatronName name, Shape shape, Optional<AttentionSizes> attention) {
        return switch (name.scope()) {
            case MODEL ->
                Optional.ofNullable(MODEL.get(name.suffix())).map(found -> List.of(NamedPart.whole(found, shape)));
            case LAYER ->
                inLayer("backbone.layers." + name.layer().orElseThrow() + ".", name.suffix(), shape, attention);
            case MTP -> {
                boolean end = name.suffix().equals(BLOCK_END);
                yield (end || BLOCK.contains(name.suffix())) && !prediction.isEmpty()
                        ? Optional.of(List.of(NamedPart.whole(
                                predictionLayer(name, end ? prediction.length() - 1 : 0) + name.suffix(), shape)))
                        : Optional.empty();
            }
            case MTP_LAYER -> {
                OptionalInt inner = name.innerLayer();
                yield inner.isPresent() && inner.getAsInt() < prediction.length()
                        ? inLayer(predictionLayer(name, inner.getAsInt()), name.suffix(), shape, attention)
                        : Optional.empty();
            }
        };
    }

    private String predictionLayer(MegatronName name, int inBlock) {
        return "mtp.layers." + ((long) name.depth().orElseThrow() * prediction.length() + inBlock) + ".";
    }

    private static Optional<List<NamedPart>> inLayer(
            String prefix, String parameter, Shape shape, Optional<AttentionSizes> attention) {
        String suffix = MegatronTable.withoutExpertNumber(parameter);
        int expert = MegatronTable.expertNumber(parameter);
        for (Row row : ROWS) {
            if (row.megatron().equals(suffix)) {
                if (row.nemotron().contains("?")) {
                    return attention
                            .filter(sizes -> sizes.fits(shape))
                            .map(sizes -> fused(prefix + row.nemotron(), shape, sizes));
                }
                return Optional.of(List.of(
                        NamedPart.whole(prefix + row.nemotron().replace("#", Integer.toString(expert)), shape)));
            }
        }
        return Optional.empty();
    }

    /** The names of the tensors that hold a Megatron parameter, whatever their shapes; empty if there are none. */
    public List<String> names(MegatronName name) {
        Shape any = Shape.of(3);
        return parts(name, any, Optional.of(new AttentionSizes(1, 1, 1)))
                .map(parts -> parts.stream().map(NamedPart::name).toList())
                .orElse(List.of());
    }

    /** The three projections of a fused one. */
    private static List<NamedPart> fused(String pattern, Shape shape, AttentionSizes sizes) {
        long perGroup = sizes.heads() / sizes.groups();
        long[] rows = {
            sizes.heads() * sizes.headDim(), sizes.groups() * sizes.headDim(), sizes.groups() * sizes.headDim()
        };
        long[] lengths = {perGroup * sizes.headDim(), sizes.headDim(), sizes.headDim()};
        String[] letters = {"q", "k", "v"};
        long stride = (perGroup + 2) * sizes.headDim();
        long offset = 0;
        List<NamedPart> parts = new ArrayList<>();
        for (int part = 0; part < letters.length; part++) {
            List<Link> links = new ArrayList<>();
            for (long group = 0; group < sizes.groups(); group++) {
                long[] at = new long[shape.rank()];
                at[0] = group * lengths[part];
                links.add(new Link(Box.slice(shape, 0, group * stride + offset, lengths[part]), at));
            }
            parts.add(new NamedPart(pattern.replace("?", letters[part]), shape.with(0, rows[part]), links));
            offset += lengths[part];
        }
        return parts;
    }

    /**
     * The Megatron names of a NemotronH checkpoint's tensors, with the undivided shapes.
     *
     * @param stored shapes by NemotronH's names
     * @param unknown gets the names that have no counterpart
     */
    public Map<String, Shape> megatron(Map<String, Shape> stored, List<String> unknown) {
        Map<String, Shape> shapes = new LinkedHashMap<>();
        for (Map.Entry<String, Shape> entry : stored.entrySet()) {
            String name = entry.getKey();
            Optional<String> found = modelName(name).or(() -> layerName(name)).or(() -> predictionName(name));
            if (found.isEmpty()) {
                unknown.add(name);
            } else {
                // Of a fused projection the rows add up.
                shapes.merge(
                        found.get(),
                        entry.getValue(),
                        (a, b) -> a.rank() == b.rank() && a.rank() > 0 ? a.with(0, a.size(0) + b.size(0)) : a);
            }
        }
        return shapes;
    }

    private static Optional<String> modelName(String name) {
        return switch (name.startsWith("model.") ? "backbone." + name.substring("model.".length()) : name) {
            case "backbone.embeddings.weight", "backbone.embedding.weight" ->
                Optional.of("embedding.word_embeddings.weight");
            case "backbone.norm_f.weight" -> Optional.of("decoder.final_norm.weight");
            case "lm_head.weight" -> Optional.of("output_layer.weight");
            default -> Optional.empty();
        };
    }

    private Optional<String> layerName(String name) {
        Matcher layer = LAYER_NAME.matcher(name);
        if (!layer.matches()) {
            return Optional.empty();
        }
        int number = Integer.parseInt(layer.group(1));
        char kind = number < main.length() ? main.charAt(number) : '?';
        return layerSuffix(layer.group(2), kind).map(suffix -> "decoder.layers." + number + "." + suffix);
    }

    private Optional<String> predictionName(String name) {
        Matcher layer = PREDICTION_NAME.matcher(name);
        if (prediction.isEmpty() || !layer.matches()) {
            return Optional.empty();
        }
        int number = Integer.parseInt(layer.group(1));
        int inBlock = number % prediction.length();
        String block = "mtp.layers." + number / prediction.length() + ".";
        String suffix = layer.group(2);
        if (BLOCK.contains(suffix)) {
            return inBlock == 0 ? Optional.of(block + suffix) : Optional.empty();
        }
        if (suffix.equals(BLOCK_END)) {
            return inBlock == prediction.length() - 1 ? Optional.of(block + suffix) : Optional.empty();
        }
        return layerSuffix(suffix, prediction.charAt(inBlock))
                .map(found -> block + "mtp_model_layer.layers." + inBlock + "." + found);
    }

    private static Optional<String> layerSuffix(String suffix, char kind) {
        Matcher expert = EXPERT.matcher(suffix);
        String number = expert.matches() ? expert.group(1) : "";
        String bare = expert.matches()
                ? suffix.substring(0, expert.start(1)) + "#" + suffix.substring(expert.end(1))
                : suffix.replaceFirst("^mixer\\.[qkv]_proj\\.", "mixer.?_proj.");
        return ROWS.stream()
                .filter(row -> row.kind() == kind && row.nemotron().equals(bare))
                .findFirst()
                .map(row -> row.megatron().replace("#", number));
    }

    private static List<Row> rows() {
        List<Row> rows = new ArrayList<>();
        for (String line : LAYER.lines().toList()) {
            String[] cells = line.trim().split(" +");
            rows.add(new Row(cells[0].charAt(0), cells[1], cells[2]));
        }
        return List.copyOf(rows);
    }
}
