package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.family.ElementTypes;
import dev.shardsmith.reshard.family.NamedPart;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.plan.Dropped;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.Planner;
import dev.shardsmith.reshard.plan.TargetLayout;
import dev.shardsmith.reshard.plan.TargetModel;
import dev.shardsmith.reshard.plan.TargetTensor;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Files;

/**
 * Lays out a Hugging Face folder anew: the same names and the same {@code config.json}, if there is one, whatever the model's
 * family; other files, another element type.
 */
final class HuggingFaceWriter {
    private HuggingFaceWriter() {}

    /** The plan of a rewritten folder. */
    static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        TargetLayout layout = new TargetLayout();
        TargetModel model = TargetModel.empty();
        HuggingFaceFiles files = new HuggingFaceFiles(layout);
        for (LogicalTensor tensor : source.tensors().values()) {
            String tied = source.shared().get(tensor.name());
            if (tied != null && options.tie() == Tie.DROP) {
                // As the reference writer records it.
                files.putMetadata(tensor.name(), tied);
                layout.addDropped(new Dropped(
                        tensor.name(), tensor.shape().elements(), tensor.bytes(), "--tie drop: it is " + tied));
                continue;
            }
            TargetTensor target = new TargetTensor(
                    tensor.name(),
                    tensor.name(),
                    ElementTypes.of(tensor, source.family(), options, model),
                    tensor.shape());
            model.add(target);
            files.add(target.name(), target.dtype(), NamedPart.whole(target.name(), target.shape()));
        }
        files.finish(options.maxShardSize());
        if (!source.config().isEmpty() || Files.isRegularFile(source.path().resolve("config.json"))) {
            files.addConfig(ConfigDtype.updated(source.config(), options));
        } else {
            layout.addNote("the source has no config.json, so neither has the target: put the model's own beside it");
        }
        files.copyCompanions(source);
        LeftOut.note(source, layout, "a file of named tensors holds nothing else", item -> true);
        return Planner.plan(source, model, layout);
    }
}
