package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.safetensors.SafetensorsFile;
import dev.shardsmith.formats.safetensors.SafetensorsImage;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.family.ElementTypes;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.state.ModelState;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OpenOptions;
import dev.shardsmith.reshard.view.RankShard;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Single files of named tensors without a known model: a flat state dict as {@code .pt} or {@code .safetensors}. */
final class PlainFiles {
    private static final String SAFETENSORS = "model.safetensors";
    private static final String PT = "model.pt";

    private PlainFiles() {}

    /** Opens one file. */
    static ModelView read(Path path, FilePool pool, OpenOptions options) throws IOException {
        boolean safetensors = SafetensorsFile.looksLike(pool.file(path));
        ModelViewBuilder view = new ModelViewBuilder(path, pool, safetensors ? Layout.SAFETENSORS : Layout.PT);
        WeightFiles weights = WeightFiles.open(pool, List.of(path), options.trailingBytes());
        weights.describe(view);
        weights.places().forEach(places -> view.paths(places::of));
        for (Map.Entry<String, StoredTensor> entry : weights.tensors().entrySet()) {
            view.add(LogicalTensor.whole(entry.getKey(), entry.getValue()));
        }
        view.addRank(new RankShard(0, 0, 0, 0, view.tensors(), ModelState.none()));
        return view.family(Family.PLAIN)
                .description("single file of tensors, " + (safetensors ? "safetensors" : "PyTorch"))
                .build();
    }

    /** The plan of a conversion to one safetensors file. */
    static Plan planSafetensors(ModelView source, ConversionOptions options) throws IOException {
        TargetLayout layout = new TargetLayout();
        TargetModel model = model(source, options);
        List<SafetensorsImage.Tensor> tensors = new ArrayList<>();
        for (TargetTensor tensor : model.tensors().values()) {
            tensors.add(new SafetensorsImage.Tensor(tensor.name(), tensor.dtype(), tensor.shape()));
            layout.addPiece(
                    tensor.name(),
                    Piece.whole(TargetLayout.slot(SAFETENSORS, tensor.name(), tensor.dtype(), tensor.shape())));
        }
        layout.addFile(SafetensorsImage.of(SAFETENSORS, tensors, Map.of("format", "pt")));
        layout.setSingleFile();
        LeftOut.note(source, layout, "a file of named tensors holds nothing else", item -> true);
        return Planner.plan(source, model, layout);
    }

    /** The plan of a conversion to one PyTorch file with a flat state dict. */
    static Plan planPt(ModelView source, ConversionOptions options) throws IOException {
        TargetLayout layout = new TargetLayout();
        TargetModel model = model(source, options);
        ArchiveContent content = new ArchiveContent(PT, layout);
        List<PyEntry> entries = new ArrayList<>();
        for (TargetTensor tensor : model.tensors().values()) {
            layout.addPiece(tensor.name(), Piece.whole(content.slot(tensor.dtype(), tensor.shape())));
            entries.add(new PyEntry(new PyStr(tensor.name()), content.lastNode()));
        }
        layout.addFile(content.image(TorchPickle.orderedDict(entries), "archive"));
        layout.setSingleFile();
        LeftOut.note(source, layout, "a file of named tensors holds nothing else", item -> true);
        return Planner.plan(source, model, layout);
    }

    private static TargetModel model(ModelView source, ConversionOptions options) {
        TargetModel model = TargetModel.empty();
        for (LogicalTensor tensor : source.tensors().values()) {
            model.add(new TargetTensor(
                    tensor.name(),
                    tensor.name(),
                    ElementTypes.of(tensor, source.family(), options, model),
                    tensor.shape()));
        }
        return model;
    }
}
