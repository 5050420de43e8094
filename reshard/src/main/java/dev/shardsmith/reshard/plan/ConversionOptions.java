package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;

/**
 * What a user wants of a conversion. An empty option keeps what the source has.
 *
 * @param to layout of the target
 * @param tensor tensor-parallel size
 * @param pipeline pipeline-parallel size
 * @param virtual virtual stages a pipeline rank
 * @param expert expert-parallel size
 * @param expertTensor tensor-parallel size of the experts
 * @param pattern hybrid layer pattern with stage boundaries
 * @param pipelineLayers layers of each stage, in order
 * @param vocabulary number of real vocabulary rows
 * @param padVocabularyTo number of vocabulary rows to write
 * @param stripPadding write only the real vocabulary rows
 * @param padFill how padding rows are made
 * @param dtype element type of floating-point weights
 * @param castSensitive cast parameters too whose rounding would change the model
 * @param optimizer what becomes of the optimizer's state
 * @param extraState what becomes of Transformer Engine's state
 * @param convNaming spelling of the convolution's keys
 * @param tie what becomes of tied embeddings
 * @param maxShardSize largest size of one file of a Hugging Face folder, in bytes
 * @param resetIterations set the iteration and the consumed samples to 0
 * @param set fields of the saved options to set
 * @param rules divisions of parameters that the family does not know
 * @param allowMissing names whose absence is accepted
 * @param dropLayers symbols of layer kinds to leave out
 * @param multipleOf in which multiple of channels mamba_ssm's MLPs are divided
 * @param model what a layer of the target consists of
 * @param normNaming spelling of the norms before layers
 * @param experts how the target's files keep the weights of experts
 */
public record ConversionOptions(
        Optional<Layout> to,
        OptionalInt tensor,
        OptionalInt pipeline,
        OptionalInt virtual,
        OptionalInt expert,
        OptionalInt expertTensor,
        Optional<String> pattern,
        List<Integer> pipelineLayers,
        OptionalLong vocabulary,
        OptionalLong padVocabularyTo,
        boolean stripPadding,
        Fill.Mode padFill,
        Optional<DType> dtype,
        boolean castSensitive,
        Keep optimizer,
        Keep extraState,
        ConvNaming convNaming,
        Tie tie,
        OptionalLong maxShardSize,
        boolean resetIterations,
        Map<String, String> set,
        List<UserRule> rules,
        List<Glob> allowMissing,
        String dropLayers,
        OptionalLong multipleOf,
        Optional<Model> model,
        NormNaming normNaming,
        Optional<ExpertForm> experts) {

    /** What becomes of state that need not come along. */
    public enum Keep {
        KEEP,
        DROP,
        /** Present, but without content. */
        EMPTY
    }

    /** Spelling of the convolution's keys in a Mamba layer. */
    public enum ConvNaming {
        KEEP,
        /** {@code mixer.conv1d.weight} */
        OLD,
        /** {@code mixer.conv1d_weight} */
        NEW
    }

    /** Spelling of the norm before a layer. */
    public enum NormNaming {
        KEEP,
        /** A part of the linear layer that follows, as with Transformer Engine: {@code linear_qkv.layer_norm_weight}. */
        FUSED,
        /** A module of its own, as without it: {@code input_layernorm.weight}. */
        SEPARATE
    }

    /** What a layer of a model consists of. */
    public enum Model {
        /** One part, as a hybrid layer pattern says. */
        HYBRID,
        /** Attention and MLP or experts, as in GPT. */
        TRANSFORMER
    }

    /** What becomes of an embedding that is tied to the output layer. */
    public enum Tie {
        KEEP,
        DROP,
        /** Written twice. */
        MATERIALISE
    }

    /** Options that change nothing. */
    public static ConversionOptions none() {
        return new Builder().build();
    }

    /** Gathers options one by one. */
    public static final class Builder {
        /** Layout of the target. */
        public Optional<Layout> to = Optional.empty();
        /** Tensor-parallel size. */
        public OptionalInt tensor = OptionalInt.empty();
        /** Pipeline-parallel size. */
        public OptionalInt pipeline = OptionalInt.empty();
        /** Virtual stages a pipeline rank. */
        public OptionalInt virtual = OptionalInt.empty();
        /** Expert-parallel size. */
        public OptionalInt expert = OptionalInt.empty();
        /** Tensor-parallel size of the experts. */
        public OptionalInt expertTensor = OptionalInt.empty();
        /** Hybrid layer pattern. */
        public Optional<String> pattern = Optional.empty();
        /** Layers of each stage. */
        public List<Integer> pipelineLayers = List.of();
        /** Real vocabulary rows. */
        public OptionalLong vocabulary = OptionalLong.empty();
        /** Vocabulary rows to write. */
        public OptionalLong padVocabularyTo = OptionalLong.empty();
        /** Write only the real vocabulary rows. */
        public boolean stripPadding;
        /** How padding rows are made. */
        public Fill.Mode padFill = Fill.Mode.ZERO;
        /** Element type of floating-point weights. */
        public Optional<DType> dtype = Optional.empty();
        /** Cast sensitive parameters too. */
        public boolean castSensitive;
        /** What becomes of the optimizer. */
        public Keep optimizer = Keep.DROP;
        /** What becomes of Transformer Engine's state. */
        public Keep extraState = Keep.KEEP;
        /** Spelling of the convolution's keys. */
        public ConvNaming convNaming = ConvNaming.KEEP;
        /** What becomes of tied embeddings. */
        public Tie tie = Tie.KEEP;
        /** Largest size of one file. */
        public OptionalLong maxShardSize = OptionalLong.empty();
        /** Set counters to 0. */
        public boolean resetIterations;
        /** Fields of the saved options to set. */
        public final Map<String, String> set = new LinkedHashMap<>();
        /** Divisions that the user gives. */
        public List<UserRule> rules = List.of();
        /** Names whose absence is accepted. */
        public List<Glob> allowMissing = List.of();
        /** Symbols of layer kinds to leave out. */
        public String dropLayers = "";
        /** Multiple of channels in which MLPs are divided. */
        public OptionalLong multipleOf = OptionalLong.empty();
        /** What a layer consists of. */
        public Optional<Model> model = Optional.empty();
        /** Spelling of norms. */
        public NormNaming normNaming = NormNaming.KEEP;
        /** How files keep the weights of experts. */
        public Optional<ExpertForm> experts = Optional.empty();

        /** The options as gathered. */
        public ConversionOptions build() {
            return new ConversionOptions(
                    to,
                    tensor,
                    pipeline,
                    virtual,
                    expert,
                    expertTensor,
                    pattern,
                    pipelineLayers,
                    vocabulary,
                    padVocabularyTo,
                    stripPadding,
                    padFill,
                    dtype,
                    castSensitive,
                    optimizer,
                    extraState,
                    convNaming,
                    tie,
                    maxShardSize,
                    resetIterations,
                    new LinkedHashMap<>(set),
                    rules,
                    allowMissing,
                    dropLayers,
                    multipleOf,
                    model,
                    normNaming,
                    experts);
        }
    }
}
