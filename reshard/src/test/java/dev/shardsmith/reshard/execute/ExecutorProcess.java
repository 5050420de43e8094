package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.PlanCodec;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * Carries out a saved plan in a process of its own, slowly, so that a test can kill it on the way.
 *
 * <p>Arguments: the plan, the destination, the task, microseconds to wait before each write. Exits with 0 if its part is done
 * or published, with 4 if a {@link CheckpointException} was thrown.
 */
final class ExecutorProcess {
    static final int FAILED = 4;

    private ExecutorProcess() {}

    public static void main(String[] arguments) throws IOException {
        long microseconds = Long.parseLong(arguments[3]);
        try (FilePool pool = new FilePool()) {
            Plan plan = PlanCodec.read(Path.of(arguments[0]), pool);
            ExecutionOptions options = ExecutionOptions.defaults()
                    .withMemory(1)
                    .withWorkers(2)
                    .with(ExecutionOptions.Start.RESUME)
                    .with(TaskShare.parse(arguments[2], Map.of()))
                    .withSourceCheck(pool::verifyUnchanged);
            TargetFiles.ChannelOpener slow = HookedChannel.opener(bytes -> {
                long end = System.nanoTime() + microseconds * 1000;
                while (System.nanoTime() < end) {
                    Thread.onSpinWait();
                }
            });
            ExecutionReport report =
                    new PlanExecutor(slow, new WorkLog.Pace(1 << 20, 20)).run(plan, Path.of(arguments[1]), options);
            System.out.println(report.outcome());
        } catch (CheckpointException e) {
            System.out.println(e.getMessage());
            System.exit(FAILED);
        }
    }

    /** Starts such a process. */
    static Process start(Path plan, Path destination, String task, long microseconds) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-Xshare:auto",
                "-cp",
                System.getProperty("java.class.path"),
                ExecutorProcess.class.getName()));
        command.addAll(List.of(plan.toString(), destination.toString(), task, Long.toString(microseconds)));
        return new ProcessBuilder(command).redirectErrorStream(true).start();
    }
}
