package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/** Expands words with the variables of the moment. */
final class Expander {
    /** Far above any command line; a variable that doubles itself reaches it soon. */
    private static final int MAX_LENGTH = 1 << 20;

    private final Variables variables;

    Expander(Variables variables) {
        this.variables = variables;
    }

    /** The arguments that a word becomes: none, one or several. */
    List<Field> fields(Word word) throws CheckpointException {
        Splitter splitter = new Splitter(word.line());
        for (Word.Part part : word.parts()) {
            if (part instanceof Word.Text text) {
                splitter.append(text.text(), !text.quoted());
            } else if (part instanceof Word.Variable variable) {
                append(splitter, variable, word.line());
            } else if (part instanceof Word.Sum sum) {
                splitter.append(sum(sum.expression()), false);
            } else if (part instanceof Word.Opaque opaque) {
                splitter.append(Field.unresolved(opaque.shown()), false);
            }
        }
        return splitter.done();
    }

    /** The text that a word becomes where nothing is split, as in an assignment. */
    String text(Word word) throws CheckpointException {
        StringBuilder text = new StringBuilder();
        for (Word.Part part : word.parts()) {
            if (part instanceof Word.Text plain) {
                text.append(plain.text());
            } else if (part instanceof Word.Variable variable) {
                text.append(joined(items(variable, word.line())));
            } else if (part instanceof Word.Sum sum) {
                text.append(sum(sum.expression()));
            } else if (part instanceof Word.Opaque opaque) {
                text.append(Field.unresolved(opaque.shown()));
            }
            limit(text.length(), word.line());
        }
        return text.toString();
    }

    private void append(Splitter splitter, Word.Variable variable, int line) throws CheckpointException {
        List<Field> items = items(variable, line);
        if (!variable.quoted()) {
            for (int i = 0; i < items.size(); i++) {
                if (i > 0) {
                    splitter.end();
                }
                splitter.split(items.get(i).text(), items.get(i).line());
            }
        } else if (variable.list()) {
            for (int i = 0; i < items.size(); i++) {
                if (i > 0) {
                    splitter.end();
                }
                splitter.append(items.get(i).text(), false);
                splitter.line = items.get(i).line();
            }
        } else {
            splitter.append(items.isEmpty() ? "" : items.get(0).text(), false);
        }
        limit(splitter.length, line);
    }

    private List<Field> items(Word.Variable variable, int line) throws CheckpointException {
        Variables.Value value = variables.get(variable.name()).orElse(null);
        boolean set = value != null;
        boolean filled = set && !joined(value.items()).isEmpty();
        String operator = variable.operator();
        boolean present = operator.startsWith(":") ? filled : set;
        if (operator.endsWith("+")) {
            return present ? List.of(new Field(text(variable.operand()), false, line)) : List.of();
        }
        if (!present && (operator.endsWith("-") || operator.endsWith("="))) {
            Field otherwise = new Field(text(variable.operand()), false, line);
            if (operator.endsWith("=")) {
                variables.set(variable.name(), new Variables.Value(List.of(otherwise), false));
            }
            return List.of(otherwise);
        }
        if (!set) {
            return List.of(new Field(Field.unresolved(variable.name()), false, line));
        }
        // An array without an index is its first item.
        return value.list() && !variable.list() && !value.items().isEmpty()
                ? value.items().subList(0, 1)
                : value.items();
    }

    private String sum(String expression) {
        OptionalLong value = Arithmetic.of(expression, name -> {
            Variables.Value known = variables.get(name).orElse(null);
            if (known == null) {
                return OptionalLong.empty();
            }
            try {
                return OptionalLong.of(Long.parseLong(joined(known.items()).strip()));
            } catch (NumberFormatException e) {
                return OptionalLong.empty();
            }
        });
        return value.isPresent() ? Long.toString(value.getAsLong()) : Field.unresolved("$((" + expression + "))");
    }

    private static String joined(List<Field> items) {
        return String.join(" ", items.stream().map(Field::text).toList());
    }

    private static void limit(int length, int line) throws CheckpointException {
        if (length > MAX_LENGTH) {
            throw ScriptRemark.refused(line, "a value is longer than " + MAX_LENGTH + " characters");
        }
    }

    /** Collects the arguments of one word. */
    private static final class Splitter {
        private final List<Field> fields = new ArrayList<>();
        private final StringBuilder current = new StringBuilder();
        private boolean open;
        private boolean glob;
        private int line;
        private int length;

        Splitter(int line) {
            this.line = line;
        }

        void append(String text, boolean bare) {
            current.append(text);
            open = true;
            glob |= bare && globs(text);
            length += text.length();
        }

        /** Appends an unquoted value, which is split at blanks. */
        void split(String text, int from) {
            line = from;
            length += text.length();
            int start = 0;
            while (start < text.length()) {
                int end = start;
                while (end < text.length() && !blank(text.charAt(end))) {
                    end = Field.after(text, end);
                }
                if (end > start) {
                    append(text.substring(start, end), true);
                }
                if (end < text.length()) {
                    end();
                    end++;
                }
                start = end;
            }
        }

        void end() {
            if (open) {
                fields.add(new Field(current.toString(), glob, line));
            }
            current.setLength(0);
            open = false;
            glob = false;
        }

        List<Field> done() {
            end();
            return fields;
        }

        private static boolean globs(String text) {
            return text.indexOf('*') >= 0 || text.indexOf('?') >= 0 || text.indexOf('[') >= 0;
        }

        private static boolean blank(char c) {
            return c == ' ' || c == '\t' || c == '\n';
        }
    }
}
