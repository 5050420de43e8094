package dev.shardsmith.cli;

import java.io.IOException;
import java.util.List;
import org.apache.commons.cli.Options;

/** One command of {@code shardsmith}: what it is called, what it takes, and what it does. */
interface Command {
    /** The word on the command line. */
    String name();

    /** One line for the list of commands, without a full stop. */
    String summary();

    /** What the command does, in a few sentences. */
    String description();

    /** Names of the operands in order: {@code SRC}, {@code DST}; one that may be left out stands in brackets. */
    List<String> operands();

    /** The options of this command, without the global ones. */
    Options options();

    /** Command lines to copy. */
    List<Example> examples();

    /** Whether a word that begins with a dash is an operand of this command all the same. */
    default boolean takesAsOperand(String word) {
        return false;
    }

    /**
     * Does the work.
     *
     * @throws UsageException if options contradict each other
     * @throws IOException if a checkpoint or the environment stands in the way
     */
    ExitCode run(Arguments line, Out out) throws UsageException, IOException;
}
