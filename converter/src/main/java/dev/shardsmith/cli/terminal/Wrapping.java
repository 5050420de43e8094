package dev.shardsmith.cli.terminal;

import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Breaks text into lines of a width, at blanks. */
public final class Wrapping {
    private static final int HANGING = 2;
    private static final Pattern ESCAPE = Pattern.compile("\u001b\\[[0-9;]*m");

    private Wrapping() {}

    /** Breaks text at blanks so that no line is longer than {@code width} unless one word is. */
    public static List<String> lines(String text, int width) {
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        for (String word : text.split("\\s+")) {
            if (line.length() > 0 && visible(line.toString()) + 1 + visible(word) > width) {
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
            broken.addAll(hanging(line, terminal.columns()));
        }
        return String.join("\n", broken);
    }

    /** Breaks one line, indented or not, to a width; what follows hangs, so that the next statement is told from its rest. */
    public static List<String> hanging(String line, int width) {
        if (visible(line) <= width) {
            return List.of(line);
        }
        int indent = 0;
        while (indent < line.length() && line.charAt(indent) == ' ') {
            indent++;
        }
        List<String> broken = new ArrayList<>();
        String prefix = " ".repeat(indent);
        for (String part : lines(line.strip(), width - indent - HANGING)) {
            broken.add(prefix + part);
            prefix = " ".repeat(indent + HANGING);
        }
        return broken;
    }

    /** The text as it is if it fits, else broken at blanks. */
    public static List<String> parts(String text, int width) {
        return visible(text) <= width ? List.of(text) : lines(text, width);
    }

    /** Columns that a text takes: colours take none. */
    private static int visible(String text) {
        return ESCAPE.matcher(text).replaceAll("").length();
    }
}
