package dev.shardsmith.reshard.rule;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * What a user says about parameters that the family's table does not know: {@code GLOB=replicate|column|row}.
 *
 * @param names canonical names that it is for
 * @param cut how they are divided
 */
public record UserRule(Glob names, Cut cut) {
    /** How a parameter is divided. */
    public enum Cut {
        REPLICATE,
        /** Column-parallel: the output features, axis 0. */
        COLUMN,
        /** Row-parallel: the input features, axis 1. */
        ROW
    }

    /**
     * Reads {@code GLOB=replicate|column|row}.
     *
     * @throws CheckpointException of kind REFUSED if it is not of that form
     */
    public static UserRule parse(String text) throws CheckpointException {
        int at = text.lastIndexOf('=');
        if (at > 0) {
            for (Cut cut : Cut.values()) {
                if (cut.name().toLowerCase(Locale.ROOT).equals(text.substring(at + 1))) {
                    return new UserRule(Glob.of(text.substring(0, at)), cut);
                }
            }
        }
        throw CheckpointException.of(
                CheckpointException.Kind.REFUSED,
                "",
                "a rule is 'GLOB=replicate', 'GLOB=column' or 'GLOB=row', not '" + text + "'");
    }

    /** The axis that is cut; empty if none is. */
    public Optional<Integer> axis() {
        return switch (cut) {
            case REPLICATE -> Optional.empty();
            case COLUMN -> Optional.of(0);
            case ROW -> Optional.of(1);
        };
    }

    /** The division of an undivided tensor of the given shape. */
    public Division division(Shape logical) {
        return axis().filter(axis -> axis < logical.rank())
                .<Division>map(axis -> new Division.Split(axis, List.of(new Component("", logical.size(axis)))))
                .orElseGet(Division.Replicated::new);
    }
}
