package dev.shardsmith.reshard.pattern;

import dev.shardsmith.reshard.pattern.PatternProblem.Rule;
import java.util.ArrayList;
import java.util.List;

/** Checks the symbols of one part of a pattern. */
final class SymbolCheck {
    private SymbolCheck() {}

    /**
     * The layer kinds of a part, in order; pipes are skipped where they are allowed.
     *
     * @param text the whole pattern, for columns
     * @param start where the part starts in {@code text}
     * @param end where it ends
     * @param part what to call the part in a message
     * @param pipes whether this part may have stage boundaries
     */
    static List<LayerKind> kinds(String text, int start, int end, String part, Pipes pipes) throws PatternFault {
        List<LayerKind> kinds = new ArrayList<>(end - start);
        for (int i = start; i < end; i++) {
            char symbol = text.charAt(i);
            if (symbol == '|' && pipes == Pipes.ALLOWED) {
                continue;
            }
            int at = i;
            kinds.add(LayerKind.of(symbol).orElseThrow(() -> badSymbol(text, at, part, pipes)));
        }
        mixing(text, start, end, part);
        return kinds;
    }

    /** Whether stage boundaries are part of the alphabet. */
    enum Pipes {
        ALLOWED,
        FORBIDDEN
    }

    /** The column of a position: characters, not UTF-16 units, from 1. */
    static int column(String text, int position) {
        return text.codePointCount(0, position) + 1;
    }

    private static PatternFault badSymbol(String text, int position, String part, Pipes pipes) {
        int point = text.codePointAt(position);
        String allowed = pipes == Pipes.ALLOWED ? LayerKind.SYMBOLS + "|" : LayerKind.SYMBOLS;
        String message = "%s is no layer symbol of the %s; known are %s"
                .formatted(PatternProblem.shown(Character.toString(point)), part, String.join(" ", allowed.split("")));
        return new PatternFault(Rule.SYMBOL, message, column(text, position), advice(point, pipes));
    }

    private static String advice(int point, Pipes pipes) {
        if (point == '|' && pipes == Pipes.FORBIDDEN) {
            return "stage boundaries belong into the main part, before the first /";
        }
        if (Character.isWhitespace(point)) {
            return "remove blanks and line ends from the pattern";
        }
        if (Character.isDigit(point)) {
            return "write a repeated symbol out; there are no repeat counts";
        }
        if (point == '"' || point == '\'') {
            return "remove the quotes; they seem to have been quoted twice";
        }
        int upper = Character.toUpperCase(point);
        if (upper != point && LayerKind.SYMBOLS.indexOf(upper) >= 0) {
            return "symbols are upper case: write " + Character.toString(upper);
        }
        return switch (upper) {
            case 'A' -> "attention is written *";
            case 'F' -> "an MLP layer is written -";
            case 'S' -> "a state space layer is written M";
            default -> "M is Mamba, * attention, - MLP, E experts, G gated delta net, + MLA, D sparse attention";
        };
    }

    private static void mixing(String text, int start, int end, String part) throws PatternFault {
        boolean plain = false;
        boolean latent = false;
        for (int i = start; i < end; i++) {
            char symbol = text.charAt(i);
            plain |= symbol == '*';
            latent |= symbol == 'D' || symbol == '+';
            if (plain && latent) {
                String message = "the %s mixes attention (*) with latent attention (%s), which no model can have"
                        .formatted(part, text.substring(start, end).indexOf('D') >= 0 ? "D" : "+");
                throw new PatternFault(
                        Rule.MIXED_ATTENTION, message, column(text, i), "use either * or D and + in one pattern");
            }
        }
    }
}
