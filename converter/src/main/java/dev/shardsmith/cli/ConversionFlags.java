package dev.shardsmith.cli;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.ConversionOptions.ConvNaming;
import dev.shardsmith.reshard.plan.ConversionOptions.Keep;
import dev.shardsmith.reshard.plan.ConversionOptions.Model;
import dev.shardsmith.reshard.plan.ConversionOptions.NormNaming;
import dev.shardsmith.reshard.plan.ConversionOptions.Tie;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.view.ExpertForm;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Option;

/** What a conversion shall make of a checkpoint, as options: {@code convert} and {@code plan} share them. */
final class ConversionFlags {
    static final List<Option> ALL = List.of(
            Flags.value(
                    "to",
                    "megatron|torch_dist|mamba_ssm|huggingface|safetensors|pt",
                    "layout of the target; without it, that of the source"),
            Flags.value("tp", "N", "tensor-parallel size of the target"),
            Flags.value("pp", "N", "pipeline-parallel size of the target"),
            Flags.value("vpp", "N", "virtual stages of each pipeline rank"),
            Flags.value("ep", "N", "expert-parallel size of the target"),
            Flags.value("etp", "N", "tensor-parallel size of the experts"),
            Flags.value("pattern", "P", "hybrid layer pattern of the target, with | where stages end"),
            Flags.value("pp-layers", "A,B,…", "layers of each stage, in the order of the model"),
            Flags.value("vocab-size", "N", "number of real vocabulary rows; the rest is padding"),
            Flags.value("pad-vocab-to", "N", "number of vocabulary rows to write"),
            Flags.flag("strip-padding", "write the real vocabulary rows only"),
            Flags.value(
                    "pad-fill",
                    "zero|repeat-last|mean",
                    "how rows of padding are made; zero if not given. Stored padding is copied unless --vocab-size or --pad-fill asks for other"),
            Flags.value(
                    "dtype",
                    "keep|fp32|bf16|fp16",
                    "element type of the weights; A_log, D, dt_bias and router biases stay fp32 where they are"),
            Flags.flag("cast-sensitive", "with --dtype, cast A_log, D, dt_bias and router biases too"),
            Flags.value(
                    "optimizer",
                    "keep|drop",
                    "the optimizer's state of a Megatron checkpoint: drop, the default, names it and goes on; keep divides it "
                            + "as the model, from torch_dist to torch_dist where it has the shape of the parameters "
                            + "(fully_reshardable, or no distributed optimizer), and refuses otherwise"),
            Flags.value("extra-state", "keep|drop|empty", "what becomes of the state of Transformer Engine's modules"),
            Flags.value("conv1d-naming", "keep|old|new", "spelling of conv1d.weight (old) or conv1d_weight (new)"),
            Flags.value("tie", "keep|drop|materialise", "what becomes of an output layer tied to the embedding"),
            Flags.value("max-shard-size", "SIZE", "largest file of a Hugging Face folder, such as 4G"),
            Flags.flag("reset-iterations", "set iteration and consumed samples to 0"),
            Flags.value("set", "NAME=VALUE", "set a field of the saved arguments; may be repeated"),
            Flags.value("allow-missing", "GLOB", "accept that these tensors are missing; may be repeated"),
            Flags.value(
                    "multiple-of",
                    "N",
                    "channels in which mamba_ssm's MLPs are divided among ranks; that of the source, or 128"),
            Flags.value(
                    "drop-layers",
                    "KIND",
                    "leave out all layers of these kinds, such as M; where a Transformer is left, one is written"),
            Flags.value(
                    "norm-naming",
                    "keep|fused|separate",
                    "norms as parts of linear layers (Transformer Engine) or as modules of their own"),
            Flags.value(
                    "model",
                    "hybrid|gpt",
                    "one part a layer, or attention and MLP together; as the source if not given"),
            Flags.value(
                    "experts",
                    "sequential|grouped|stacked|flat",
                    "how rank files keep experts: a module each, a weight each, one tensor, or weight1 and weight2"));

    private ConversionFlags() {}

    /** Plans what a command line asks for, and says what its user should know of the source and of the options. */
    static Plan plan(ModelView source, Arguments line, Out out) throws UsageException, IOException {
        ConversionOptions wanted = read(line);
        Plan plan = Conversion.plan(source, wanted);
        SavedOptions.check(source, wanted, out);
        UnmatchedNames.warn(out, line, source, wanted);
        return plan;
    }

    /** What the options of a command line ask for. */
    static ConversionOptions read(Arguments line) throws UsageException, IOException {
        ConversionOptions.Builder wanted = new ConversionOptions.Builder();
        Optional<String> to = line.value("to");
        if (to.isPresent()) {
            wanted.to = Optional.of(layout("to", to.get()));
        }
        wanted.tensor = line.number("tp", 1);
        wanted.pipeline = line.number("pp", 1);
        wanted.virtual = line.number("vpp", 1);
        wanted.expert = line.number("ep", 1);
        wanted.expertTensor = line.number("etp", 1);
        wanted.pattern = line.value("pattern");
        wanted.pipelineLayers = line.numbers("pp-layers", 0).orElse(List.of());
        wanted.vocabulary = line.longNumber("vocab-size", 1);
        wanted.padVocabularyTo = line.longNumber("pad-vocab-to", 1);
        wanted.stripPadding = line.has("strip-padding");
        if (wanted.stripPadding && wanted.padVocabularyTo.isPresent()) {
            throw new UsageException("--strip-padding and --pad-vocab-to contradict each other; give one of them");
        }
        wanted.padFill = switch (line.choice("pad-fill", "zero", List.of("zero", "repeat-last", "mean"))) {
            case "zero" -> Fill.Mode.ZERO;
            case "repeat-last" -> Fill.Mode.REPEAT_LAST;
            default -> Fill.Mode.MEAN;
        };
        wanted.dtype = switch (line.choice("dtype", "keep", List.of("keep", "fp32", "bf16", "fp16"))) {
            case "fp32" -> Optional.of(DType.F32);
            case "bf16" -> Optional.of(DType.BF16);
            case "fp16" -> Optional.of(DType.F16);
            default -> Optional.empty();
        };
        wanted.castSensitive = line.has("cast-sensitive");
        if (wanted.castSensitive && wanted.dtype.isEmpty()) {
            throw new UsageException("--cast-sensitive casts nothing without --dtype; give --dtype fp32, bf16 or fp16");
        }
        wanted.multipleOf = line.longNumber("multiple-of", 1);
        wanted.optimizer = keep(line.choice("optimizer", "drop", List.of("keep", "drop")));
        wanted.extraState = keep(line.choice("extra-state", "keep", List.of("keep", "drop", "empty")));
        wanted.convNaming = switch (line.choice("conv1d-naming", "keep", List.of("keep", "old", "new"))) {
            case "old" -> ConvNaming.OLD;
            case "new" -> ConvNaming.NEW;
            default -> ConvNaming.KEEP;
        };
        wanted.tie = switch (line.choice("tie", "keep", List.of("keep", "drop", "materialise"))) {
            case "drop" -> Tie.DROP;
            case "materialise" -> Tie.MATERIALISE;
            default -> Tie.KEEP;
        };
        wanted.maxShardSize = line.size("max-shard-size");
        wanted.resetIterations = line.has("reset-iterations");
        for (String assignment : line.values("set")) {
            int at = assignment.indexOf('=');
            if (at <= 0) {
                throw Arguments.wrong("set", assignment, "NAME=VALUE");
            }
            wanted.set.put(assignment.substring(0, at), assignment.substring(at + 1));
        }
        List<UserRule> rules = new ArrayList<>();
        for (String rule : line.values("rule")) {
            rules.add(UserRule.parse(rule));
        }
        wanted.rules = rules;
        wanted.allowMissing =
                line.values("allow-missing").stream().map(Glob::of).toList();
        wanted.dropLayers = symbols(line.value("drop-layers").orElse(""));
        wanted.normNaming = switch (line.choice("norm-naming", "keep", List.of("keep", "fused", "separate"))) {
            case "fused" -> NormNaming.FUSED;
            case "separate" -> NormNaming.SEPARATE;
            default -> NormNaming.KEEP;
        };
        if (line.has("model")) {
            boolean hybrid =
                    line.choice("model", "hybrid", List.of("hybrid", "gpt")).equals("hybrid");
            wanted.model = Optional.of(hybrid ? Model.HYBRID : Model.TRANSFORMER);
        }
        if (line.has("experts")) {
            List<String> forms =
                    List.of(ExpertForm.values()).stream().map(ExpertForm::id).toList();
            wanted.experts = ExpertForm.of(line.choice("experts", "grouped", forms));
        }
        return wanted.build();
    }

    /** The layout of a word, or an error that lists the layouts. */
    static Layout layout(String option, String word) throws UsageException {
        Optional<Layout> layout = Layout.of(word);
        if (layout.isEmpty()) {
            List<String> names =
                    List.of(Layout.values()).stream().map(Layout::id).toList();
            throw Arguments.wrong(option, word, "one of " + String.join(", ", names));
        }
        return layout.get();
    }

    private static Keep keep(String word) {
        return switch (word) {
            case "drop" -> Keep.DROP;
            case "empty" -> Keep.EMPTY;
            default -> Keep.KEEP;
        };
    }

    private static String symbols(String kinds) throws UsageException {
        for (char symbol : kinds.toCharArray()) {
            if (LayerKind.of(symbol).isEmpty()) {
                throw Arguments.wrong("drop-layers", kinds, "symbols of layer kinds, such as E or ME");
            }
        }
        return kinds;
    }
}
