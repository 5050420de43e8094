package dev.shardsmith.cli;

import java.util.List;
import org.apache.commons.cli.Options;

/** {@code shardsmith completion SHELL}: the script that teaches a shell our commands and options. */
final class CompletionCommand implements Command {
    @Override
    public String name() {
        return "completion";
    }

    @Override
    public String summary() {
        return "print the completion script for bash, zsh or fish";
    }

    @Override
    public String description() {
        return "Prints a script that lets the shell complete commands, options and their values. "
                + "SHELL is bash, zsh or fish.";
    }

    @Override
    public List<String> operands() {
        return List.of("SHELL");
    }

    @Override
    public Options options() {
        return new Options();
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("source <(shardsmith completion bash)", "Complete in this bash"),
                new Example(
                        "shardsmith completion fish > ~/.config/fish/completions/shardsmith.fish",
                        "Complete in every fish"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException {
        Shell shell = switch (line.operand(0)) {
            case "bash" -> Shell.BASH;
            case "zsh" -> Shell.ZSH;
            case "fish" -> Shell.FISH;
            default -> throw new UsageException("SHELL is bash, zsh or fish, but got '" + line.operand(0) + "'");
        };
        Completion.script(shell).forEach(out::line);
        return ExitCode.OK;
    }
}
