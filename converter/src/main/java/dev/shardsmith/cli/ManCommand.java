package dev.shardsmith.cli;

import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith man [COMMAND]}: manual pages, made from the option definitions. */
final class ManCommand implements Command {
    @Override
    public String name() {
        return "man";
    }

    @Override
    public String summary() {
        return "print a manual page for man(1)";
    }

    @Override
    public String description() {
        return "Prints the manual page of a command, or of the whole program, in the format that man(1) reads.";
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
        return List.of(
                new Example("shardsmith man doctor > /tmp/shardsmith-doctor.1", "Write a manual page to a file"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException {
        Optional<String> name = line.optionalOperand(0);
        List<String> page = name.isPresent() ? ManPage.of(Commands.require(name.get())) : ManPage.overview();
        page.forEach(out::line);
        return ExitCode.OK;
    }
}
