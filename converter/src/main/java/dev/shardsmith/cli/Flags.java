package dev.shardsmith.cli;

import java.util.List;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;

/** Short ways to define options; a value's name tells help and shell completion what to expect. */
final class Flags {
    /** Options of every command. */
    static final List<Option> GLOBAL = List.of(
            Option.builder("h").longOpt("help").desc("explain a command").get(),
            flag("version", "print the version"),
            Option.builder("q")
                    .longOpt("quiet")
                    .desc("print no progress and no warnings")
                    .get(),
            flag("debug", "print stack traces"),
            flag("no-color", "print without colours; so does the environment variable NO_COLOR"),
            value("progress", "auto|plain|none", "how to show progress: auto redraws a line on a terminal"));

    /** Name of the option that lets output files be replaced. */
    static final String FORCE = "force";

    private Flags() {}

    /** An option without a value. */
    static Option flag(String name, String description) {
        return Option.builder().longOpt(name).desc(description).get();
    }

    /** An option with one value; choices are written {@code a|b|c}, files {@code FILE}. */
    static Option value(String name, String argument, String description) {
        return Option.builder()
                .longOpt(name)
                .hasArg()
                .argName(argument)
                .desc(description)
                .get();
    }

    /** An option whose value may be left out. */
    static Option optional(String name, String argument, String description) {
        return Option.builder()
                .longOpt(name)
                .numberOfArgs(1)
                .optionalArg(true)
                .argName(argument)
                .desc(description)
                .get();
    }

    /** The option {@code -o FILE}. */
    static Option output(String argument, String description) {
        return Option.builder("o")
                .longOpt("output")
                .hasArg()
                .argName(argument)
                .desc(description)
                .get();
    }

    /** The option {@code --workers N}; {@code purpose} says what works. */
    static Option workers(String purpose) {
        return value("workers", "N", purpose + "; as many as processors if not given");
    }

    /** The option {@code --json}. */
    static Option json() {
        return flag("json", "print one JSON document instead of text");
    }

    /** The option {@code --html FILE}. */
    static Option html() {
        return value("html", "FILE", "also write a report that a browser shows");
    }

    /** The option {@code --force}, for commands that write files beside their report. */
    static Option force() {
        return flag(FORCE, "replace output files that exist");
    }

    /** Options in this order. */
    static Options of(Option... options) {
        Options all = new Options();
        for (Option option : options) {
            all.addOption(option);
        }
        return all;
    }

    /** Options of a command that opens checkpoints and reports: its own ones, then those that all such commands share. */
    static Options report(Option... own) {
        Options all = of(own);
        all.addOption(json());
        Opening.FLAGS.forEach(all::addOption);
        return all;
    }

    /** As {@link #report}, of a command that can also write its report for a browser. */
    static Options htmlReport(Option... own) {
        Options all = of(own);
        all.addOption(html());
        all.addOption(force());
        report().getOptions().forEach(all::addOption);
        return all;
    }
}
