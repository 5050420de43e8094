package dev.shardsmith.verify.claims;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * A size as a table writes it: {@code 2*I+2*G*N+H}.
 *
 * <p>Products and sums of whole numbers and names, without brackets; {@code a/b} is rounded down and {@code a^b} is the next multiple of
 * {@code b}. Numbers are doubles: no product overflows, and sizes of tensors are exact.
 *
 * @param text as it is written
 * @param terms the sum
 */
record Formula(String text, List<Term> terms) {
    /** Factors of a product with its sign. */
    private record Term(int sign, List<Factor> factors) {}

    /** A number or name, and how it joins what stands before it. */
    private record Factor(char operator, String operand) {}

    /** Reads a formula of a table. */
    static Formula of(String text) {
        List<Term> terms = new ArrayList<>();
        for (String term : text.split("(?=[+-])")) {
            int sign = term.startsWith("-") ? -1 : 1;
            List<Factor> factors = new ArrayList<>();
            for (String factor : ('*' + term.replaceFirst("^[+-]", "")).split("(?=[*/^])")) {
                factors.add(new Factor(factor.charAt(0), factor.substring(1)));
            }
            terms.add(new Term(sign, factors));
        }
        return new Formula(text, terms);
    }

    /** The names in it, in order. */
    List<String> names() {
        List<String> names = new ArrayList<>();
        for (Term term : terms) {
            term.factors().stream()
                    .map(Factor::operand)
                    .filter(operand -> !isNumber(operand))
                    .forEach(names::add);
        }
        return names;
    }

    /** Whether it is one name or number and nothing else. */
    boolean isPlain() {
        return terms.size() == 1 && terms.get(0).factors().size() == 1;
    }

    /** Its value; empty if a name has none, not a number if something is divided by zero. */
    OptionalDouble value(Function<String, OptionalDouble> lookup) {
        double sum = 0;
        for (Term term : terms) {
            double product = 1;
            for (Factor factor : term.factors()) {
                OptionalDouble operand = isNumber(factor.operand())
                        ? OptionalDouble.of(Double.parseDouble(factor.operand()))
                        : lookup.apply(factor.operand());
                if (operand.isEmpty()) {
                    return OptionalDouble.empty();
                }
                product = join(product, factor.operator(), operand.getAsDouble());
            }
            sum += term.sign() * product;
        }
        return OptionalDouble.of(isPlain() ? sum : Math.floor(sum));
    }

    private static double join(double left, char operator, double right) {
        return switch (operator) {
            case '*' -> left * right;
            case '/' -> right == 0 ? Double.NaN : Math.floor(left / right);
            case '^' -> right == 0 ? Double.NaN : Math.ceil(left / right) * right;
            default -> throw new IllegalArgumentException("no operator " + operator);
        };
    }

    private static boolean isNumber(String operand) {
        return Character.isDigit(operand.charAt(0));
    }
}
