package dev.shardsmith.cli;

import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.TaskShare;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.commons.cli.Option;

/** How a conversion is carried out, as options: {@code convert} and {@code sample} share them. */
final class Execution {
    /** Options of every command that writes a checkpoint. */
    static final List<Option> WRITING = List.of(
            Flags.flag("resume", "go on where an earlier run was interrupted"),
            Flags.flag("force", "replace what is at the destination, once the new one is complete"),
            Flags.value("workers", "N", "threads that move data; up to 8 if not given"),
            Flags.value("memory", "SIZE", "buffers of all threads together, such as 64M"),
            Flags.value(
                    "task",
                    "i/n|auto",
                    "do part i of n, counted from 0; auto asks Slurm, MPI, torchrun or Kubernetes for both"));

    /** For commands that read a checkpoint, too. */
    static final Option DAMAGED = Flags.value(
            "damaged",
            "refuse|copy",
            "what to do about source data whose recorded checksum is another; refuse if not given");

    private Execution() {}

    /** What the options of a command line ask for. */
    static ExecutionOptions read(Arguments line, Map<String, String> environment) throws UsageException, IOException {
        ExecutionOptions options = ExecutionOptions.defaults();
        OptionalInt workers = line.number("workers", 1);
        if (workers.isPresent()) {
            if (workers.getAsInt() > 256) {
                throw Arguments.wrong("workers", String.valueOf(workers.getAsInt()), "at most 256");
            }
            options = options.withWorkers(workers.getAsInt());
        }
        OptionalLong memory = line.size("memory");
        if (memory.isPresent()) {
            options = options.withMemory(memory.getAsLong());
        }
        if (line.has("resume")) {
            options = options.with(ExecutionOptions.Start.RESUME);
        }
        if (line.has("force")) {
            options = options.with(ExecutionOptions.Existing.REPLACE);
        }
        if (line.choice("damaged", "refuse", List.of("refuse", "copy")).equals("copy")) {
            options = options.with(ExecutionOptions.DamagedSource.COPY);
        }
        Optional<String> task = line.value("task");
        if (task.isPresent()) {
            options = options.with(TaskShare.parse(task.get(), environment));
        }
        return options;
    }
}
