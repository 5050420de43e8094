package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** Cuts a script into tokens. */
final class ShellLexer {
    private static final Pattern LIST_START = Pattern.compile("[A-Za-z_][A-Za-z0-9_]*\\+?=");
    private static final Pattern DIGITS = Pattern.compile("[0-9]+");
    /** Longest first, so that {@code &&} is not read as two. */
    private static final List<String> OPERATORS = List.of(
            "<<<", "<<-", "&>>", ";;&", "&&", "||", ";;", ";&", "<<", ">>", "&>", ">&", "<&", ">|", "\n", ";", "&", "|",
            "(", ")", "<", ">");

    private final String script;
    private final List<ScriptRemark> remarks;
    private final List<String> hereDocuments = new ArrayList<>();
    private int at;
    private int line = 1;

    ShellLexer(String script, List<ScriptRemark> remarks) {
        this.script = script;
        this.remarks = remarks;
    }

    List<Token> tokens() throws CheckpointException {
        List<Token> tokens = new ArrayList<>();
        boolean glued = false;
        while (at < script.length()) {
            char c = script.charAt(at);
            if (c == ' ' || c == '\t') {
                at++;
                glued = false;
            } else if (c == '\\' && peek(1) == '\n') {
                at += 2;
                line++;
                glued = false;
            } else if (c == '#') {
                skipComment();
            } else {
                String operator = operator();
                if (operator.isEmpty()) {
                    tokens.add(wordOrList());
                    glued = true;
                } else {
                    operator(tokens, operator, glued);
                    glued = false;
                }
            }
        }
        return tokens;
    }

    private void operator(List<Token> tokens, String operator, boolean glued) throws CheckpointException {
        if (operator.equals("(") && script.startsWith("((", at)) {
            int start = at;
            int end = closing(at + 2, "))");
            countLines(start, end);
            at = end;
            tokens.add(new Token.Plain(new Word(List.of(new Word.Opaque("((...))", true)), line)));
            return;
        }
        tokens.add(new Token.Operator(operator, glued, line));
        at += operator.length();
        if (operator.equals("<<") || operator.equals("<<-")) {
            skipBlanks();
            StringBuilder end = new StringBuilder();
            for (Word.Part part : word().parts()) {
                end.append(part instanceof Word.Text text ? text.text() : "");
            }
            hereDocuments.add(end.toString());
            tokens.add(new Token.Plain(Word.literal(end.toString(), line)));
        } else if (operator.equals("\n")) {
            line++;
            skipHereDocuments();
        }
    }

    private void skipHereDocuments() {
        for (String end : hereDocuments) {
            boolean found = false;
            while (!found && at < script.length()) {
                int next = script.indexOf('\n', at);
                int stop = next < 0 ? script.length() : next;
                found = script.substring(at, stop).strip().equals(end);
                at = next < 0 ? stop : next + 1;
                line++;
            }
        }
        hereDocuments.clear();
    }

    private String operator() {
        for (String operator : OPERATORS) {
            if (script.startsWith(operator, at)) {
                return operator;
            }
        }
        return "";
    }

    private Token wordOrList() throws CheckpointException {
        int start = line;
        Word word = word();
        String text = word.parts().size() == 1 ? word.bareStart() : "";
        if (peek(0) == '(' && LIST_START.matcher(text).matches()) {
            at++;
            List<Word> words = listed();
            boolean append = text.endsWith("+=");
            String name = text.substring(0, text.length() - (append ? 2 : 1));
            return new Token.Listed(name, append, words, start);
        }
        if ((peek(0) == '<' || peek(0) == '>') && DIGITS.matcher(text).matches()) {
            // A file descriptor before a redirection is no argument.
            return new Token.Operator(">", false, line);
        }
        return new Token.Plain(word);
    }

    private List<Word> listed() throws CheckpointException {
        List<Word> words = new ArrayList<>();
        while (at < script.length() && peek(0) != ')') {
            char c = peek(0);
            if (c == '\n') {
                line++;
                at++;
            } else if (c == ' ' || c == '\t') {
                at++;
            } else if (c == '\\' && peek(1) == '\n') {
                line++;
                at += 2;
            } else if (c == '#') {
                skipComment();
            } else if (operator().isEmpty()) {
                words.add(word());
            } else {
                throw refused("an array may not hold " + c + " without quotes");
            }
        }
        if (at >= script.length()) {
            throw refused("an array has no closing )");
        }
        at++;
        return words;
    }

    private Word word() throws CheckpointException {
        WordReader reader = new WordReader(script, at, line, remarks);
        Word word = reader.read(0);
        at = reader.position();
        line = reader.line();
        return word;
    }

    private int closing(int from, String text) throws CheckpointException {
        int end = script.indexOf(text, from);
        if (end < 0) {
            throw refused("there is no closing " + text);
        }
        return end + text.length();
    }

    private void countLines(int from, int to) {
        for (int i = from; i < to; i++) {
            if (script.charAt(i) == '\n') {
                line++;
            }
        }
    }

    private void skipComment() {
        int end = script.indexOf('\n', at);
        at = end < 0 ? script.length() : end;
    }

    private void skipBlanks() {
        while (peek(0) == ' ' || peek(0) == '\t') {
            at++;
        }
    }

    private char peek(int ahead) {
        return at + ahead < script.length() ? script.charAt(at + ahead) : '\0';
    }

    private CheckpointException refused(String problem) {
        return ScriptRemark.refused(line, problem);
    }
}
