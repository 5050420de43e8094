package dev.shardsmith.verify.launch;

import java.util.List;

/**
 * A command that the script would run.
 *
 * @param words its arguments, the command first
 * @param line where it stands
 * @param sure whether it runs whatever the environment is
 */
record Invocation(List<Field> words, int line, boolean sure) {
    Invocation {
        words = List.copyOf(words);
    }

    /** Position of the Python program among the words; -1 if there is none. */
    int program() {
        for (int i = 0; i < words.size(); i++) {
            if (words.get(i).text().endsWith(".py")) {
                return i;
            }
        }
        return -1;
    }

    boolean isOptionList() {
        return !words.isEmpty() && words.get(0).text().startsWith("--");
    }

    long options() {
        return words.stream().filter(word -> word.text().startsWith("--")).count();
    }
}
