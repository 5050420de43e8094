package dev.shardsmith.verify.launch;

import java.util.OptionalLong;
import java.util.function.Function;

/** Whole-number arithmetic of {@code $((...))}: sums, products, parentheses and variables. */
final class Arithmetic {
    private static final int MAX_DEPTH = 32;

    private final String text;
    private final Function<String, OptionalLong> variables;
    private int at;
    private int depth;
    private boolean failed;

    private Arithmetic(String text, Function<String, OptionalLong> variables) {
        this.text = text;
        this.variables = variables;
    }

    /** The value; empty if it has none that is known. */
    static OptionalLong of(String text, Function<String, OptionalLong> variables) {
        Arithmetic arithmetic = new Arithmetic(text, variables);
        try {
            long value = arithmetic.sum();
            arithmetic.blanks();
            boolean all = arithmetic.at == text.length();
            return arithmetic.failed || !all ? OptionalLong.empty() : OptionalLong.of(value);
        } catch (ArithmeticException overflow) {
            return OptionalLong.empty();
        }
    }

    private long sum() {
        long value = product();
        while (true) {
            if (taken('+')) {
                value = Math.addExact(value, product());
            } else if (taken('-')) {
                value = Math.subtractExact(value, product());
            } else {
                return value;
            }
        }
    }

    private long product() {
        long value = factor();
        while (true) {
            if (taken('*')) {
                value = Math.multiplyExact(value, factor());
            } else if (taken('/')) {
                value /= factor();
            } else if (taken('%')) {
                value %= factor();
            } else {
                return value;
            }
        }
    }

    private long factor() {
        blanks();
        if (failed || ++depth > MAX_DEPTH) {
            failed = true;
            return 1;
        }
        long value = unit();
        depth--;
        return value;
    }

    private long unit() {
        if (taken('-')) {
            return Math.negateExact(factor());
        }
        if (taken('(')) {
            long value = sum();
            failed |= !taken(')');
            return value;
        }
        taken('$');
        boolean brace = taken('{');
        int start = at;
        while (at < text.length() && (Character.isLetterOrDigit(text.charAt(at)) || text.charAt(at) == '_')) {
            at++;
        }
        String name = text.substring(start, at);
        if (brace) {
            failed |= !taken('}');
        }
        return value(name);
    }

    private long value(String name) {
        if (name.isEmpty()) {
            failed = true;
            return 1;
        }
        if (Character.isDigit(name.charAt(0))) {
            try {
                return Long.parseLong(name);
            } catch (NumberFormatException e) {
                failed = true;
                return 1;
            }
        }
        OptionalLong known = variables.apply(name);
        failed |= known.isEmpty();
        return known.orElse(1);
    }

    private boolean taken(char c) {
        blanks();
        if (at < text.length() && text.charAt(at) == c) {
            at++;
            return true;
        }
        return false;
    }

    private void blanks() {
        while (at < text.length() && Character.isWhitespace(text.charAt(at))) {
            at++;
        }
    }
}
