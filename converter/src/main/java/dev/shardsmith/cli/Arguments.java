package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.formats.WholeFile.Existing;
import dev.shardsmith.verify.digest.OrderedWork;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.commons.cli.CommandLine;

/** A parsed command line: operands and options with their values checked. */
final class Arguments {
    private final CommandLine line;
    private final List<String> operands;

    Arguments(CommandLine line) {
        this.line = line;
        this.operands = line.getArgList();
    }

    /** Operand number {@code index}, which the frame has checked to be there unless it is optional. */
    String operand(int index) {
        return operands.get(index);
    }

    /** Operand number {@code index} where it may be left out. */
    Optional<String> optionalOperand(int index) {
        return index < operands.size() ? Optional.of(operands.get(index)) : Optional.empty();
    }

    /** Operand number {@code index} as a path. */
    Path path(int index) throws UsageException {
        return path(operands.get(index));
    }

    /** Whether the option was given, with or without a value. */
    boolean has(String option) {
        return line.hasOption(option);
    }

    /** The value of an option. */
    Optional<String> value(String option) {
        return Optional.ofNullable(line.getOptionValue(option));
    }

    /** All values of an option that may be repeated. */
    List<String> values(String option) {
        String[] values = line.getOptionValues(option);
        return values == null ? List.of() : List.of(values);
    }

    /** The value of an option that must be there. */
    String required(String option) throws UsageException {
        Optional<String> value = value(option);
        if (value.isEmpty()) {
            throw new UsageException("--" + option + " is needed here");
        }
        return value.get();
    }

    /** The value of an option that names a file. */
    Optional<Path> file(String option) throws UsageException {
        Optional<String> value = value(option);
        return value.isPresent() ? Optional.of(path(value.get())) : Optional.empty();
    }

    /**
     * The file that an option asks to be written.
     *
     * @throws UsageException at once, and not after hours of work, if it is there and {@code --force} is not given
     */
    Optional<WholeFile> output(String option) throws UsageException {
        Optional<Path> path = file(option);
        if (path.isEmpty()) {
            return Optional.empty();
        }
        Existing existing = has(Flags.FORCE) ? Existing.REPLACE : Existing.KEEP;
        WholeFile file = WholeFile.of(path.get(), existing);
        if (Files.isDirectory(file.path())) {
            throw new UsageException("%s is a folder%n  try: name a file in it".formatted(file.path()));
        }
        if (file.isTaken()) {
            throw new UsageException("%s exists already%n  try: --force replaces it".formatted(file.path()));
        }
        return Optional.of(file);
    }

    /** The value of an option that takes one of a few words. */
    String choice(String option, String ifAbsent, List<String> choices) throws UsageException {
        String value = line.getOptionValue(option, ifAbsent);
        if (!choices.contains(value)) {
            throw wrong(option, value, "one of " + String.join(", ", choices));
        }
        return value;
    }

    /** The value of an option that takes a whole number of at least {@code least}. */
    OptionalInt number(String option, int least) throws UsageException {
        OptionalLong value = longNumber(option, least);
        if (value.isEmpty()) {
            return OptionalInt.empty();
        }
        if (value.getAsLong() > Integer.MAX_VALUE) {
            throw wrong(option, line.getOptionValue(option), "a number below 2^31");
        }
        return OptionalInt.of((int) value.getAsLong());
    }

    /** The value of {@code --workers} for work on tensors, or the usual number. */
    int workers() throws UsageException {
        return number("workers", 1).orElse(OrderedWork.usualThreads());
    }

    /** The value of an option that takes a whole number of at least {@code least}. */
    OptionalLong longNumber(String option, long least) throws UsageException {
        String value = line.getOptionValue(option);
        if (value == null) {
            return OptionalLong.empty();
        }
        try {
            long number = Long.parseLong(value);
            if (number >= least) {
                return OptionalLong.of(number);
            }
        } catch (NumberFormatException notANumber) {
            // Said below, as for a number that is too small.
        }
        throw wrong(option, value, "a whole number of at least " + least);
    }

    /** The value of an option that takes a number of at least 0, such as a tolerance. */
    OptionalDouble amount(String option) throws UsageException {
        String value = line.getOptionValue(option);
        if (value == null) {
            return OptionalDouble.empty();
        }
        try {
            double number = Double.parseDouble(value);
            if (number >= 0 && number < Double.POSITIVE_INFINITY) {
                return OptionalDouble.of(number);
            }
        } catch (NumberFormatException notANumber) {
            // Said below, as for a negative number.
        }
        throw wrong(option, value, "a number of at least 0");
    }

    /** The value of an option that takes numbers of at least {@code least}, separated by commas. */
    Optional<List<Integer>> numbers(String option, int least) throws UsageException {
        String value = line.getOptionValue(option);
        if (value == null) {
            return Optional.empty();
        }
        List<Integer> numbers = new ArrayList<>();
        for (String part : value.split(",", -1)) {
            try {
                int number = Integer.parseInt(part.strip());
                if (number < least) {
                    throw wrong(option, value, "numbers of at least " + least + ", separated by commas");
                }
                numbers.add(number);
            } catch (NumberFormatException notANumber) {
                throw wrong(option, value, "whole numbers, separated by commas");
            }
        }
        return Optional.of(List.copyOf(numbers));
    }

    /** The value of an option that takes a number of bytes. */
    OptionalLong size(String option) throws UsageException {
        String value = line.getOptionValue(option);
        if (value == null) {
            return OptionalLong.empty();
        }
        OptionalLong bytes = ByteSize.parse(value);
        if (bytes.isEmpty() || bytes.getAsLong() == 0) {
            throw wrong(option, value, "a size such as 512M or 4G");
        }
        return bytes;
    }

    /** An error that names the option, the value found and what was expected. */
    static UsageException wrong(String option, String found, String expected) {
        return new UsageException("--%s takes %s, but got '%s'".formatted(option, expected, found));
    }

    private static Path path(String text) throws UsageException {
        if (text.isEmpty()) {
            throw new UsageException("an empty path was given");
        }
        try {
            return Path.of(text);
        } catch (InvalidPathException invalid) {
            throw new UsageException("'" + text + "' is no path: " + invalid.getReason());
        }
    }
}
