package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Family;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.io.IOException;

/** Plans conversions: from any model view to any layout that its family has. */
public final class Conversion {
    private Conversion() {}

    /**
     * Makes the plan; reads no tensor data and writes nothing.
     *
     * @param source what to convert
     * @param options what the user wants; without a layout, that of the source
     * @throws CheckpointException of kind REFUSED if it cannot be done, with everything that stands against it
     */
    public static Plan plan(ModelView source, ConversionOptions options) throws IOException {
        Layout to = options.to().orElse(source.layout());
        return switch (to) {
            case MEGATRON -> {
                require(source, Family.MEGATRON, to);
                yield MegatronWriter.plan(source, options);
            }
            case HUGGINGFACE -> {
                if (source.family() == Family.MAMBA_SSM) {
                    yield MambaWriter.planHuggingFace(source, options);
                }
                require(source, Family.MEGATRON, to);
                yield NemotronWriter.plan(source, options);
            }
            case TORCH_DIST -> {
                require(source, Family.MEGATRON, to);
                yield TorchDistWriter.plan(source, options);
            }
            case MAMBA_SSM -> {
                require(source, Family.MAMBA_SSM, to);
                yield MambaWriter.planRanks(source, options);
            }
            case SAFETENSORS -> PlainFiles.planSafetensors(source, options);
            case PT -> PlainFiles.planPt(source, options);
        };
    }

    private static void require(ModelView source, Family family, Layout to) throws CheckpointException {
        if (source.family() != family) {
            throw noEquivalent(source, to);
        }
    }

    private static CheckpointException noEquivalent(ModelView source, Layout to) {
        return CheckpointException.of(
                Kind.REFUSED,
                "",
                "a checkpoint of the family " + source.family().id() + " cannot be written as " + to.id());
    }
}
