package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.CheckpointException;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Which part of a plan's work a process does when several share it.
 *
 * @param index number of the process, from 0
 * @param count number of processes
 */
public record TaskShare(int index, int count) {
    /** All of the work. */
    public static final TaskShare ALL = new TaskShare(0, 1);

    private static final int MOST = 100_000;

    /** Variables of rank and world size that launchers set: Slurm, Open MPI, MPICH and Intel MPI, torchrun. */
    private static final List<List<String>> LAUNCHERS = List.of(
            List.of("SLURM_PROCID", "SLURM_NTASKS"),
            List.of("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            List.of("PMI_RANK", "PMI_SIZE"),
            List.of("RANK", "WORLD_SIZE"));

    /** A share; the index is below the count. */
    public TaskShare {
        if (count < 1 || count > MOST || index < 0 || index >= count) {
            throw new IllegalArgumentException("task " + index + " of " + count);
        }
    }

    /**
     * The share written as {@code i/n}, {@code i} from 0 to n - 1; {@code auto} or {@code auto/n} takes it from the launcher's
     * environment.
     *
     * @throws CheckpointException if the text is no share, or the environment does not tell
     */
    public static TaskShare parse(String text, Map<String, String> environment) throws CheckpointException {
        String[] parts = text.split("/", -1);
        if (parts[0].equals("auto") && parts.length <= 2) {
            return parts.length == 1
                    ? fromLauncher(environment)
                    : share(text, completionIndex(text, environment), number(parts[1]));
        }
        if (parts.length != 2) {
            throw noShare(text);
        }
        return share(text, number(parts[0]), number(parts[1]));
    }

    /**
     * The share that the launcher's environment tells, if one of the known launchers started this process with more than one
     * task: {@code SLURM_PROCID} and {@code SLURM_NTASKS}, {@code OMPI_COMM_WORLD_RANK} and {@code _SIZE}, {@code PMI_RANK} and
     * {@code PMI_SIZE}, {@code RANK} and {@code WORLD_SIZE}.
     */
    public static Optional<TaskShare> fromEnvironment(Map<String, String> environment) {
        for (List<String> names : LAUNCHERS) {
            int index = number(environment.getOrDefault(names.get(0), ""));
            int count = number(environment.getOrDefault(names.get(1), ""));
            if (index >= 0 && count > 1 && count <= MOST && index < count) {
                return Optional.of(new TaskShare(index, count));
            }
        }
        return Optional.empty();
    }

    /** {@code i/n} */
    @Override
    public String toString() {
        return index + "/" + count;
    }

    private static TaskShare fromLauncher(Map<String, String> environment) throws CheckpointException {
        return fromEnvironment(environment)
                .orElseThrow(() -> CheckpointException.of(
                                CheckpointException.Kind.ENVIRONMENT,
                                "",
                                "no launcher tells this process its rank and how many there are")
                        .withHint("give --task i/n, i from 0 to n - 1, or --task auto/n in a Kubernetes indexed job"));
    }

    /** Kubernetes tells an indexed job's pods their index, but not how many there are. */
    private static int completionIndex(String text, Map<String, String> environment) throws CheckpointException {
        String index = environment.get("JOB_COMPLETION_INDEX");
        if (index == null) {
            throw CheckpointException.of(
                    CheckpointException.Kind.ENVIRONMENT,
                    "",
                    "--task " + text + " needs JOB_COMPLETION_INDEX to be set");
        }
        return number(index);
    }

    private static TaskShare share(String text, int index, int count) throws CheckpointException {
        if (count < 1 || count > MOST || index < 0 || index >= count) {
            throw noShare(text);
        }
        return new TaskShare(index, count);
    }

    private static int number(String digits) {
        return digits.matches("[0-9]{1,9}") ? Integer.parseInt(digits) : -1;
    }

    private static CheckpointException noShare(String text) {
        return CheckpointException.of(
                        CheckpointException.Kind.REFUSED,
                        "",
                        "'" + text + "' is no task of the form i/n with i below n")
                .withHint("tasks are numbered from 0: --task 0/4 to --task 3/4");
    }
}
