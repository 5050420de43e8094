package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Walks the statements of a script with a table of variables and collects the commands it would run. */
final class ScriptWalk {
    private static final int MAX_STEPS = 200_000;
    private static final int MAX_DEPTH = 512;
    private static final int MAX_CALLS = 16;
    private static final Set<String> HARMLESS = Set.of(
            "cd",
            "mkdir",
            "echo",
            "printf",
            "ulimit",
            "chmod",
            "cp",
            "rm",
            "ln",
            "sleep",
            "wait",
            "module",
            "trap",
            "date",
            "hostname",
            "touch",
            "tee",
            "pushd",
            "popd",
            "shopt",
            "umask",
            "true",
            ":");

    private enum Flow {
        ON,
        RETURN,
        EXIT
    }

    private final Map<String, String> overrides;
    private final List<ScriptRemark> remarks;
    private final List<Invocation> invocations = new ArrayList<>();
    private final Map<String, Statement> functions = new HashMap<>();
    private Variables variables = new Variables();
    private Flow flow = Flow.ON;
    private int unsure;
    private int depth;
    private int calls;
    private int steps;

    ScriptWalk(Map<String, String> overrides, List<ScriptRemark> remarks) {
        this.overrides = overrides;
        this.remarks = remarks;
        overrides.forEach((name, value) ->
                variables.set(name, new Variables.Value(List.of(new Field(value, false, 0)), false)));
    }

    List<Invocation> invocations() {
        return invocations;
    }

    Truth run(Statement statement) throws CheckpointException {
        if (++steps > MAX_STEPS || depth > MAX_DEPTH) {
            throw ScriptRemark.refused(0, "the script does too much to be followed");
        }
        if (flow != Flow.ON) {
            return Truth.UNKNOWN;
        }
        depth++;
        try {
            if (statement instanceof Statement.Simple simple) {
                return simple(simple);
            } else if (statement instanceof Statement.Test test) {
                return test(test);
            } else if (statement instanceof Statement.Block block) {
                return block(block);
            } else if (statement instanceof Statement.Chain chain) {
                return chain(chain);
            } else if (statement instanceof Statement.Not not) {
                return run(not.statement()).not();
            } else if (statement instanceof Statement.Branches branches) {
                branches(branches);
            } else if (statement instanceof Statement.Choice choice) {
                choice(choice);
            } else if (statement instanceof Statement.Loop loop) {
                loop(loop);
            } else if (statement instanceof Statement.Function function) {
                functions.put(function.name(), function.body());
            }
            return Truth.UNKNOWN;
        } finally {
            depth--;
        }
    }

    private Truth block(Statement.Block block) throws CheckpointException {
        Truth last = Truth.YES;
        for (Statement statement : block.statements()) {
            last = run(statement);
        }
        return last;
    }

    private Truth chain(Statement.Chain chain) throws CheckpointException {
        Truth first = run(chain.first());
        if (chain.operator().equals("|")) {
            return run(chain.second());
        }
        boolean and = chain.operator().equals("&&");
        Truth goesOn = and ? first : first.not();
        return switch (goesOn) {
            case YES -> run(chain.second());
            case NO -> first;
            case UNKNOWN -> {
                Alternatives alternatives = new Alternatives(0);
                alternatives.without();
                alternatives.with(chain.second());
                alternatives.merge();
                yield Truth.UNKNOWN;
            }
        };
    }

    private Truth test(Statement.Test test) throws CheckpointException {
        List<String> texts = new ArrayList<>();
        for (Word word : test.words()) {
            texts.add(new Expander(variables).text(word));
        }
        return Condition.of(texts);
    }

    private void branches(Statement.Branches branches) throws CheckpointException {
        Alternatives alternatives = new Alternatives(branches.line());
        for (Statement.Arm arm : branches.arms()) {
            Truth holds = run(arm.condition());
            if (holds == Truth.YES) {
                alternatives.last(arm.body());
                return;
            }
            if (holds == Truth.UNKNOWN) {
                alternatives.with(arm.body());
            }
        }
        alternatives.last(branches.otherwise().orElse(new Statement.Block(List.of())));
    }

    private void choice(Statement.Choice choice) throws CheckpointException {
        String subject = new Expander(variables).text(choice.subject());
        Alternatives alternatives = new Alternatives(choice.line());
        for (Statement.Clause clause : choice.clauses()) {
            Truth matches = Truth.NO;
            for (Word word : clause.patterns()) {
                String pattern = new Expander(variables).text(word);
                Truth one = pattern.equals("*") ? Truth.YES : Condition.of(List.of(subject, "=", pattern));
                matches = one == Truth.YES || matches == Truth.NO ? one : matches;
            }
            if (matches == Truth.YES) {
                alternatives.last(clause.body());
                return;
            }
            if (matches == Truth.UNKNOWN) {
                alternatives.with(clause.body());
            }
        }
        alternatives.last(new Statement.Block(List.of()));
    }

    private void loop(Statement.Loop loop) throws CheckpointException {
        Alternatives alternatives = new Alternatives(loop.line());
        alternatives.without();
        loop.variable().ifPresent(name -> variables.forget(name, loop.line()));
        alternatives.with(loop.body());
        alternatives.merge();
    }

    private Truth simple(Statement.Simple simple) throws CheckpointException {
        Expander expander = new Expander(variables);
        List<Field> fields = new ArrayList<>();
        for (Word word : simple.words()) {
            fields.addAll(expander.fields(word));
        }
        String name = fields.isEmpty() ? "" : fields.get(0).text();
        boolean keeps = fields.isEmpty()
                || Set.of("export", "declare", "local", "readonly", "typeset").contains(name);
        if (keeps) {
            for (Statement.Assignment assignment : simple.assignments()) {
                assign(assignment, simple.line());
            }
            return Truth.YES;
        }
        return command(name, fields, simple.line());
    }

    private void assign(Statement.Assignment assignment, int line) throws CheckpointException {
        if (overrides.containsKey(assignment.name())) {
            return;
        }
        Expander expander = new Expander(variables);
        List<Field> items = new ArrayList<>();
        Variables.Value before = variables.get(assignment.name()).orElse(null);
        boolean append = assignment.append() && before != null;
        if (assignment.list()) {
            if (append) {
                items.addAll(before.items());
            }
            for (Word word : assignment.words()) {
                items.addAll(expander.fields(word));
            }
        } else {
            String text = expander.text(assignment.words().get(0));
            String start =
                    append && !before.items().isEmpty() ? before.items().get(0).text() : "";
            items.add(new Field(start + text, false, line));
        }
        if (items.size() > MAX_STEPS) {
            throw ScriptRemark.refused(line, "an array is too long");
        }
        variables.set(assignment.name(), new Variables.Value(items, assignment.list()));
    }

    private Truth command(String name, List<Field> fields, int line) throws CheckpointException {
        List<Field> arguments = fields.subList(1, fields.size());
        switch (name) {
            case "[", "test" -> {
                List<String> texts =
                        new ArrayList<>(arguments.stream().map(Field::text).toList());
                if (name.equals("[") && !texts.isEmpty()) {
                    texts.remove(texts.size() - 1);
                }
                return Condition.of(texts);
            }
            case "false" -> {
                return Truth.NO;
            }
            case "exit" -> flow = Flow.EXIT;
            case "return" -> flow = Flow.RETURN;
            case "unset" -> arguments.forEach(field -> variables.remove(field.text()));
            case "read", "getopts", "mapfile" -> arguments.forEach(field -> variables.forget(field.text(), line));
            case "set" -> set(arguments);
            case "shift" -> forgetPositional(line);
            case "source", "." ->
                remarks.add(
                        new ScriptRemark(line, "%s is not read; what it sets is unknown".formatted(shown(arguments))));
            case "eval" ->
                nested(String.join(" ", arguments.stream().map(Field::text).toList()), line);
            default -> {
                return external(name, fields, line);
            }
        }
        return Truth.YES;
    }

    private static String shown(List<Field> arguments) {
        return arguments.isEmpty() ? "a file" : Field.shown(arguments.get(0).text());
    }

    private Truth external(String name, List<Field> fields, int line) throws CheckpointException {
        if (functions.containsKey(name)) {
            call(functions.get(name), fields);
            return Truth.UNKNOWN;
        }
        for (int i = 0; i + 2 < fields.size(); i++) {
            String shell = fields.get(i).text();
            boolean isShell = shell.endsWith("bash") || shell.endsWith("/sh") || shell.equals("sh");
            if (isShell && fields.get(i + 1).text().matches("-[a-z]*c")) {
                nested(fields.get(i + 2).text(), line);
                return Truth.UNKNOWN;
            }
        }
        Invocation invocation = new Invocation(fields, line, unsure == 0);
        if (invocation.program() >= 0 || invocation.isOptionList()) {
            invocations.add(invocation);
        }
        return HARMLESS.contains(name) ? Truth.YES : Truth.UNKNOWN;
    }

    private void nested(String script, int line) throws CheckpointException {
        if (++calls > MAX_CALLS) {
            throw ScriptRemark.refused(line, "scripts within scripts are nested too deep");
        }
        run(ShellParser.parse(script, remarks));
        calls--;
    }

    private void call(Statement body, List<Field> fields) throws CheckpointException {
        if (++calls > MAX_CALLS) {
            throw ScriptRemark.refused(fields.get(0).line(), "functions call each other too deep");
        }
        Variables.Value all = variables.get("@").orElse(null);
        setPositional(fields.subList(1, fields.size()));
        run(body);
        calls--;
        if (flow == Flow.RETURN) {
            flow = Flow.ON;
        }
        forgetPositional(0);
        if (all != null) {
            variables.set("@", all);
            variables.set("*", all);
        }
    }

    private void set(List<Field> arguments) {
        boolean explicit = !arguments.isEmpty() && arguments.get(0).text().equals("--");
        if (explicit) {
            setPositional(arguments.subList(1, arguments.size()));
        } else if (arguments.stream().noneMatch(field -> field.text().startsWith("-"))) {
            setPositional(arguments);
        }
    }

    private void setPositional(List<Field> values) {
        for (int i = 0; i < values.size(); i++) {
            variables.set(Integer.toString(i + 1), new Variables.Value(List.of(values.get(i)), false));
        }
        Variables.Value all = new Variables.Value(values, true);
        variables.set("@", all);
        variables.set("*", all);
    }

    private void forgetPositional(int line) {
        for (int i = 1; i <= 9; i++) {
            variables.remove(Integer.toString(i));
        }
        variables.forget("@", line);
        variables.forget("*", line);
    }

    /** The states a script can be in after a statement whose outcome is not known. */
    private final class Alternatives {
        private final int line;
        private final List<Variables> states = new ArrayList<>();
        private final List<Flow> flows = new ArrayList<>();

        Alternatives(int line) {
            this.line = line;
        }

        /** The statement is run, in a copy of what is known now. */
        void with(Statement statement) throws CheckpointException {
            Variables before = variables.copy();
            unsure++;
            run(statement);
            unsure--;
            states.add(variables);
            flows.add(flow);
            variables = before;
            flow = Flow.ON;
        }

        /** Nothing is run. */
        void without() {
            states.add(variables.copy());
            flows.add(Flow.ON);
        }

        /** The statement is run if none of the others was, and ends the alternatives. */
        void last(Statement statement) throws CheckpointException {
            if (states.isEmpty()) {
                run(statement);
            } else {
                with(statement);
                merge();
            }
        }

        void merge() {
            List<Variables> alive = new ArrayList<>();
            for (int i = 0; i < states.size(); i++) {
                if (flows.get(i) == Flow.ON) {
                    alive.add(states.get(i));
                }
            }
            if (alive.isEmpty()) {
                flow = flows.get(0);
                variables = states.get(0);
            } else {
                variables = Variables.merged(alive, line);
            }
        }
    }
}
