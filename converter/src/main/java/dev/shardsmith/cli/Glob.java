package dev.shardsmith.cli;

import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

/**
 * A pattern for logical tensor names: {@code *} any text, {@code ?} one character, {@code [0-9]} one of a set,
 * {@code {a,b}} either. Everything else stands for itself, dots included; the whole name must match.
 */
final class Glob implements Predicate<String> {
    private final String text;
    private final Pattern pattern;

    private Glob(String text, Pattern pattern) {
        this.text = text;
        this.pattern = pattern;
    }

    /** The pattern that the text describes. */
    static Glob of(String text) throws UsageException {
        StringBuilder regex = new StringBuilder();
        int braces = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '*' -> regex.append(".*");
                case '?' -> regex.append('.');
                case '{' -> {
                    braces++;
                    regex.append("(?:");
                }
                case '}' -> {
                    regex.append(braces > 0 ? ")" : "\\}");
                    braces = Math.max(0, braces - 1);
                }
                case ',' -> regex.append(braces > 0 ? "|" : ",");
                case '[' -> {
                    int end = text.indexOf(']', i + 1);
                    if (end < 0 || end == i + 1) {
                        throw new UsageException(
                                "'%s' opens a set with [ at column %d and never closes it".formatted(text, i + 1));
                    }
                    regex.append(set(text.substring(i + 1, end)));
                    i = end;
                }
                default -> regex.append(Pattern.quote(String.valueOf(c)));
            }
        }
        if (braces > 0) {
            throw new UsageException("'%s' opens a choice with { and never closes it".formatted(text));
        }
        try {
            return new Glob(text, Pattern.compile(regex.toString(), Pattern.DOTALL));
        } catch (PatternSyntaxException invalid) {
            throw new UsageException("'%s' is no pattern: %s".formatted(text, invalid.getDescription()));
        }
    }

    private static String set(String members) {
        boolean negated = members.startsWith("!") || members.startsWith("^");
        StringBuilder set = new StringBuilder(negated ? "[^" : "[");
        for (char c : (negated ? members.substring(1) : members).toCharArray()) {
            if (c == '-' || Character.isLetterOrDigit(c)) {
                set.append(c);
            } else {
                set.append('\\').append(c);
            }
        }
        return set.append(']').toString();
    }

    @Override
    public boolean test(String name) {
        // Names of list items hold brackets, so a name always matches itself.
        return name.equals(text) || pattern.matcher(name).matches();
    }

    @Override
    public String toString() {
        return text;
    }
}
