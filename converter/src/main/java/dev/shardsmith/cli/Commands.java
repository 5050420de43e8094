package dev.shardsmith.cli;

import java.util.List;
import java.util.Optional;

/** Every command there is, in the order of the help; a new one is a new class and one line here. */
final class Commands {
    private static final List<Command> ALL = List.of(
            new InspectCommand(),
            new ConvertCommand(),
            new PlanCommand(),
            new DiffCommand(),
            new ValidateCommand(),
            new VerifyCommand(),
            new PatternCommand(),
            new ForwardCommand(),
            new ManifestCommand(),
            new ScanCommand(),
            new SampleCommand(),
            new DoctorCommand(),
            new HelpCommand(),
            new CompletionCommand(),
            new ManCommand());

    private Commands() {}

    /** All commands. */
    static List<Command> all() {
        return ALL;
    }

    /** The names of all commands. */
    static List<String> names() {
        return ALL.stream().map(Command::name).toList();
    }

    /** The command of this name. */
    static Optional<Command> named(String name) {
        for (Command command : ALL) {
            if (command.name().equals(name)) {
                return Optional.of(command);
            }
        }
        return Optional.empty();
    }

    /** The command of this name, or an error that names the nearest one. */
    static Command require(String name) throws UsageException {
        Optional<Command> command = named(name);
        if (command.isPresent()) {
            return command.get();
        }
        String meant = Nearest.to(name, names())
                .map(near -> "\n  did you mean: " + near)
                .orElse("\n  commands: " + String.join(", ", names()));
        throw new UsageException("there is no command '" + name + "'" + meant);
    }
}
