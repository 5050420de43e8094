package dev.shardsmith.verify.launch;

import java.util.ArrayList;
import java.util.List;

/**
 * One argument after expansion.
 *
 * <p>A variable without a known value is kept inside the text as its name between two private-use characters, so that a value
 * can be partly known.
 *
 * @param text the argument
 * @param glob whether unquoted characters in it could be taken as a pattern of file names
 * @param line where it stands in the script
 */
record Field(String text, boolean glob, int line) {
    private static final char OPEN = '\uE000';
    private static final char CLOSE = '\uE001';

    /** A stand-in for the value of {@code name}. */
    static String unresolved(String name) {
        return OPEN + name.replace(OPEN, '{').replace(CLOSE, '}') + CLOSE;
    }

    /** A script without the characters that are used for stand-ins. */
    static String clean(String script) {
        return script.replace(OPEN, '?').replace(CLOSE, '?');
    }

    static boolean resolved(String text) {
        return text.indexOf(OPEN) < 0;
    }

    boolean resolved() {
        return resolved(text);
    }

    /** True if the whole argument is one stand-in. */
    boolean isStandIn() {
        return !text.isEmpty() && text.charAt(0) == OPEN && text.indexOf(CLOSE) == text.length() - 1;
    }

    /** The position behind the character, or behind the stand-in, that starts here. */
    static int after(String text, int position) {
        int close = text.charAt(position) == OPEN ? text.indexOf(CLOSE, position) : position;
        return close < 0 ? text.length() : close + 1;
    }

    /** The names that stand in for values. */
    static List<String> names(String text) {
        List<String> names = new ArrayList<>();
        for (int open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, open + 1)) {
            int close = text.indexOf(CLOSE, open);
            names.add(text.substring(open + 1, close < 0 ? text.length() : close));
        }
        return names;
    }

    /** The text as a report may show it: stand-ins as {@code ${NAME}}. */
    static String shown(String text) {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c != OPEN) {
                out.append(c == CLOSE ? '}' : c);
                continue;
            }
            // A stand-in of something that is no plain name is shown as it was written.
            boolean name = i + 1 < text.length()
                    && (Character.isLetterOrDigit(text.charAt(i + 1)) || text.charAt(i + 1) == '_');
            if (name) {
                out.append("${");
                continue;
            }
            int close = text.indexOf(CLOSE, i);
            int end = close < 0 ? text.length() : close;
            out.append(text, i + 1, end);
            i = end;
        }
        return out.toString();
    }
}
