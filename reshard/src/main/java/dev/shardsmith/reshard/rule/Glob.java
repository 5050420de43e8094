package dev.shardsmith.reshard.rule;

import java.util.regex.Pattern;

/**
 * A pattern for names: {@code *} stands for any characters, {@code ?} for one.
 *
 * @param text the pattern as written
 * @param pattern its compiled form
 */
public record Glob(String text, Pattern pattern) {
    /** The pattern of a text. */
    public static Glob of(String text) {
        StringBuilder regex = new StringBuilder();
        for (char c : text.toCharArray()) {
            switch (c) {
                case '*' -> regex.append(".*");
                case '?' -> regex.append('.');
                default -> regex.append(Pattern.quote(String.valueOf(c)));
            }
        }
        return new Glob(text, Pattern.compile(regex.toString(), Pattern.DOTALL));
    }

    /** True if the whole name matches. */
    public boolean matches(String name) {
        return pattern.matcher(name).matches();
    }
}
