package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Parses tokens into statements. */
final class ShellParser {
    private static final int MAX_DEPTH = 64;
    private static final Pattern ASSIGNMENT = Pattern.compile("([A-Za-z_][A-Za-z0-9_]*)(\\+?)=(.*)", Pattern.DOTALL);
    private static final Set<String> ENDS = Set.of("then", "else", "elif", "fi", "do", "done", "esac", "}");
    private static final Set<String> REDIRECTIONS =
            Set.of("<", ">", ">>", "<<", "<<-", "<<<", "&>", "&>>", ">&", "<&", ">|");

    private final List<Token> tokens;
    private final List<ScriptRemark> remarks;
    private int at;
    private int depth;

    private ShellParser(List<Token> tokens, List<ScriptRemark> remarks) {
        this.tokens = tokens;
        this.remarks = remarks;
    }

    static Statement.Block parse(String script, List<ScriptRemark> remarks) throws CheckpointException {
        ShellParser parser = new ShellParser(new ShellLexer(script, remarks).tokens(), remarks);
        Statement.Block block = parser.block();
        if (parser.at < parser.tokens.size()) {
            throw parser.unexpected();
        }
        return block;
    }

    private Statement.Block block() throws CheckpointException {
        if (++depth > MAX_DEPTH) {
            throw ScriptRemark.refused(line(), "statements are nested deeper than " + MAX_DEPTH + " levels");
        }
        List<Statement> statements = new ArrayList<>();
        while (true) {
            while (operator("\n") || operator(";") || operator("&")) {
                at++;
            }
            if (at >= tokens.size() || ends()) {
                break;
            }
            statements.add(chain());
        }
        depth--;
        return new Statement.Block(statements);
    }

    private boolean ends() {
        return operator(")")
                || operator(";;")
                || operator(";&")
                || operator(";;&")
                || tokens.get(at) instanceof Token.Plain plain
                        && ENDS.contains(plain.word().bareStart())
                        && plain.word().is(plain.word().bareStart());
    }

    private Statement chain() throws CheckpointException {
        Statement first = command();
        while (operator("&&") || operator("||") || operator("|")) {
            Token.Operator operator = (Token.Operator) tokens.get(at++);
            if (operator.text().equals("|") && operator.glued()) {
                remarks.add(new ScriptRemark(
                        operator.line(), "an unquoted | ends the command; a pattern with | must stand in quotes"));
            }
            while (operator("\n")) {
                at++;
            }
            first = new Statement.Chain(first, operator.text(), command());
        }
        return first;
    }

    private Statement command() throws CheckpointException {
        if (operator("(")) {
            at++;
            Statement.Block body = block();
            expectOperator(")");
            skipRedirections();
            return body;
        }
        if (at < tokens.size() && tokens.get(at) instanceof Token.Plain plain) {
            String start = plain.word().bareStart();
            if (plain.word().is(start)) {
                switch (start) {
                    case "if" -> {
                        return branches();
                    }
                    case "case" -> {
                        return choice();
                    }
                    case "for", "select" -> {
                        return forLoop();
                    }
                    case "while", "until" -> {
                        return whileLoop();
                    }
                    case "function" -> {
                        at++;
                        return function();
                    }
                    case "{" -> {
                        at++;
                        Statement.Block body = block();
                        expect("}");
                        skipRedirections();
                        return body;
                    }
                    case "[[" -> {
                        return test();
                    }
                    case "!" -> {
                        at++;
                        if (++depth > MAX_DEPTH) {
                            throw ScriptRemark.refused(line(), "too many !");
                        }
                        Statement negated = new Statement.Not(command());
                        depth--;
                        return negated;
                    }
                    default -> {
                        if (isOperator(at + 1, "(") && isOperator(at + 2, ")")) {
                            return function();
                        }
                    }
                }
            }
        }
        return simple();
    }

    private Statement simple() throws CheckpointException {
        int line = line();
        List<Statement.Assignment> assignments = new ArrayList<>();
        List<Word> words = new ArrayList<>();
        int start = at;
        while (at < tokens.size()) {
            Token token = tokens.get(at);
            if (token instanceof Token.Listed listed) {
                assignments.add(new Statement.Assignment(listed.name(), listed.append(), true, listed.words()));
                at++;
            } else if (token instanceof Token.Plain plain) {
                Optional<Statement.Assignment> assignment =
                        words.isEmpty() || declares(words) ? assignment(plain.word()) : Optional.empty();
                assignment.ifPresentOrElse(assignments::add, () -> words.add(plain.word()));
                at++;
            } else if (!skipRedirections()) {
                break;
            }
        }
        if (at == start) {
            throw unexpected();
        }
        return new Statement.Simple(assignments, words, line);
    }

    private static boolean declares(List<Word> words) {
        return Set.of("export", "declare", "local", "readonly", "typeset")
                .contains(words.get(0).bareStart());
    }

    private static Optional<Statement.Assignment> assignment(Word word) {
        Matcher matcher = ASSIGNMENT.matcher(word.bareStart());
        if (!matcher.matches()) {
            return Optional.empty();
        }
        List<Word.Part> rest =
                new ArrayList<>(word.parts().subList(1, word.parts().size()));
        if (!matcher.group(3).isEmpty()) {
            rest.add(0, new Word.Text(matcher.group(3), false));
        }
        Word value = new Word(rest, word.line());
        return Optional.of(
                new Statement.Assignment(matcher.group(1), !matcher.group(2).isEmpty(), false, List.of(value)));
    }

    private Statement branches() throws CheckpointException {
        int line = line();
        List<Statement.Arm> arms = new ArrayList<>();
        Optional<Statement.Block> otherwise = Optional.empty();
        do {
            at++;
            Statement.Block condition = block();
            expect("then");
            arms.add(new Statement.Arm(condition, block()));
        } while (word("elif"));
        if (word("else")) {
            at++;
            otherwise = Optional.of(block());
        }
        expect("fi");
        skipRedirections();
        return new Statement.Branches(arms, otherwise, line);
    }

    private Statement choice() throws CheckpointException {
        int line = line();
        at++;
        Word subject = takeWord();
        skipLines();
        expect("in");
        skipLines();
        List<Statement.Clause> clauses = new ArrayList<>();
        while (!word("esac")) {
            if (operator("(")) {
                at++;
            }
            List<Word> patterns = new ArrayList<>();
            patterns.add(takeWord());
            while (operator("|")) {
                at++;
                patterns.add(takeWord());
            }
            expectOperator(")");
            clauses.add(new Statement.Clause(patterns, block()));
            if (operator(";;") || operator(";&") || operator(";;&")) {
                at++;
            }
            skipLines();
        }
        at++;
        return new Statement.Choice(subject, clauses, line);
    }

    private Statement forLoop() throws CheckpointException {
        int line = line();
        at++;
        Word variable = takeWord();
        while (at < tokens.size() && !word("do")) {
            at++;
        }
        expect("do");
        Statement.Block body = block();
        expect("done");
        skipRedirections();
        String name = variable.bareStart();
        return new Statement.Loop(name.isEmpty() ? Optional.empty() : Optional.of(name), body, line);
    }

    private Statement whileLoop() throws CheckpointException {
        int line = line();
        at++;
        block();
        expect("do");
        Statement.Block body = block();
        expect("done");
        skipRedirections();
        return new Statement.Loop(Optional.empty(), body, line);
    }

    private Statement function() throws CheckpointException {
        String name = takeWord().bareStart();
        if (operator("(")) {
            at++;
            expectOperator(")");
        }
        skipLines();
        return new Statement.Function(name, command());
    }

    private Statement test() throws CheckpointException {
        int line = line();
        at++;
        List<Word> words = new ArrayList<>();
        while (at < tokens.size() && !word("]]")) {
            Token token = tokens.get(at++);
            if (token instanceof Token.Plain plain) {
                words.add(plain.word());
            } else if (token instanceof Token.Operator operator
                    && !operator.text().equals("\n")) {
                words.add(Word.literal(operator.text(), operator.line()));
            }
        }
        expect("]]");
        return new Statement.Test(words, line);
    }

    private boolean skipRedirections() {
        boolean any = false;
        while (at < tokens.size()
                && tokens.get(at) instanceof Token.Operator operator
                && REDIRECTIONS.contains(operator.text())) {
            any = true;
            at++;
            if (at < tokens.size() && tokens.get(at) instanceof Token.Plain) {
                at++;
            }
        }
        return any;
    }

    private void skipLines() {
        while (operator("\n")) {
            at++;
        }
    }

    private Word takeWord() throws CheckpointException {
        if (at < tokens.size() && tokens.get(at) instanceof Token.Plain plain) {
            at++;
            return plain.word();
        }
        throw unexpected();
    }

    private void expect(String keyword) throws CheckpointException {
        if (!word(keyword)) {
            throw ScriptRemark.refused(line(), "expected " + keyword);
        }
        at++;
    }

    private void expectOperator(String text) throws CheckpointException {
        if (!operator(text)) {
            throw ScriptRemark.refused(line(), "expected " + text);
        }
        at++;
    }

    private boolean word(String keyword) {
        return at < tokens.size()
                && tokens.get(at) instanceof Token.Plain plain
                && plain.word().is(keyword);
    }

    private boolean operator(String text) {
        return isOperator(at, text);
    }

    private boolean isOperator(int position, String text) {
        return position < tokens.size()
                && tokens.get(position) instanceof Token.Operator operator
                && operator.text().equals(text);
    }

    private int line() {
        return tokens.isEmpty()
                ? 1
                : tokens.get(Math.min(at, tokens.size() - 1)).line();
    }

    private CheckpointException unexpected() {
        return ScriptRemark.refused(line(), "this is no shell statement that can be read without running it");
    }
}
