package dev.shardsmith.verify.launch;

import java.util.List;

/** A token of a script. */
sealed interface Token {
    /** The line it starts on, from 1. */
    int line();

    /** A word. */
    record Plain(Word word) implements Token {
        @Override
        public int line() {
            return word.line();
        }
    }

    /** {@code NAME=(words)} or {@code NAME+=(words)}. */
    record Listed(String name, boolean append, List<Word> words, int line) implements Token {}

    /** An operator; {@code glued} if no blank stands between it and the word before. */
    record Operator(String text, boolean glued, int line) implements Token {}
}
