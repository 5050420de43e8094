package dev.shardsmith.cli;

import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Option;
import org.apache.commons.cli.Options;

/** An operand that an option took for its value because that value may be left out: {@code inspect --tensors CKPT}. */
final class MisplacedOperand {
    private MisplacedOperand() {}

    /**
     * The words with the last such operand at the end; empty if there is none. Only what exists as a file or folder is taken
     * for an operand, and the caller knows that one is missing.
     */
    static Optional<List<String>> atTheEnd(Options options, List<String> words) {
        for (int i = words.size() - 1; i > 0; i--) {
            Option option = words.get(i - 1).startsWith("-") ? options.getOption(words.get(i - 1)) : null;
            if (option != null && option.hasOptionalArg() && exists(words.get(i))) {
                List<String> moved = new ArrayList<>(words);
                String operand = moved.remove(i);
                moved.add("--");
                moved.add(operand);
                return Optional.of(moved);
            }
        }
        return Optional.empty();
    }

    private static boolean exists(String word) {
        try {
            return !word.isEmpty() && !word.startsWith("-") && Files.exists(Path.of(word));
        } catch (InvalidPathException noPath) {
            return false;
        }
    }
}
