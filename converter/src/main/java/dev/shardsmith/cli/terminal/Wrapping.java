package dev.shardsmith.cli.terminal;

import java.util.ArrayList;
import java.util.List;

/** Breaks text into lines of a width, at blanks. */
public final class Wrapping {
    private static final int HANGING = 2;

    private Wrapping() {}

    /** Breaks text at blanks so that no line is longer than {@code width} unless one word is. */
    public static List<String> lines(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split("\\s+")) {
            if (line.length() > 0 && line.length() + 1 + word.length() > width) {
                lines.add(line.toString());
                line.setLength(0);
            }
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        lines.add(line.toString());
        return lines;
    }

    /** A message as it stands on standard error: broken to a terminal's width, one line a statement anywhere else. */
    public static String message(String text, Terminal terminal) {
        if (!terminal.messagesToTerminal()) {
            return text;
        }
        List<String> broken = new ArrayList<>();
        for (String line : text.split("\\R", -1)) {
            int indent = 0;
            while (indent < line.length() && line.charAt(indent) == ' ') {
                indent++;
            }
            if (line.length() <= terminal.columns()) {
                broken.add(line);
                continue;
            }
            // Broken lines hang, so that the next statement is told from the rest of this one.
            String prefix = " ".repeat(indent);
            for (String part : lines(line.strip(), terminal.columns() - indent - HANGING)) {
                broken.add(prefix + part);
                prefix = " ".repeat(indent + HANGING);
            }
        }
        return String.join("\n", broken);
    }
}
