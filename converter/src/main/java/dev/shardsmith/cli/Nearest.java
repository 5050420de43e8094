package dev.shardsmith.cli;

import java.util.Collection;
import java.util.Optional;

/** Finds what a user probably meant by a word with a typing error. */
final class Nearest {
    private static final int MOST_EDITS = 2;

    private Nearest() {}

    /** The known word with the fewest edits to {@code word}, at most two; the first of several. */
    static Optional<String> to(String word, Collection<String> known) {
        String nearest = null;
        int fewest = MOST_EDITS + 1;
        for (String candidate : known) {
            int edits = edits(word, candidate);
            if (edits < fewest) {
                fewest = edits;
                nearest = candidate;
            }
        }
        return Optional.ofNullable(nearest);
    }

    /** Insertions, deletions and replacements that turn one word into the other. */
    private static int edits(String from, String to) {
        int[] row = new int[to.length() + 1];
        for (int j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= from.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int replaced = diagonal + (from.charAt(i - 1) == to.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(replaced, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[to.length()];
    }
}
