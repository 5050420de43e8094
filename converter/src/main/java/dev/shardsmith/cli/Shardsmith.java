package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ProgressStyle;
import dev.shardsmith.cli.terminal.Terminal;
import dev.shardsmith.cli.terminal.Wrapping;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.commons.cli.CommandLine;
import org.apache.commons.cli.DefaultParser;
import org.apache.commons.cli.MissingArgumentException;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;
import org.apache.commons.cli.ParseException;
import org.apache.commons.cli.UnrecognizedOptionException;

/** The program without its process: finds the command, parses its line, runs it, and turns failures into exit codes. */
final class Shardsmith {
    private final PrintStream reports;
    private final PrintStream messages;
    private final Map<String, String> environment;

    Shardsmith(PrintStream reports, PrintStream messages, Map<String, String> environment) {
        this.reports = reports;
        this.messages = messages;
        this.environment = environment;
    }

    /** Runs one command line. */
    ExitCode run(String... words) {
        List<String> rest = new ArrayList<>(List.of(words));
        List<String> global = globalFlagsInFront(rest);
        Terminal terminal = Terminal.of(environment);
        if (global.contains("--version")) {
            reports.print(Version.TOOL + " " + Version.current() + "\n");
            return ExitCode.OK;
        }
        if (rest.isEmpty()) {
            boolean asked = global.contains("--help") || global.contains("-h");
            if (!asked && !global.isEmpty()) {
                messages.println(Version.TOOL + ": no command after '" + global.get(0) + "'");
            }
            HelpText.overview(terminal).forEach(line -> (asked ? reports : messages).print(line + "\n"));
            return asked ? ExitCode.OK : ExitCode.USAGE;
        }
        boolean debug = global.contains("--debug") || rest.contains("--debug");
        boolean json = rest.contains("--json");
        String name = rest.remove(0);
        try {
            Command command = Commands.require(name);
            rest.addAll(0, global);
            return run(command, rest, terminal);
        } catch (Exception | OutOfMemoryError | StackOverflowError thrown) {
            return fail(thrown, name, json, debug);
        }
    }

    private ExitCode run(Command command, List<String> words, Terminal terminal) throws UsageException, IOException {
        CommandLine line = parse(command, words);
        if (line.getArgList().size() < needed(command)) {
            Optional<List<String>> moved = MisplacedOperand.atTheEnd(optionsOf(command), words);
            line = moved.isPresent() ? parse(command, moved.get()) : line;
        }
        if (line.hasOption("help")) {
            HelpText.of(command, terminal).forEach(text -> reports.print(text + "\n"));
            return ExitCode.OK;
        }
        if (line.hasOption("version")) {
            reports.print(Version.TOOL + " " + Version.current() + "\n");
            return ExitCode.OK;
        }
        Arguments arguments = new Arguments(line);
        checkOperands(command, line.getArgList());
        Terminal shown = line.hasOption("no-color") ? terminal.withoutColour() : terminal;
        boolean quiet = line.hasOption("quiet");
        Out out = new Out(reports, messages, shown, quiet, progressStyle(arguments, quiet, terminal));
        return command.run(arguments, out);
    }

    private static ProgressStyle progressStyle(Arguments line, boolean quiet, Terminal terminal) throws UsageException {
        String asked = line.choice("progress", "auto", List.of("auto", "plain", "none"));
        if (quiet || asked.equals("none")) {
            return ProgressStyle.NONE;
        }
        return asked.equals("auto") && terminal.messagesToTerminal() ? ProgressStyle.REDRAWN : ProgressStyle.LINES;
    }

    private static CommandLine parse(Command command, List<String> words) throws UsageException {
        Options options = optionsOf(command);
        List<String> ordered = dashedOperandsLast(command, options, words);
        try {
            // No abbreviations: a script that uses one would break with the next option that is added.
            return DefaultParser.builder()
                    .setAllowPartialMatching(false)
                    .setStripLeadingAndTrailingQuotes(false)
                    .get()
                    .parse(options, ordered.toArray(new String[0]));
        } catch (UnrecognizedOptionException unknown) {
            throw unknownOption(command, options, unknown.getOption());
        } catch (MissingArgumentException missing) {
            Option option = missing.getOption();
            throw new UsageException("%s needs a value: %s".formatted(HelpText.spelling(option), option.getArgName()));
        } catch (ParseException other) {
            throw new UsageException(other.getMessage());
        }
    }

    /** The command's own options and the global ones. */
    static Options optionsOf(Command command) {
        Options all = new Options();
        command.options().getOptions().forEach(all::addOption);
        Flags.GLOBAL.forEach(all::addOption);
        return all;
    }

    private static List<String> dashedOperandsLast(Command command, Options options, List<String> words) {
        List<String> ordered = new ArrayList<>();
        List<String> operands = new ArrayList<>();
        boolean isValue = false;
        for (String word : words) {
            if (!isValue && command.takesAsOperand(word)) {
                operands.add(word);
                continue;
            }
            Option option = word.startsWith("-") ? options.getOption(word) : null;
            isValue = option != null && option.hasArg();
            ordered.add(word);
        }
        if (!operands.isEmpty()) {
            ordered.add("--");
            ordered.addAll(operands);
        }
        return ordered;
    }

    private static UsageException unknownOption(Command command, Options options, String found) {
        String word = found.replaceFirst("=.*", "");
        List<String> known = options.getOptions().stream()
                .map(option -> "--" + option.getLongOpt())
                .toList();
        String meant = Nearest.to(word, known)
                .map(near -> "\n  did you mean: " + near)
                .orElse("\n  try: %s %s --help".formatted(Version.TOOL, command.name()));
        return new UsageException("%s has no option '%s'%s".formatted(command.name(), word, meant));
    }

    private static long needed(Command command) {
        return command.operands().stream().filter(name -> !name.startsWith("[")).count();
    }

    private static void checkOperands(Command command, List<String> given) throws UsageException {
        List<String> expected = command.operands();
        String usage = "\n  usage: " + HelpText.usage(command);
        if (given.size() < needed(command)) {
            throw new UsageException("%s is missing%s".formatted(expected.get(given.size()), usage));
        }
        if (given.size() > expected.size()) {
            throw new UsageException("'%s' is one operand too many%s".formatted(given.get(expected.size()), usage));
        }
    }

    /** Removes the options in front of the command's name and returns them. */
    private static List<String> globalFlagsInFront(List<String> words) {
        List<String> flags = new ArrayList<>();
        while (!words.isEmpty() && words.get(0).startsWith("-")) {
            String flag = words.remove(0);
            flags.add(flag);
            if (flag.equals("--progress") && !words.isEmpty()) {
                flags.add(words.remove(0));
            }
        }
        return flags;
    }

    private ExitCode fail(Throwable thrown, String command, boolean json, boolean debug) {
        Failure failure = Failure.of(thrown);
        messages.println(Wrapping.message(Version.TOOL + ": " + failure.message(), Terminal.of(environment)));
        if (debug) {
            thrown.printStackTrace(messages);
        }
        if (json) {
            try {
                new Out(reports, messages, Terminal.NONE, true, ProgressStyle.NONE).json(command, "error", document -> {
                    document.writeObjectFieldStart("error");
                    document.writeStringField("kind", failure.kind());
                    document.writeStringField("message", failure.message());
                    document.writeEndObject();
                });
            } catch (IOException unwritable) {
                messages.println(Version.TOOL + ": standard output: " + unwritable.getMessage());
            }
        }
        return failure.code();
    }
}
