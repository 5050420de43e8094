package dev.shardsmith.cli;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.commons.cli.Option;

/** Completion scripts, made from the option definitions. */
final class Completion {
    private Completion() {}

    /** The script for this shell. */
    static List<String> script(Shell shell) {
        return switch (shell) {
            case BASH -> bash();
            case ZSH -> zsh();
            case FISH -> fish();
        };
    }

    private static List<String> bash() {
        List<String> script = new ArrayList<>();
        script.add("# bash completion of shardsmith");
        script.add("_shardsmith() {");
        script.add("  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= word i");
        script.add("  for ((i = 1; i < COMP_CWORD; i++)); do");
        script.add("    word=${COMP_WORDS[i]}");
        script.add("    if [[ $word != -* ]]; then command=$word; break; fi");
        script.add("  done");
        script.add("  case \"$command $previous\" in");
        for (Command command : Commands.all()) {
            for (Option option : options(command)) {
                if (!choices(option).isEmpty()) {
                    script.add("    '%s --%s') COMPREPLY=($(compgen -W '%s' -- \"$current\")); return ;;"
                            .formatted(command.name(), option.getLongOpt(), String.join(" ", choices(option))));
                }
            }
        }
        script.add("    'completion completion') COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$current\")); return ;;");
        script.add("  esac");
        script.add("  case \"$command\" in");
        script.add("    '') COMPREPLY=($(compgen -W '%s %s' -- \"$current\")); return ;;"
                .formatted(String.join(" ", Commands.names()), longNames(Flags.GLOBAL)));
        script.add("    help|man) COMPREPLY=($(compgen -W '%s' -- \"$current\")); return ;;"
                .formatted(String.join(" ", Commands.names())));
        for (Command command : Commands.all()) {
            script.add(
                    "    %s) if [[ $current == -* ]]; then COMPREPLY=($(compgen -W '%s' -- \"$current\")); return; fi ;;"
                            .formatted(command.name(), longNames(options(command))));
        }
        script.add("  esac");
        script.add("  COMPREPLY=($(compgen -f -- \"$current\"))");
        script.add("}");
        script.add("complete -o filenames -F _shardsmith shardsmith");
        return script;
    }

    private static List<String> zsh() {
        List<String> script = new ArrayList<>();
        script.add("#compdef shardsmith");
        script.add("_shardsmith() {");
        script.add("  local context state line");
        script.add("  typeset -A opt_args");
        script.add("  local -a commands");
        script.add("  commands=(");
        for (Command command : Commands.all()) {
            script.add("    " + quoted(command.name() + ":" + command.summary()));
        }
        script.add("  )");
        script.add("  _arguments -C '1:command:->command' '*::argument:->argument'");
        script.add("  case $state in");
        script.add("    command) _describe command commands ;;");
        script.add("    argument)");
        script.add("      case $words[1] in");
        for (Command command : Commands.all()) {
            script.add("        " + command.name() + ") _arguments \\");
            for (Option option : options(command)) {
                script.add("          " + quoted(zshSpec(option)) + " \\");
            }
            script.add("          " + quoted(zshOperands(command)) + " ;;");
        }
        script.add("      esac ;;");
        script.add("  esac");
        script.add("}");
        script.add("compdef _shardsmith shardsmith");
        return script;
    }

    private static String zshSpec(Option option) {
        String description =
                option.getDescription().replace("[", "(").replace("]", ")").replace(":", " -");
        String spec = "--" + option.getLongOpt() + "[" + description + "]";
        if (!option.hasArg()) {
            return spec;
        }
        String action = choices(option).isEmpty() ? "_files" : "(" + String.join(" ", choices(option)) + ")";
        return spec + (option.hasOptionalArg() ? "::" : ":") + "value:" + action;
    }

    private static String zshOperands(Command command) {
        return switch (command.name()) {
            case "completion" -> "*:shell:(bash zsh fish)";
            case "help", "man" -> "*:command:(" + String.join(" ", Commands.names()) + ")";
            default -> "*:file:_files";
        };
    }

    private static List<String> fish() {
        List<String> script = new ArrayList<>();
        script.add("# fish completion of shardsmith");
        for (Command command : Commands.all()) {
            script.add("complete -c shardsmith -n __fish_use_subcommand -f -a %s -d %s"
                    .formatted(command.name(), fishQuoted(command.summary())));
        }
        for (Command command : Commands.all()) {
            String here = "complete -c shardsmith -n '__fish_seen_subcommand_from " + command.name() + "'";
            for (Option option : options(command)) {
                String values = choices(option).isEmpty()
                        ? option.hasArg() && !option.hasOptionalArg() ? " -r" : ""
                        : " -x -a '" + String.join(" ", choices(option)) + "'";
                script.add(here + " -l " + option.getLongOpt() + values + " -d " + fishQuoted(option.getDescription()));
            }
        }
        script.add("complete -c shardsmith -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'");
        script.add("complete -c shardsmith -n '__fish_seen_subcommand_from help man' -f -a '%s'"
                .formatted(String.join(" ", Commands.names())));
        return script;
    }

    private static Collection<Option> options(Command command) {
        return Shardsmith.optionsOf(command).getOptions();
    }

    private static String longNames(Collection<Option> options) {
        return options.stream().map(option -> "--" + option.getLongOpt()).collect(Collectors.joining(" "));
    }

    /** The words of a value that is written {@code a|b|c}. */
    private static List<String> choices(Option option) {
        return option.hasArg() && option.getArgName().contains("|")
                ? List.of(option.getArgName().split("\\|"))
                : List.of();
    }

    private static String quoted(String text) {
        return "'" + text.replace("'", "'\\''") + "'";
    }

    private static String fishQuoted(String text) {
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'";
    }
}
