package dev.shardsmith.cli;

import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.util.List;
import org.apache.commons.cli.Options;

/** {@code shardsmith plan SRC DST -o FILE}: plans a conversion without carrying it out. */
final class PlanCommand implements Command {
    @Override
    public String name() {
        return "plan";
    }

    @Override
    public String summary() {
        return "plan a conversion and keep the plan in a file";
    }

    @Override
    public String description() {
        return "Plans the conversion of SRC and writes the plan as Protocol Buffers, so that other machines can carry out "
                + "parts of it: convert SRC DST --plan FILE --task i/n. No tensor data is read.";
    }

    @Override
    public List<String> operands() {
        return List.of("SRC", "DST");
    }

    @Override
    public Options options() {
        Options options = Flags.of(Flags.output("FILE", "write the plan to this file"), Flags.force());
        ConversionFlags.ALL.forEach(options::addOption);
        Flags.report().getOptions().forEach(options::addOption);
        return options;
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example(
                        "shardsmith plan samples/hybrid-tp2-pp2 /tmp/tp2 --tp 2 --pp 1 -o /tmp/tp2.plan", "Plan once"),
                new Example(
                        "shardsmith convert samples/hybrid-tp2-pp2 /tmp/tp2 --plan /tmp/tp2.plan --task 0/2 & "
                                + "shardsmith convert samples/hybrid-tp2-pp2 /tmp/tp2 --plan /tmp/tp2.plan --task 1/2; wait",
                        "Carry it out with two processes"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        line.required("output");
        WholeFile file = line.output("output").orElseThrow();
        try (ModelView source = Opening.source(line, out)) {
            Plan plan = ConversionFlags.plan(source, line, out);
            PlanCodec.write(plan, file);
            PlanReport report = new PlanReport(plan);
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), json -> {
                    report.write(json);
                    json.writeStringField("output", file.path().toString());
                });
            } else {
                report.print(out);
                out.field("plan", file.path().toString());
            }
        }
        return ExitCode.OK;
    }
}
