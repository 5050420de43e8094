package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;

/** Reads one word: quotes, escapes and expansions. */
final class WordReader {
    /** Quotes within expansions within quotes; real scripts have two or three levels. */
    private static final int MAX_DEPTH = 32;

    private final String script;
    private final List<ScriptRemark> remarks;
    private int at;
    private int line;

    WordReader(String script, int at, int line, List<ScriptRemark> remarks) {
        this.script = script;
        this.at = at;
        this.line = line;
        this.remarks = remarks;
    }

    int position() {
        return at;
    }

    int line() {
        return line;
    }

    /** The word that starts here, up to a blank or an operator. */
    Word read(int depth) throws CheckpointException {
        return read(depth, Until.BLANK);
    }

    private enum Until {
        /** A blank, a line end or an operator. */
        BLANK,
        /** The brace that closes an expansion. */
        BRACE
    }

    private Word read(int depth, Until until) throws CheckpointException {
        if (depth > MAX_DEPTH) {
            throw ScriptRemark.refused(line, "expansions are nested deeper than " + MAX_DEPTH + " levels");
        }
        int start = line;
        Parts parts = new Parts();
        while (at < script.length()) {
            char c = script.charAt(at);
            if (until == Until.BRACE ? c == '}' : " \t\n;&|()<>".indexOf(c) >= 0) {
                break;
            }
            at++;
            switch (c) {
                case '\\' -> escape(parts);
                case '\'' -> parts.quoted(upTo('\''));
                case '"' -> doubleQuoted(parts, depth);
                case '`' -> parts.add(new Word.Opaque("`" + upTo('`') + "`", false));
                case '$' -> dollar(parts, depth, false);
                case '\n' -> {
                    line++;
                    parts.bare(c);
                }
                default -> parts.bare(c);
            }
        }
        return new Word(parts.done(), start);
    }

    private void escape(Parts parts) {
        if (at >= script.length()) {
            return;
        }
        char c = script.charAt(at++);
        if (c == '\n') {
            line++;
            return;
        }
        if (c == ' ' || c == '\t') {
            int end = at;
            while (end < script.length() && (script.charAt(end) == ' ' || script.charAt(end) == '\t')) {
                end++;
            }
            if (end < script.length() && script.charAt(end) == '\n') {
                remarks.add(new ScriptRemark(
                        line,
                        "a blank after \\ at the end of the line ends the command here: the options below are lost"));
            }
        }
        parts.quoted(Character.toString(c));
    }

    private void doubleQuoted(Parts parts, int depth) throws CheckpointException {
        parts.quoted("");
        while (at < script.length()) {
            char c = script.charAt(at++);
            switch (c) {
                case '"' -> {
                    return;
                }
                case '\\' -> {
                    char next = at < script.length() ? script.charAt(at) : '\0';
                    if (next == '\n') {
                        line++;
                        at++;
                    } else if ("$`\"\\".indexOf(next) >= 0) {
                        parts.quoted(Character.toString(next));
                        at++;
                    } else {
                        parts.quoted("\\");
                    }
                }
                case '`' -> parts.add(new Word.Opaque("`" + upTo('`') + "`", true));
                case '$' -> dollar(parts, depth, true);
                case '\n' -> {
                    line++;
                    parts.quoted("\n");
                }
                default -> parts.quoted(Character.toString(c));
            }
        }
        throw ScriptRemark.refused(line, "a \" is never closed");
    }

    private void dollar(Parts parts, int depth, boolean quoted) throws CheckpointException {
        char next = at < script.length() ? script.charAt(at) : '\0';
        if (script.startsWith("((", at)) {
            at += 2;
            parts.add(new Word.Sum(balanced(2), quoted));
        } else if (next == '(') {
            at++;
            parts.add(new Word.Opaque("$(" + balanced(1) + ")", quoted));
        } else if (next == '{') {
            at++;
            parts.add(braced(depth, quoted));
        } else if (next == '\'' && !quoted) {
            at++;
            parts.quoted(upTo('\''));
        } else if (Character.isLetter(next) || next == '_') {
            parts.add(new Word.Variable(name(), false, "", null, quoted));
        } else if (Character.isDigit(next) || "@*#?$!-".indexOf(next) >= 0 && next != '\0') {
            at++;
            parts.add(new Word.Variable(Character.toString(next), next == '@' || next == '*', "", null, quoted));
        } else if (quoted) {
            parts.quoted("$");
        } else {
            parts.bare('$');
        }
    }

    private Word.Part braced(int depth, boolean quoted) throws CheckpointException {
        int start = at;
        String name = name();
        if (name.isEmpty() && at < script.length()) {
            char c = script.charAt(at);
            if (Character.isDigit(c) || c == '@' || c == '*') {
                at++;
                name = Character.toString(c);
            }
        }
        boolean list = name.equals("@") || name.equals("*");
        if (script.startsWith("[@]", at) || script.startsWith("[*]", at)) {
            list = true;
            at += 3;
        }
        for (String operator : List.of(":-", ":=", ":+", ":?", "-", "=", "+", "?")) {
            if (!name.isEmpty() && script.startsWith(operator, at)) {
                at += operator.length();
                Word operand = read(depth + 1, Until.BRACE);
                closeBrace();
                return new Word.Variable(name, list, operator, operand, quoted);
            }
        }
        if (!name.isEmpty() && at < script.length() && script.charAt(at) == '}') {
            at++;
            return new Word.Variable(name, list, "", null, quoted);
        }
        // Lengths, substrings and replacements: only the shell knows.
        read(depth + 1, Until.BRACE);
        closeBrace();
        return new Word.Opaque("${" + script.substring(start, at), quoted);
    }

    private void closeBrace() throws CheckpointException {
        if (at >= script.length()) {
            throw ScriptRemark.refused(line, "a ${ is never closed");
        }
        at++;
    }

    private String name() {
        int start = at;
        while (at < script.length()
                && (Character.isLetterOrDigit(script.charAt(at)) || script.charAt(at) == '_')
                && (at > start || !Character.isDigit(script.charAt(at)))) {
            at++;
        }
        return script.substring(start, at);
    }

    /** The text up to as many closing parentheses as were opened, which are passed. */
    private String balanced(int open) throws CheckpointException {
        int start = at;
        int depth = open;
        while (at < script.length()) {
            char c = script.charAt(at++);
            if (c == '\n') {
                line++;
            } else if (c == '(') {
                depth++;
            } else if (c == ')' && --depth == 0) {
                return script.substring(start, at - open);
            }
        }
        throw ScriptRemark.refused(line, "a $( is never closed");
    }

    private String upTo(char end) throws CheckpointException {
        int stop = script.indexOf(end, at);
        if (stop < 0) {
            throw ScriptRemark.refused(line, "a " + end + " is never closed");
        }
        String text = script.substring(at, stop);
        line += (int) text.chars().filter(c -> c == '\n').count();
        at = stop + 1;
        return text;
    }

    /** Collects parts and joins neighbouring characters of one kind. */
    private static final class Parts {
        private final List<Word.Part> parts = new ArrayList<>();
        private final StringBuilder text = new StringBuilder();
        private boolean quoted;
        private boolean open;

        void bare(char c) {
            start(false);
            text.append(c);
        }

        void quoted(String more) {
            start(true);
            text.append(more);
        }

        void add(Word.Part part) {
            flush();
            parts.add(part);
        }

        List<Word.Part> done() {
            flush();
            return parts;
        }

        private void start(boolean kind) {
            if (open && quoted != kind) {
                flush();
            }
            open = true;
            quoted = kind;
        }

        private void flush() {
            if (open) {
                parts.add(new Word.Text(text.toString(), quoted));
                text.setLength(0);
                open = false;
            }
        }
    }
}
