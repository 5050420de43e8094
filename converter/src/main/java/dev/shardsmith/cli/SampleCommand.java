package dev.shardsmith.cli;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.ExecutionReport;
import dev.shardsmith.reshard.layout.Conversion;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith sample DST}: a random checkpoint of any size, for trying things out and for benchmarks. */
final class SampleCommand implements Command {
    @Override
    public String name() {
        return "sample";
    }

    @Override
    public String summary() {
        return "write a seeded random checkpoint of any size";
    }

    @Override
    public String description() {
        return "Writes a checkpoint of a random hybrid model: the parameter names, shapes and arguments of Megatron-LM, "
                + "values from a seed. The same command writes the same bytes everywhere, whatever the number of "
                + "workers. Memory does not depend on the size.";
    }

    @Override
    public List<String> operands() {
        return List.of("DST");
    }

    @Override
    public Options options() {
        Options options = Flags.of(
                Flags.value("pattern", "P", "hybrid layer pattern, with / before the layers of predictions"),
                Flags.value("hidden", "H", "hidden size"),
                Flags.value("vocab", "V", "rows of the vocabulary; 1024 if not given"),
                Flags.value("heads", "N", "attention heads"),
                Flags.value("query-groups", "N", "groups of attention heads that share keys and values"),
                Flags.value("head-dim", "N", "channels of an attention head"),
                Flags.value("mamba-heads", "N", "heads of a Mamba layer"),
                Flags.value("mamba-head-dim", "N", "channels of a Mamba head"),
                Flags.value("mamba-groups", "N", "groups of a Mamba layer"),
                Flags.value("mamba-state", "N", "state size of a Mamba layer"),
                Flags.value("ffn", "N", "width of an MLP"),
                Flags.value("experts", "N", "experts of an E layer"),
                Flags.value("expert-ffn", "N", "width of an expert"),
                Flags.value("shared-ffn", "N", "width of the shared expert; none if not given"),
                Flags.flag("gated", "MLPs with gates, as SwiGLU has"),
                Flags.flag("bias", "biases in linear layers"),
                Flags.flag("tied", "one weight for embedding and output layer"),
                Flags.flag("local-names", "names of a model without Transformer Engine"),
                Flags.value("conv1d-naming", "old|new", "spelling of the convolution's keys; new if not given"),
                Flags.value("seed", "S", "seed of the values; 0 if not given"),
                Flags.value("dtype", "fp32|bf16|fp16", "element type of the weights; bf16 if not given"),
                Flags.value(
                        "to",
                        "megatron|torch_dist|mamba_ssm|huggingface|safetensors|pt",
                        "layout; megatron if not given"),
                Flags.value("tp", "N", "tensor-parallel size"),
                Flags.value("pp", "N", "pipeline-parallel size"),
                Flags.value("vpp", "N", "virtual stages of each pipeline rank"),
                Flags.value("ep", "N", "expert-parallel size"),
                Flags.value("etp", "N", "tensor-parallel size of the experts"));
        Execution.WRITING.forEach(options::addOption);
        options.addOption(Flags.json());
        return options;
    }

    @Override
    public List<Example> examples() {
        return List.of(new Example(
                "shardsmith sample /tmp/tp8 --pattern 'M-M*-M-M' --hidden 256 --heads 8 --tp 8 --seed 7",
                "Write a checkpoint of eight ranks"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        Path destination = line.path(0);
        ExecutionOptions options = Execution.read(line, System.getenv());
        try (ModelView model = SampleModel.of(spec(line))) {
            Plan plan = Conversion.plan(model, target(line));
            ExecutionReport done = Writing.execute(plan, destination, options, out);
            PlanReport report = new PlanReport(plan);
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), json -> {
                    report.write(json);
                    json.writeStringField("output", destination.toString());
                    json.writeNumberField("seconds", done.seconds());
                });
            } else {
                report.print(out);
                Writing.print(out, destination, done);
            }
        }
        return ExitCode.OK;
    }

    private static ConversionOptions target(Arguments line) throws UsageException {
        ConversionOptions.Builder target = new ConversionOptions.Builder();
        Optional<String> to = line.value("to");
        if (to.isPresent()) {
            target.to = Optional.of(ConversionFlags.layout("to", to.get()));
        }
        target.tensor = line.number("tp", 1);
        target.pipeline = line.number("pp", 1);
        target.virtual = line.number("vpp", 1);
        target.expert = line.number("ep", 1);
        target.expertTensor = line.number("etp", 1);
        return target.build();
    }

    private static SampleSpec spec(Arguments line) throws UsageException {
        DType dtype = switch (line.choice("dtype", "bf16", List.of("fp32", "bf16", "fp16"))) {
            case "fp32" -> DType.F32;
            case "fp16" -> DType.F16;
            default -> DType.BF16;
        };
        String pattern = line.required("pattern");
        line.required("hidden");
        long hidden = line.longNumber("hidden", 1).orElseThrow();
        SampleSpec usual =
                SampleSpec.of(pattern, hidden, dtype, line.longNumber("seed", 0).orElse(0));
        long heads = line.longNumber("heads", 1).orElse(usual.heads());
        long headDim = line.has("heads") ? Math.max(1, hidden / heads) : usual.headDim();
        long mambaHeads = line.longNumber("mamba-heads", 1).orElse(usual.mambaHeads());
        long mambaHeadDim = line.has("mamba-heads") ? Math.max(1, 2 * hidden / mambaHeads) : usual.mambaHeadDim();
        return new SampleSpec(
                usual.pattern(),
                usual.hidden(),
                line.longNumber("vocab", 1).orElse(usual.vocabulary()),
                heads,
                line.longNumber("query-groups", 1).orElse(Math.min(8, heads)),
                line.longNumber("head-dim", 1).orElse(headDim),
                mambaHeads,
                line.longNumber("mamba-head-dim", 1).orElse(mambaHeadDim),
                line.longNumber("mamba-groups", 1).orElse(Math.min(8, mambaHeads)),
                line.longNumber("mamba-state", 1).orElse(usual.mambaState()),
                line.longNumber("ffn", 1).orElse(usual.ffn()),
                line.has("gated"),
                line.has("bias"),
                line.has("tied"),
                !line.has("local-names"),
                line.choice("conv1d-naming", "new", List.of("old", "new")).equals("new"),
                line.longNumber("experts", 1).orElse(usual.experts()),
                line.longNumber("expert-ffn", 1).orElse(usual.expertFfn()),
                line.longNumber("shared-ffn", 1).orElse(0),
                usual.groupedExperts(),
                usual.dtype(),
                usual.seed());
    }
}
