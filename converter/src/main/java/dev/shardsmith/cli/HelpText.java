package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Terminal;
import dev.shardsmith.cli.terminal.Wrapping;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.apache.commons.cli.Option;

/** Help as text, as wide as the terminal. */
final class HelpText {
    private static final int WIDEST = 100;
    private static final int OPTION_COLUMN = 30;
    private static final String INDENT = "  ";

    private HelpText() {}

    /** What the program is and all its commands. */
    static List<String> overview(Terminal terminal) {
        List<String> lines = new ArrayList<>();
        lines.add("Converts, inspects, compares and verifies checkpoints of hybrid models.");
        lines.add("");
        lines.add(Ink.BOLD.on(terminal, "Usage"));
        lines.add(INDENT + Version.TOOL + " COMMAND [operands] [options]");
        lines.add("");
        lines.add(Ink.BOLD.on(terminal, "Commands"));
        int column = 2 * INDENT.length()
                + Commands.names().stream().mapToInt(String::length).max().orElse(0);
        for (Command command : Commands.all()) {
            entry(lines, terminal, command.name(), command.summary(), column);
        }
        lines.add("");
        lines.add(Ink.BOLD.on(terminal, "Options of every command"));
        options(lines, terminal, Flags.GLOBAL);
        lines.add("");
        lines.addAll(exitCodes(terminal));
        lines.add("");
        lines.add("'%s COMMAND --help' explains one command.".formatted(Version.TOOL));
        return lines;
    }

    /** One command with its options and examples. */
    static List<String> of(Command command, Terminal terminal) {
        List<String> lines = new ArrayList<>();
        lines.addAll(Wrapping.lines(command.description(), width(terminal)));
        lines.add("");
        lines.add(Ink.BOLD.on(terminal, "Usage"));
        lines.add(INDENT + usage(command));
        if (!command.options().getOptions().isEmpty()) {
            lines.add("");
            lines.add(Ink.BOLD.on(terminal, "Options"));
            options(lines, terminal, command.options().getOptions());
        }
        lines.add("");
        lines.add(Ink.BOLD.on(terminal, "Options of every command"));
        options(lines, terminal, Flags.GLOBAL);
        if (!command.examples().isEmpty()) {
            lines.add("");
            lines.add(Ink.BOLD.on(terminal, "Examples"));
            for (Example example : command.examples()) {
                Wrapping.lines(example.purpose() + ":", width(terminal) - INDENT.length())
                        .forEach(line -> lines.add(INDENT + line));
                lines.add(INDENT + INDENT + example.line());
            }
        }
        return lines;
    }

    /** The command line in one line: {@code shardsmith convert SRC DST [options]}. */
    static String usage(Command command) {
        StringBuilder usage = new StringBuilder(Version.TOOL).append(' ').append(command.name());
        command.operands().forEach(operand -> usage.append(' ').append(operand));
        return command.options().getOptions().isEmpty()
                ? usage.toString()
                : usage.append(" [options]").toString();
    }

    /** An option as it is typed: {@code -o}, {@code --json}. */
    static String spelling(Option option) {
        return option.getOpt() == null ? "--" + option.getLongOpt() : "-" + option.getOpt();
    }

    /** The value's name as help shows it: {@code N}, {@code [GLOB]}, or nothing. */
    static String value(Option option) {
        if (!option.hasArg()) {
            return "";
        }
        return option.hasOptionalArg() ? " [" + option.getArgName() + "]" : " " + option.getArgName();
    }

    private static void options(List<String> lines, Terminal terminal, Collection<Option> options) {
        for (Option option : options) {
            String both = option.getOpt() == null
                    ? "--" + option.getLongOpt()
                    : "-" + option.getOpt() + ", --" + option.getLongOpt();
            entry(lines, terminal, both + value(option), option.getDescription(), OPTION_COLUMN);
        }
    }

    private static void entry(List<String> lines, Terminal terminal, String term, String text, int column) {
        String head = INDENT + term;
        List<String> wrapped = Wrapping.lines(text, width(terminal) - column);
        if (head.length() + INDENT.length() > column) {
            lines.add(head);
            head = "";
        }
        for (String line : wrapped) {
            lines.add(head + " ".repeat(column - head.length()) + line);
            head = "";
        }
    }

    private static List<String> exitCodes(Terminal terminal) {
        return List.of(
                Ink.BOLD.on(terminal, "Exit codes"),
                INDENT + "0  yes: done, same, valid, equivalent, clean",
                INDENT + "1  no: different, invalid, findings",
                INDENT + "2  wrong usage",
                INDENT + "3  input unreadable, damaged or inconclusive",
                INDENT + "4  I/O or environment: disk full, no device");
    }

    private static int width(Terminal terminal) {
        return Math.min(WIDEST, terminal.columns());
    }
}
