package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.AttentionSizes;
import dev.shardsmith.reshard.family.MegatronName;
import dev.shardsmith.reshard.family.MegatronTarget;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.family.NemotronConfig;
import dev.shardsmith.reshard.family.NemotronDifferences;
import dev.shardsmith.reshard.family.NemotronLayers;
import dev.shardsmith.reshard.family.NemotronNames;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lays out a Megatron hybrid model as Hugging Face's NemotronH. */
final class NemotronWriter {
    private static final String EMBEDDING = "embedding.word_embeddings.weight";
    private static final String OUTPUT = "output_layer.weight";

    private final ModelView source;
    private final ConversionOptions options;
    private final TargetModel model;
    private final TargetLayout layout = new TargetLayout();
    private final MegatronArgs args;
    private final NemotronLayers layers;

    private NemotronWriter(ModelView source, ConversionOptions options) throws CheckpointException {
        this.source = source;
        this.options = options;
        this.args = source.state()
                .args()
                .orElseThrow(
                        () -> refused("the checkpoint has no saved options ('args'), from which config.json is made"));
        HybridPattern parsed = HybridPattern.parse(options.pattern()
                .or(() -> source.pattern())
                .orElseThrow(() -> refused("the checkpoint has no hybrid layer pattern: it is no hybrid model")
                        .withHint("give --pattern")));
        this.layers = NemotronLayers.of(parsed);
        requireOneMixer(source);
        List<String> obstacles = NemotronConfig.obstacles(args, layers);
        if (!obstacles.isEmpty()) {
            throw refused("NemotronH has no equivalent of: " + String.join("; ", obstacles));
        }
        List<String> differences = NemotronDifferences.inNemotron(args, layers);
        if (!keepsConfig()) {
            NemotronDifferences.ofDefaultTimeStep(layers).ifPresent(differences::add);
        }
        differences.forEach(difference -> layout.addNote("not the same in NemotronH: " + difference));
        this.model = MegatronTarget.of(source, options, 1, false);
    }

    /** The plan of a conversion to a NemotronH folder. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        NemotronWriter writer = new NemotronWriter(source, options);
        writer.layOut();
        return Planner.plan(source, writer.model, writer.layout);
    }

    private void layOut() throws IOException {
        HuggingFaceFiles files = new HuggingFaceFiles(layout);
        Optional<AttentionSizes> attention = AttentionSizes.of(args);
        NemotronNames names = NemotronNames.of(layers);
        List<String> unknown = new ArrayList<>();
        Map<String, Shape> shapes = new LinkedHashMap<>();
        for (TargetTensor tensor : model.tensors().values()) {
            shapes.put(tensor.name(), tensor.shape());
            Optional<List<NamedPart>> parts = names.parts(MegatronName.parse(tensor.name()), tensor.shape(), attention);
            if (parts.isEmpty()) {
                unknown.add(tensor.name() + " " + tensor.shape());
            } else {
                parts.get().forEach(part -> files.add(tensor.name(), tensor.dtype(), part));
            }
        }
        if (!unknown.isEmpty()) {
            throw refused("NemotronH has no tensors for: " + String.join(", ", unknown));
        }
        boolean tied = args.tiedEmbeddings() && !shapes.containsKey(OUTPUT);
        if (tied && options.tie() == Tie.MATERIALISE) {
            TargetTensor embedding = model.tensors().get(EMBEDDING);
            files.add(EMBEDDING, embedding.dtype(), NamedPart.whole("lm_head.weight", embedding.shape()));
        }
        files.finish(options.maxShardSize());
        boolean configTied = tied && options.tie() != Tie.MATERIALISE;
        files.addConfig(config(shapes, configTied));
        files.copyCompanions(source);
        Map<String, String> renamed = new LinkedHashMap<>();
        model.tensors().values().forEach(tensor -> renamed.put(tensor.source(), tensor.name()));
        List<String> order = source.order().stream()
                .map(name -> renamed.getOrDefault(name, name))
                .toList();
        layout.addFile(MegatronSidecar.image(source, sidecarEntries(), order, layout));
    }

    /** True if the source has a config, which is then the target's too. */
    private boolean keepsConfig() {
        return source.layout() == ModelView.Layout.HUGGINGFACE
                && !source.config().isEmpty();
    }

    private Map<String, Object> config(Map<String, Shape> shapes, boolean tied) {
        if (keepsConfig()) {
            Map<String, Object> config = ConfigDtype.updated(source.config(), options);
            if (config.containsKey("vocab_size") && shapes.containsKey(EMBEDDING)) {
                config.put("vocab_size", shapes.get(EMBEDDING).size(0));
            }
            config.put("tie_word_embeddings", tied);
            return config;
        }
        DType dtype = model.tensors().containsKey(EMBEDDING)
                ? model.tensors().get(EMBEDDING).dtype()
                : DType.F32;
        return NemotronConfig.config(args, layers, shapes, tied, dtype.torchName());
    }

    private Map<String, PyValue> sidecarEntries() {
        Map<String, PyValue> entries = new LinkedHashMap<>();
        source.state().entries().forEach((key, value) -> {
            if (!key.matches("model\\d*") && !key.equals("optimizer")) {
                entries.put(key, value);
            }
        });
        return entries;
    }

    /** A Transformer layer is two of NemotronH's layers. */
    private static void requireOneMixer(ModelView source) throws CheckpointException {
        for (String name : source.tensors().keySet()) {
            MegatronName parsed = MegatronName.parse(name);
            if (parsed.suffix().equals("mlp.linear_fc1.weight")
                    && source.tensors().containsKey(parsed.prefix() + "self_attention.linear_qkv.weight")) {
                throw refused("the model is a GPT: " + parsed.prefix()
                        + "* has attention and an MLP, which are two layers in" + " NemotronH");
            }
        }
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
