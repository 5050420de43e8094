package dev.shardsmith.verify.launch;

import java.util.List;

/**
 * An option of the training program and its values.
 *
 * @param name the option with its dashes: {@code --num-layers}
 * @param values its values; a part that could not be resolved is shown as {@code ${NAME}}
 * @param unresolved names of the variables that its values depend on
 * @param line line of the script, from 1
 * @param glob whether a shell could take an unquoted value as a pattern of file names
 */
public record LaunchOption(String name, List<String> values, List<String> unresolved, int line, boolean glob) {
    /** Copies the lists. */
    public LaunchOption {
        values = List.copyOf(values);
        unresolved = List.copyOf(unresolved);
    }

    /** The values in one text. */
    public String value() {
        return String.join(" ", values);
    }
}
