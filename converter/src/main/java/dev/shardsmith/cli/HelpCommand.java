package dev.shardsmith.cli;

import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith help [COMMAND]}: the same as {@code --help}. */
final class HelpCommand implements Command {
    @Override
    public String name() {
        return "help";
    }

    @Override
    public String summary() {
        return "explain a command";
    }

    @Override
    public String description() {
        return "Explains a command, its options and examples; without a command, lists all of them.";
    }

    @Override
    public List<String> operands() {
        return List.of("[COMMAND]");
    }

    @Override
    public Options options() {
        return new Options();
    }

    @Override
    public List<Example> examples() {
        return List.of(new Example("shardsmith help doctor", "Explain one command"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException {
        Optional<String> name = line.optionalOperand(0);
        List<String> help = name.isPresent()
                ? HelpText.of(Commands.require(name.get()), out.terminal())
                : HelpText.overview(out.terminal());
        help.forEach(out::line);
        return ExitCode.OK;
    }
}
