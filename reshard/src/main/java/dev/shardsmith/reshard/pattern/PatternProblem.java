package dev.shardsmith.reshard.pattern;

import dev.shardsmith.formats.CheckpointException;

/**
 * Why a pattern, or a layout asked of it, is refused.
 *
 * @param rule which rule is broken
 * @param message what is wrong, in one sentence
 * @param column where in the pattern: 1 is the first character; 0 where no place can be named
 * @param fix what to do; empty if the message says it all
 */
public record PatternProblem(Rule rule, String message, int column, String fix) {

    /** The rules of patterns and stages. */
    public enum Rule {
        /** A character that is no layer symbol. */
        SYMBOL,
        /** The prediction parts are not all the same. */
        MTP_PARTS_DIFFER,
        /** Plain and latent attention in one part. */
        MIXED_ATTENTION,
        /** Counts for the first or last stage are given although pipes already say where stages end. */
        PIPES_AND_STAGE_COUNTS,
        /** Virtual stages are asked for and the pattern has no pipes. */
        VIRTUAL_WITHOUT_PIPES,
        /** The layers do not divide by the stages. */
        UNEVEN_LAYERS,
        /** The layers between first and last stage do not divide by the stages between them. */
        UNEVEN_MIDDLE,
        /** The segments do not divide by the pipeline size. */
        UNEVEN_SEGMENTS,
        /** There are fewer segments than stages. */
        NO_SUCH_SEGMENT,
        /** A list of layers per stage does not fit the pattern. */
        LAYER_COUNTS,
        /** The stages lose or repeat layers, or cannot be run at all. */
        STAGES,
        /** Two patterns that should be of one model are not. */
        OTHER_MODEL,
        /** Ratios out of range. */
        RATIO
    }

    /** Two lines that show the pattern with a caret under the column; empty if there is no column. */
    public String caret(String pattern) {
        if (column == 0) {
            return "";
        }
        StringBuilder shown = new StringBuilder();
        int at = 0;
        int index = 0;
        for (int i = 0; i < pattern.length(); i += Character.charCount(pattern.codePointAt(i))) {
            index++;
            if (index == column) {
                at = shown.length();
            }
            shown.append(shown(pattern.codePointAt(i)));
        }
        if (index < column) {
            at = shown.length();
        }
        return shown + "\n" + " ".repeat(at) + "^";
    }

    /** This problem as an error that names {@code where} the pattern was found. */
    public CheckpointException toException(String where) {
        String place = column == 0 ? where : where + ", column " + column;
        CheckpointException error = CheckpointException.of(CheckpointException.Kind.REFUSED, place, message);
        return fix.isEmpty() ? error : error.withHint(fix);
    }

    /** A character as a report may print it: control characters by their escapes. */
    static String shown(int codePoint) {
        return switch (codePoint) {
            case '\n' -> "\\n";
            case '\r' -> "\\r";
            case '\t' -> "\\t";
            default ->
                Character.isISOControl(codePoint) ? String.format("\\u%04x", codePoint) : Character.toString(codePoint);
        };
    }

    /** A text as a report may print it, in quotes. */
    static String shown(String text) {
        StringBuilder out = new StringBuilder("'");
        text.codePoints().forEach(point -> out.append(shown(point)));
        return out.append('\'').toString();
    }
}
