package dev.shardsmith.reshard.pattern;

/** Carries a problem out of a computation of this package; never crosses its border. */
final class PatternFault extends Exception {
    private static final long serialVersionUID = 1L;

    private final transient PatternProblem problem;

    PatternFault(PatternProblem.Rule rule, String message, int column, String fix) {
        this(new PatternProblem(rule, message, column, fix));
    }

    PatternFault(PatternProblem problem) {
        super(problem.message());
        this.problem = problem;
    }

    PatternProblem problem() {
        return problem;
    }
}
