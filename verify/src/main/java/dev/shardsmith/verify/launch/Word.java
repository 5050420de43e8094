package dev.shardsmith.verify.launch;

import java.util.List;

/** One shell word: parts that are joined after expansion. */
record Word(List<Part> parts, int line) {
    /** A part of a word; quoted parts are neither split at blanks nor matched against file names. */
    sealed interface Part {}

    /** Characters as they are. */
    record Text(String text, boolean quoted) implements Part {}

    /** {@code $NAME}, {@code ${NAME}}, {@code ${NAME[@]}}, {@code ${NAME:-operand}}. */
    record Variable(String name, boolean list, String operator, Word operand, boolean quoted) implements Part {}

    /** {@code $((expression))}. */
    record Sum(String expression, boolean quoted) implements Part {}

    /** Something whose value only a running shell could tell. */
    record Opaque(String shown, boolean quoted) implements Part {}

    Word {
        parts = List.copyOf(parts);
    }

    static Word literal(String text, int line) {
        return new Word(List.of(new Text(text, false)), line);
    }

    /** True if the word is exactly these unquoted characters, as a keyword must be. */
    boolean is(String text) {
        return parts.size() == 1
                && parts.get(0) instanceof Text part
                && !part.quoted()
                && part.text().equals(text);
    }

    /** The unquoted characters at the start of the word. */
    String bareStart() {
        return !parts.isEmpty() && parts.get(0) instanceof Text part && !part.quoted() ? part.text() : "";
    }
}
