package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.ExecutionReport;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.Plan;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Carries out a plan under the eyes of the user. */
final class Writing {
    private Writing() {}

    /** Writes the target, with progress; what is odd becomes a warning. */
    static ExecutionReport execute(Plan plan, Path destination, ExecutionOptions options, Out out) throws IOException {
        boolean unfinished = Files.exists(PlanExecutor.partial(destination));
        ExecutionReport report;
        try (Interruption watch = Interruption.of(destination, out);
                ProgressMeter meter = out.progress("write", plan.bytes())) {
            report = PlanExecutor.execute(plan, destination, options.withProgress(meter::moveTo));
        }
        boolean anew = report.outcome() == ExecutionReport.Outcome.PUBLISHED && report.bytesResumed() == 0;
        if (unfinished
                && anew
                && options.start() == ExecutionOptions.Start.FRESH
                && options.task().count() == 1) {
            out.note("an unfinished run had left " + PlanExecutor.partial(destination) + "; it was started again");
        }
        report.overflows()
                .forEach((tensor, count) ->
                        out.warn("%s: %d values are too large for the new element type".formatted(tensor, count)));
        report.mismatches()
                .forEach((tensor, count) ->
                        out.warn("%s: copies that must be equal differ in %d elements".formatted(tensor, count)));
        report.damaged().forEach(name -> out.warn(name + ": the data are damaged, and were taken as they are"));
        return report;
    }

    /** Says what came of it. */
    static void print(Out out, Path destination, ExecutionReport report) {
        String rate = report.seconds() > 0
                ? ", " + ByteSize.format((long) (report.bytesWritten() / report.seconds())) + "/s"
                : "";
        long all = report.bytesWritten() + report.bytesResumed();
        if (report.bytesResumed() > 0) {
            out.field(
                    "resumed",
                    "%s of %s were done".formatted(ByteSize.format(report.bytesResumed()), ByteSize.format(all)));
        }
        String done = "%s in %s%s"
                .formatted(
                        ByteSize.format(report.bytesWritten()),
                        String.format(Locale.ROOT, "%.2f s", report.seconds()),
                        rate);
        switch (report.outcome()) {
            case PUBLISHED -> out.field("written", done + ": " + destination);
            case PART_DONE -> out.field("part done", done + "; another task publishes " + destination);
            case ALREADY_PUBLISHED -> out.field("complete", "an earlier run had finished " + destination);
        }
    }
}
