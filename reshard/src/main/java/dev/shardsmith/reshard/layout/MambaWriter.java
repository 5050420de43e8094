package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.family.ElementTypes;
import dev.shardsmith.reshard.family.MambaConfig;
import dev.shardsmith.reshard.family.MambaDivisions;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.rule.Division;
import dev.shardsmith.reshard.rule.Placement;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Lays out models of the mamba_ssm family, as rank files, as a whole {@code pytorch_model.bin}, or for Hugging Face. */
final class MambaWriter {
    private final ModelView source;
    private final ConversionOptions options;
    private final MambaConfig config;
    private final TargetModel model = TargetModel.empty();
    private final TargetLayout layout = new TargetLayout();
    private final Map<String, Shape> shapes = new LinkedHashMap<>();
    private final boolean tied;

    private MambaWriter(ModelView source, ConversionOptions options) {
        this.source = source;
        this.options = options;
        this.config = MambaConfig.isOne(source.config()) || source.config().isEmpty()
                ? new MambaConfig(source.config())
                : MambaConfig.ofHuggingFace(source.config());
        for (LogicalTensor tensor : source.tensors().values()) {
            model.add(new TargetTensor(
                    tensor.name(),
                    tensor.name(),
                    ElementTypes.of(tensor, source.family(), options, model),
                    tensor.shape()));
            shapes.put(tensor.name(), tensor.shape());
        }
        boolean written =
                source.ranks().stream().anyMatch(rank -> rank.tensors().containsKey(MambaReader.HEAD));
        this.tied = (config.saysTied() ? config.tied() : written) && !shapes.containsKey(MambaReader.HEAD);
    }

    /** The plan of a conversion to mamba_ssm's files. */
    static Plan planRanks(ModelView source, ConversionOptions options) throws IOException {
        MambaWriter writer = new MambaWriter(source, options);
        writer.ranks(options.tensor().orElse(source.parallelism().tensor()));
        return Planner.plan(source, writer.model, writer.layout);
    }

    /** The plan of a conversion to a Hugging Face folder. */
    static Plan planHuggingFace(ModelView source, ConversionOptions options) throws IOException {
        MambaWriter writer = new MambaWriter(source, options);
        writer.huggingFace();
        return Planner.plan(source, writer.model, writer.layout);
    }

    private void ranks(int world) throws IOException {
        MambaDivisions divisions = MambaDivisions.planned(shapes, config, world, multiple(), options.rules());
        requireKnown(divisions.unknown(), world);
        for (int rank = 0; rank < world; rank++) {
            String path = world == 1 ? "pytorch_model.bin" : "rank_" + rank + ".pt";
            ArchiveContent content = new ArchiveContent(path, layout);
            List<PyEntry> entries = new ArrayList<>();
            for (TargetTensor tensor : model.tensors().values()) {
                Division division = divisions.divisions().getOrDefault(tensor.name(), new Division.Replicated());
                if (division.heldBy(rank)) {
                    StoredTensor slot = content.slot(tensor.dtype(), division.localShape(tensor.shape(), rank, world));
                    for (Placement placement : division.placements(tensor.shape(), rank, world)) {
                        layout.addPiece(
                                tensor.name(),
                                new Piece(
                                        placement.logical().offset(),
                                        slot.narrow(
                                                placement.local(),
                                                placement.logical().size())));
                    }
                    entries.add(new PyEntry(new PyStr(tensor.name()), content.lastNode()));
                    if (tied && tensor.name().equals(MambaReader.EMBEDDING)) {
                        // The same storage under both names, as the real state dict has it.
                        entries.add(new PyEntry(new PyStr(MambaReader.HEAD), content.lastNode()));
                    }
                }
            }
            layout.addFile(content.image(TorchPickle.orderedDict(entries), path.substring(0, path.lastIndexOf('.'))));
        }
        if (!config.fields().isEmpty()) {
            layout.addFile(HuggingFaceFiles.literal("config.json", Json.write(config.fields())));
        } else if (shapes.containsKey(MambaReader.EMBEDDING)) {
            layout.addNote("the source has no config.json, so neither has the target: put the model's own beside it");
        }
        if (source.layout() == ModelView.Layout.HUGGINGFACE) {
            MambaConfig.differences(source.config()).forEach(layout::addNote);
        }
        Optional<KeptConfig> kept = KeptConfig.of(source);
        if (kept.isPresent() && !kept.get().fields().containsKey(MambaConfig.SECTION)) {
            layout.addFile(HuggingFaceFiles.literal(
                    KeptConfig.FILE, Json.write(kept.get().fields())));
        }
    }

    private void requireKnown(List<String> unknown, int world) throws CheckpointException {
        if (world > 1 && !unknown.isEmpty()) {
            throw refused("no rule says how these parameters are divided: " + String.join(", ", unknown))
                    .withHint(
                            "--rule '" + unknown.get(0) + "=replicate', or =column (its rows), or =row (its columns)");
        }
    }

    /** The MLP's multiple that the user gives, or that of the source if its ranks show one. */
    private Optional<Long> multiple() throws CheckpointException {
        if (options.multipleOf().isPresent()) {
            return Optional.of(options.multipleOf().getAsLong());
        }
        if (source.ranks().size() < 2) {
            return Optional.empty();
        }
        long common = 0;
        for (var rank : source.ranks()) {
            for (Map.Entry<String, LogicalTensor> entry : rank.tensors().entrySet()) {
                if (entry.getKey().endsWith("mlp.fc2.weight")) {
                    long channels = entry.getValue().shape().size(1);
                    common = BigInteger.valueOf(common)
                            .gcd(BigInteger.valueOf(channels))
                            .longValueExact();
                }
            }
        }
        return common > 0 && common % 128 != 0 ? Optional.of(common) : Optional.empty();
    }

    private void huggingFace() throws IOException {
        boolean mamba1 = shapes.keySet().stream().anyMatch(name -> name.endsWith("mixer.x_proj.weight"));
        boolean mamba3 = shapes.keySet().stream().anyMatch(name -> name.endsWith("mixer.B_bias"));
        List<String> obstacles = new ArrayList<>(mamba3 ? List.of("Mamba-3 layers") : List.of());
        TargetTensor embedding = model.tensors().get(MambaReader.EMBEDDING);
        long rows = embedding == null ? 0 : embedding.shape().size(0);
        String dtype = embedding == null ? "float32" : embedding.dtype().torchName();
        if (config.fields().isEmpty()) {
            throw refused(
                            "there is no config.json, and the weights do not tell how states are grouped and heads are wide")
                    .withHint("put the model's config.json beside its files");
        }
        Map<String, Object> made = config.huggingFace(rows, dtype, !mamba1, obstacles);
        if (!obstacles.isEmpty()) {
            throw refused("Hugging Face's " + made.get("model_type") + " has no equivalent of: "
                    + String.join("; ", obstacles));
        }
        boolean rewritten = source.layout() == ModelView.Layout.HUGGINGFACE;
        if (!mamba1 && config.groups() > 1 && !rewritten) {
            layout.addNote(MambaConfig.normDifference(config.groups()));
        }
        Map<String, Object> fields = rewritten ? ConfigDtype.updated(source.config(), options) : made;
        HuggingFaceFiles files = new HuggingFaceFiles(layout);
        for (TargetTensor tensor : model.tensors().values()) {
            String name = tensor.name().replace("backbone.embedding.", "backbone.embeddings.");
            files.add(tensor.name(), tensor.dtype(), NamedPart.whole(name, tensor.shape()));
        }
        if (tied && options.tie() == Tie.MATERIALISE && embedding != null) {
            files.add(embedding.name(), embedding.dtype(), NamedPart.whole(MambaReader.HEAD, embedding.shape()));
            fields.put("tie_word_embeddings", false);
        }
        files.finish(options.maxShardSize());
        if (rewritten) {
            files.addConfig(fields);
        } else {
            Optional<KeptConfig> kept = KeptConfig.of(source);
            Optional<Map<String, Object>> same = kept.isPresent() ? kept.get().of(config, made) : Optional.empty();
            made.put(MambaConfig.SECTION, config.fields());
            files.addConfig(same.orElse(made));
        }
        files.copyCompanions(source);
    }

    private static CheckpointException refused(String problem) {
        return CheckpointException.of(Kind.REFUSED, "", problem);
    }
}
