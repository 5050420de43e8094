package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.reshard.pattern.HybridPattern;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.pattern.PatternExplanation;
import dev.shardsmith.reshard.pattern.PatternProblem;
import dev.shardsmith.reshard.pattern.Stage;
import dev.shardsmith.reshard.pattern.StageLayout;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.apache.commons.cli.Options;

/** {@code shardsmith pattern PATTERN}: explains a hybrid layer pattern, or says what is wrong with it and where. */
final class PatternCommand implements Command {
    private static final String SYMBOLS = "MGDE*+|/-";

    @Override
    public String name() {
        return "pattern";
    }

    @Override
    public String summary() {
        return "explain a hybrid layer pattern, or find the error in it";
    }

    @Override
    public String description() {
        return "Explains a hybrid layer pattern: layers of each kind, pipeline stages, prediction depths. "
                + "If it is wrong, says what and at which column, and exits with 1. "
                + "Symbols: M Mamba, * attention, - MLP, E experts, G gated delta net, D sparse attention, "
                + "+ latent attention; | ends a stage, / begins a prediction part.";
    }

    @Override
    public List<String> operands() {
        return List.of("[PATTERN]");
    }

    @Override
    public Options options() {
        return Flags.of(
                Flags.value("pp", "N", "pipeline stages; without it, each part between two | is one"),
                Flags.value("vpp", "N", "virtual stages of each pipeline rank"),
                Flags.value("pp-layers", "A,B,…", "layers of each stage, in the order of the model"),
                Flags.value(
                        "from-ratios",
                        "LAYERS,ATTENTION,MLP",
                        "explain the pattern that the older ratio options stand for, such as 56,0.08,0.5"),
                Flags.json());
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith pattern 'M-M-|M-M*-'", "Count layers and stages"),
                new Example(
                        "shardsmith pattern 'MMM*-MMM*-' --pp 2 --json",
                        "Divide a pattern by two stages, for a script"),
                new Example("shardsmith pattern --from-ratios 56,0.08,0.5", "See what old ratio options meant"));
    }

    @Override
    public boolean takesAsOperand(String word) {
        // A pattern may begin with an MLP layer, whose symbol is a dash.
        return word.startsWith("-") && !word.equals("--") && word.chars().allMatch(c -> SYMBOLS.indexOf(c) >= 0);
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        PatternExplanation explanation = explain(line);
        explanation.warnings().forEach(out::warn);
        if (line.has("json")) {
            String status = ExitCode.answer(explanation.valid()).status();
            out.json(name(), status, json -> write(json, explanation));
        } else {
            explanation.pattern().ifPresent(pattern -> print(out, pattern));
            explanation.stages().ifPresent(stages -> print(out, stages));
            explanation.problem().ifPresent(problem -> print(out, explanation.text(), problem));
        }
        return ExitCode.answer(explanation.valid());
    }

    private static PatternExplanation explain(Arguments line) throws UsageException {
        Optional<String> pattern = line.optionalOperand(0);
        Optional<String> ratios = line.value("from-ratios");
        if (pattern.isPresent() == ratios.isPresent()) {
            throw new UsageException("give either PATTERN or --from-ratios");
        }
        OptionalInt pp = line.number("pp", 1);
        OptionalInt vpp = line.number("vpp", 1);
        List<Integer> layers = line.numbers("pp-layers", 0).orElse(List.of());
        if (pattern.isPresent()) {
            return PatternExplanation.of(pattern.get(), pp, vpp, layers);
        }
        String[] parts = ratios.get().split(",", -1);
        try {
            if (parts.length == 3) {
                return PatternExplanation.ofRatios(
                        Integer.parseInt(parts[0].strip()),
                        Double.parseDouble(parts[1].strip()),
                        Double.parseDouble(parts[2].strip()),
                        pp,
                        vpp,
                        layers);
            }
        } catch (NumberFormatException notANumber) {
            // Said below, as for too few numbers.
        }
        throw Arguments.wrong("from-ratios", ratios.get(), "three numbers such as 56,0.08,0.5");
    }

    private static void print(Out out, HybridPattern pattern) {
        out.line("pattern  " + pattern.text());
        out.line("layers   " + pattern.layerCount() + counts(pattern));
        if (pattern.mtp().isPresent()) {
            out.line("mtp      %s, %d deep".formatted(pattern.mtp().get(), pattern.mtpDepths()));
        }
    }

    private static String counts(HybridPattern pattern) {
        return pattern.counts().entrySet().stream()
                .filter(count -> count.getValue() > 0)
                .map(count -> "%d %s".formatted(count.getValue(), count.getKey().title()))
                .collect(Collectors.joining(", ", ": ", ""));
    }

    private static void print(Out out, StageLayout layout) {
        Table table = new Table()
                .column("pp", Table.Align.RIGHT)
                .column("vp", Table.Align.RIGHT)
                .column("first", Table.Align.RIGHT)
                .column("count", Table.Align.RIGHT)
                .column("layers", Table.Align.LEFT);
        for (Stage stage : layout.stages()) {
            table.row(
                    String.valueOf(stage.pp()),
                    String.valueOf(stage.vp()),
                    String.valueOf(stage.offset()),
                    String.valueOf(stage.layerCount()),
                    stage.layers());
        }
        out.line();
        out.table(table);
    }

    private static void print(Out out, String text, PatternProblem problem) {
        String column = problem.column() > 0 ? " at column " + problem.column() : "";
        out.line(out.ink(Ink.RED, "invalid" + column + ": ") + problem.message());
        problem.caret(text).lines().forEach(line -> out.line("  " + line));
        if (!problem.fix().isEmpty()) {
            out.line("  try: " + problem.fix());
        }
    }

    private static void write(JsonGenerator json, PatternExplanation explanation) throws IOException {
        json.writeBooleanField("valid", explanation.valid());
        if (explanation.pattern().isPresent()) {
            HybridPattern pattern = explanation.pattern().get();
            writeOptional(json, "main", pattern.main());
            writeOptional(json, "mtp", pattern.mtp());
            json.writeNumberField("mtpDepths", pattern.mtpDepths());
            json.writeNumberField("layers", pattern.layerCount());
            json.writeObjectFieldStart("counts");
            for (Map.Entry<LayerKind, Integer> count : pattern.counts().entrySet()) {
                json.writeNumberField(String.valueOf(count.getKey().symbol()), count.getValue());
            }
            json.writeEndObject();
        }
        if (explanation.stages().isPresent()) {
            json.writeArrayFieldStart("stages");
            for (Stage stage : explanation.stages().get().stages()) {
                json.writeStartObject();
                json.writeNumberField("pp", stage.pp());
                json.writeNumberField("vp", stage.vp());
                json.writeNumberField("offset", stage.offset());
                json.writeStringField("layers", stage.layers());
                json.writeEndObject();
            }
            json.writeEndArray();
        }
        if (explanation.problem().isPresent()) {
            PatternProblem problem = explanation.problem().get();
            json.writeObjectFieldStart("error");
            json.writeStringField("message", problem.message());
            json.writeNumberField("column", problem.column());
            json.writeEndObject();
        }
    }

    private static void writeOptional(JsonGenerator json, String name, Optional<String> value) throws IOException {
        if (value.isPresent()) {
            json.writeStringField(name, value.get());
        } else {
            json.writeNullField(name);
        }
    }
}
