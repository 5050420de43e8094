package dev.shardsmith.verify.launch;

import java.util.List;
import java.util.Optional;

/** A statement of a script. */
sealed interface Statement {
    /** {@code NAME=value}; an array if {@code list}. */
    record Assignment(String name, boolean append, boolean list, List<Word> words) {}

    /** A command with the assignments before it; without words, only the assignments. */
    record Simple(List<Assignment> assignments, List<Word> words, int line) implements Statement {}

    /** {@code [[ ... ]]} */
    record Test(List<Word> words, int line) implements Statement {}

    /** Statements in a row, as in braces or a subshell. */
    record Block(List<Statement> statements) implements Statement {}

    /** {@code first && second}, {@code first || second}, {@code first | second} */
    record Chain(Statement first, String operator, Statement second) implements Statement {}

    /** {@code ! statement} */
    record Not(Statement statement) implements Statement {}

    /** {@code if}: the first condition that holds decides. */
    record Branches(List<Arm> arms, Optional<Block> otherwise, int line) implements Statement {}

    /** A condition and what follows from it. */
    record Arm(Block condition, Block body) {}

    /** {@code case} */
    record Choice(Word subject, List<Clause> clauses, int line) implements Statement {}

    /** Patterns of a {@code case} and what follows from them. */
    record Clause(List<Word> patterns, Block body) {}

    /** {@code for}, {@code while}, {@code until} */
    record Loop(Optional<String> variable, Block body, int line) implements Statement {}

    /** A function's definition. */
    record Function(String name, Statement body) implements Statement {}
}
