package dev.shardsmith.verify.launch;

import java.util.List;

/** Decides {@code [ ... ]} and {@code [[ ... ]]} as far as that is possible without files and environment. */
final class Condition {
    private Condition() {}

    static Truth of(List<String> words) {
        int or = Math.max(words.lastIndexOf("||"), words.lastIndexOf("-o"));
        if (or > 0) {
            return either(of(words.subList(0, or)), of(words.subList(or + 1, words.size())));
        }
        int and = Math.max(words.lastIndexOf("&&"), words.lastIndexOf("-a"));
        if (and > 0) {
            Truth left = of(words.subList(0, and)).not();
            return either(left, of(words.subList(and + 1, words.size())).not()).not();
        }
        if (!words.isEmpty() && words.get(0).equals("!")) {
            return of(words.subList(1, words.size())).not();
        }
        return switch (words.size()) {
            case 0 -> Truth.NO;
            case 1 -> known(words.get(0)) ? Truth.of(!words.get(0).isEmpty()) : Truth.UNKNOWN;
            case 2 -> single(words.get(0), words.get(1));
            case 3 -> compared(words.get(0), words.get(1), words.get(2));
            default -> Truth.UNKNOWN;
        };
    }

    private static Truth either(Truth left, Truth right) {
        if (left == Truth.YES || right == Truth.YES) {
            return Truth.YES;
        }
        return left == Truth.NO && right == Truth.NO ? Truth.NO : Truth.UNKNOWN;
    }

    private static Truth single(String operator, String operand) {
        if (!known(operand)) {
            return Truth.UNKNOWN;
        }
        return switch (operator) {
            case "-z" -> Truth.of(operand.isEmpty());
            case "-n" -> Truth.of(!operand.isEmpty());
            default -> Truth.UNKNOWN;
        };
    }

    private static Truth compared(String left, String operator, String right) {
        if (!known(left) || !known(right)) {
            return Truth.UNKNOWN;
        }
        return switch (operator) {
            case "=", "==" -> Truth.of(Glob.matches(right, left));
            case "!=" -> Truth.of(!Glob.matches(right, left));
            case "-eq", "-ne", "-lt", "-le", "-gt", "-ge" -> numbers(left, operator, right);
            default -> Truth.UNKNOWN;
        };
    }

    private static Truth numbers(String left, String operator, String right) {
        try {
            int order = Long.compare(Long.parseLong(left.strip()), Long.parseLong(right.strip()));
            return Truth.of(
                    switch (operator) {
                        case "-eq" -> order == 0;
                        case "-ne" -> order != 0;
                        case "-lt" -> order < 0;
                        case "-le" -> order <= 0;
                        case "-gt" -> order > 0;
                        default -> order >= 0;
                    });
        } catch (NumberFormatException e) {
            return Truth.UNKNOWN;
        }
    }

    private static boolean known(String text) {
        return Field.resolved(text);
    }
}
