package dev.shardsmith.cli;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.apache.commons.cli.Option;

/** Manual pages in the man(7) macros. */
final class ManPage {
    private ManPage() {}

    /** The page of the program: {@code shardsmith(1)}. */
    static List<String> overview() {
        List<String> page = new ArrayList<>();
        head(page, Version.TOOL, "converts, inspects, compares and verifies model checkpoints");
        page.add(".SH SYNOPSIS");
        page.add(".B " + Version.TOOL);
        page.add("COMMAND [operands] [options]");
        page.add(".SH COMMANDS");
        for (Command command : Commands.all()) {
            entry(page, "\\fB" + escape(command.name()) + "\\fR", command.summary());
        }
        page.add(".SH OPTIONS");
        options(page, Flags.GLOBAL);
        exitStatus(page);
        page.add(".SH SEE ALSO");
        page.add(String.join(
                ",\n",
                Commands.names().stream()
                        .map(name -> ".BR " + Version.TOOL + "\\-" + name + " (1)")
                        .toList()));
        return page;
    }

    /** The page of one command: {@code shardsmith-convert(1)}. */
    static List<String> of(Command command) {
        List<String> page = new ArrayList<>();
        head(page, Version.TOOL + "-" + command.name(), command.summary());
        page.add(".SH SYNOPSIS");
        page.add(".B " + escape(Version.TOOL + " " + command.name()));
        page.add(escape(String.join(" ", command.operands()) + " [options]").strip());
        page.add(".SH DESCRIPTION");
        page.add(escape(command.description()));
        page.add(".SH OPTIONS");
        options(page, command.options().getOptions());
        options(page, Flags.GLOBAL);
        if (!command.examples().isEmpty()) {
            page.add(".SH EXAMPLES");
            for (Example example : command.examples()) {
                page.add(escape(example.purpose()) + ":");
                page.add(".PP");
                page.add(".nf");
                page.add(".RS 4");
                page.add(escape(example.line()));
                page.add(".RE");
                page.add(".fi");
                page.add(".PP");
            }
        }
        exitStatus(page);
        page.add(".SH SEE ALSO");
        page.add(".BR " + Version.TOOL + " (1)");
        return page;
    }

    private static void head(List<String> page, String name, String summary) {
        page.add(".TH %s 1 \"\" \"%s %s\" \"User commands\""
                .formatted(escape(name.toUpperCase(Locale.ROOT)), Version.TOOL, Version.current()));
        page.add(".SH NAME");
        page.add(escape(name) + " \\- " + escape(summary));
    }

    private static void options(List<String> page, Collection<Option> options) {
        for (Option option : options) {
            String spelling = option.getOpt() == null
                    ? "--" + option.getLongOpt()
                    : "-" + option.getOpt() + ", --" + option.getLongOpt();
            entry(page, "\\fB" + escape(spelling) + "\\fR" + escape(HelpText.value(option)), option.getDescription());
        }
    }

    private static void entry(List<String> page, String term, String text) {
        page.add(".TP");
        page.add(term);
        page.add(escape(text));
    }

    private static void exitStatus(List<String> page) {
        page.add(".SH EXIT STATUS");
        entry(page, "0", "yes: done, same, valid, equivalent, clean");
        entry(page, "1", "no: different, invalid, findings");
        entry(page, "2", "wrong usage");
        entry(page, "3", "input unreadable, damaged or inconclusive");
        entry(page, "4", "input/output or environment: disk full, no device");
    }

    /** A dash would become a hyphen, and a leading dot or quote a macro. */
    private static String escape(String text) {
        String escaped = text.replace("\\", "\\e").replace("-", "\\-");
        return escaped.startsWith(".") || escaped.startsWith("'") ? "\\&" + escaped : escaped;
    }
}
