package dev.shardsmith.verify.launch;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * The options that a launch script gives to a training program.
 *
 * @param name what to call the script in a report
 * @param program the program, empty for a plain list of options
 * @param options options in their order; one that is given twice is there twice
 * @param loose variables without a known value that stand alone and may add options
 * @param processes processes that the launcher starts, if it says so in numbers
 * @param sure whether the program is started whatever the environment is
 * @param remarks what is odd about the script
 */
public record LaunchScript(
        String name,
        String program,
        List<LaunchOption> options,
        List<String> loose,
        OptionalLong processes,
        boolean sure,
        List<ScriptRemark> remarks) {
    /** Scripts are written by hand; more is a mistake. */
    private static final long MAX_BYTES = 4 << 20;

    /** Copies the lists. */
    public LaunchScript {
        options = List.copyOf(options);
        loose = List.copyOf(loose);
        remarks = List.copyOf(remarks);
    }

    /**
     * Reads a script from a file.
     *
     * @param given values of variables, which win over the script's own
     * @throws CheckpointException if the file cannot be read as a script, or starts no program with options
     */
    public static LaunchScript read(Path file, Map<String, String> given) throws IOException {
        if (Files.size(file) > MAX_BYTES) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT, file.toString(), "a launch script of more than 4 MiB is no script");
        }
        String text = new String(Files.readAllBytes(file), StandardCharsets.UTF_8);
        return parse(file.getFileName().toString(), text, given);
    }

    /** Reads a script from its text; see {@link #read}. */
    public static LaunchScript parse(String name, String text, Map<String, String> given) throws CheckpointException {
        List<ScriptRemark> remarks = new ArrayList<>();
        String script = Field.clean(text);
        if (script.contains("\r\n")) {
            remarks.add(new ScriptRemark(1, "the script has CR LF line ends, which a shell does not accept"));
            script = script.replace("\r\n", "\n");
        }
        ScriptWalk walk = new ScriptWalk(given, remarks);
        walk.run(ShellParser.parse(script, remarks));
        Optional<Invocation> start = walk.invocations().stream()
                .filter(invocation -> invocation.program() >= 0)
                .max(Comparator.comparingLong(Invocation::options));
        Options options = new Options(script);
        if (start.isPresent()) {
            options.strayLines(walk.invocations(), start.get(), remarks);
            return options.script(name, start.get(), remarks);
        }
        List<Field> listed = new ArrayList<>();
        walk.invocations().forEach(invocation -> listed.addAll(invocation.words()));
        if (listed.isEmpty()) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            name,
                            "no command here starts a Python program, and there is no list of options")
                    .withHint("give the script that holds the line with pretrain_*.py, or a file of --options");
        }
        return options.script(name, new Invocation(listed, 1, true), remarks);
    }

    /** The option given last under any of these names. */
    public Optional<LaunchOption> option(String... names) {
        List<String> wanted = List.of(names);
        LaunchOption last = null;
        for (LaunchOption option : options) {
            last = wanted.contains(option.name()) ? option : last;
        }
        return Optional.ofNullable(last);
    }

    /** Cuts the words of a command into options. */
    private record Options(String script) {

        LaunchScript script(String name, Invocation invocation, List<ScriptRemark> remarks) {
            int program = invocation.program();
            List<Field> words =
                    invocation.words().subList(program + 1, invocation.words().size());
            List<LaunchOption> options = new ArrayList<>();
            List<String> loose = new ArrayList<>();
            int at = 0;
            while (at < words.size()) {
                Field word = words.get(at++);
                if (!word.text().startsWith("--")) {
                    if (!word.resolved()) {
                        loose.addAll(Field.names(word.text()));
                    }
                    continue;
                }
                List<Field> values = new ArrayList<>();
                int equals = word.text().indexOf('=');
                if (equals >= 0) {
                    values.add(new Field(word.text().substring(equals + 1), word.glob(), word.line()));
                }
                while (at < words.size() && isValue(words.get(at), values)) {
                    values.add(words.get(at++));
                }
                options.add(option(equals < 0 ? word.text() : word.text().substring(0, equals), values, word.line()));
            }
            String shown = program < 0
                    ? ""
                    : Field.shown(invocation.words().get(program).text());
            OptionalLong processes = program < 0
                    ? OptionalLong.empty()
                    : processes(invocation.words().subList(0, program));
            return new LaunchScript(name, shown, options, loose, processes, invocation.sure(), remarks);
        }

        /** A word is a value unless it starts an option; a lone unknown variable is one only where a value is missing. */
        private static boolean isValue(Field word, List<Field> values) {
            String text = word.text();
            boolean option = text.length() > 1
                    && text.charAt(0) == '-'
                    && !Character.isDigit(text.charAt(1))
                    && text.charAt(1) != '.';
            return !option && (!word.isStandIn() || values.isEmpty());
        }

        private LaunchOption option(String name, List<Field> values, int line) {
            List<String> unresolved = new ArrayList<>();
            values.forEach(value -> unresolved.addAll(Field.names(value.text())));
            return new LaunchOption(
                    name,
                    values.stream().map(value -> Field.shown(value.text())).toList(),
                    unresolved.stream()
                            .map(each -> Field.shown(Field.unresolved(each)))
                            .toList(),
                    lineOf(name, line),
                    values.stream().anyMatch(Field::glob));
        }

        /** Options inside a long quoted text all start on its first line; the text itself tells where each stands. */
        private int lineOf(String name, int from) {
            int line = 1;
            for (String text : script.split("\n", -1)) {
                String code = text.strip();
                boolean here = line >= from && !code.startsWith("#") && containsWord(code, name);
                if (here) {
                    return line;
                }
                line++;
            }
            return from;
        }

        private static boolean containsWord(String text, String name) {
            int at = text.indexOf(name);
            while (at >= 0) {
                int end = at + name.length();
                boolean ends = end == text.length()
                        || !Character.isLetterOrDigit(text.charAt(end))
                                && text.charAt(end) != '-'
                                && text.charAt(end) != '_';
                if (ends) {
                    return true;
                }
                at = text.indexOf(name, end);
            }
            return false;
        }

        private static OptionalLong processes(List<Field> launcher) {
            long each = -1;
            long nodes = 1;
            for (int i = 0; i < launcher.size(); i++) {
                String[] parts = launcher.get(i).text().split("=", 2);
                String value = parts.length > 1
                        ? parts[1]
                        : i + 1 < launcher.size() ? launcher.get(i + 1).text() : "";
                boolean number = value.matches("[0-9]{1,6}");
                switch (parts[0].replace('_', '-')) {
                    case "--nproc-per-node" -> each = number ? Long.parseLong(value) : -2;
                    case "--nnodes" -> nodes = number ? Long.parseLong(value) : -2;
                    default -> {}
                }
            }
            return each > 0 && nodes > 0 ? OptionalLong.of(each * nodes) : OptionalLong.empty();
        }

        void strayLines(List<Invocation> all, Invocation start, List<ScriptRemark> remarks) {
            for (Invocation other : all) {
                if (other != start && other.isOptionList()) {
                    remarks.add(new ScriptRemark(
                            other.line(),
                            "%s starts a command of its own and is not passed on: the line before has no \\ at its end"
                                    .formatted(Field.shown(other.words().get(0).text()))));
                }
            }
        }
    }
}
