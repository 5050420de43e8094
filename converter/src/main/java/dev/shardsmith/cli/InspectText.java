package dev.shardsmith.cli;

import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.Table;
import dev.shardsmith.cli.terminal.Wrapping;
import dev.shardsmith.reshard.pattern.LayerKind;
import dev.shardsmith.reshard.region.Shares;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpaqueItem;
import dev.shardsmith.verify.inspect.Holders;
import dev.shardsmith.verify.inspect.TensorSurvey;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** What is in a checkpoint, as text. */
final class InspectText {
    private static final int MOST_NAMES = 10;

    /** Characters of a bar of holders. */
    private static final int BAR = 16;

    /** Columns of a terminal that has room for a bar and for words. */
    private static final int ROOMY = 120;

    private static final String LEGEND =
            "held by: each character is an equal share of the divided dimension and names the "
                    + "tensor-parallel rank that has it; = stands for all ranks. --json lists the ranges.";

    /** Norms before experts are modules of their own in either implementation. */
    private static final Pattern SEPARATE_NORM =
            Pattern.compile("decoder\\.layers\\.\\d+\\.(norm|input_layernorm)\\.weight");

    private final Out out;
    private final ModelView view;
    private final CheckpointSummary summary;

    InspectText(Out out, ModelView view, CheckpointSummary summary) {
        this.out = out;
        this.view = view;
        this.summary = summary;
    }

    void summary() {
        line("path", view.path().toString());
        line("layout", view.layout().id() + (view.description().isEmpty() ? "" : ": " + view.description()));
        line("family", family());
        line("parallel", view.parallelism().toString());
        view.pattern().ifPresent(pattern -> {
            List<String> strip = strip(pattern);
            for (int i = 0; i < strip.size(); i++) {
                line(i == 0 ? "pattern" : "", strip.get(i));
            }
        });
        line(
                "tensors",
                "%d, %,d elements, %s"
                        .formatted(summary.tensors(), summary.elements(), ByteSize.format(summary.bytes())));
        line(
                "types",
                summary.bytesByType().entrySet().stream()
                        .map(type -> type.getKey().shortName() + " " + ByteSize.format(type.getValue()))
                        .collect(Collectors.joining(", ")));
        line("files", "%d, %s".formatted(summary.files(), ByteSize.format(summary.fileBytes())));
        if (summary.wastedBytes() > 0) {
            line(
                    "waste",
                    out.ink(Ink.YELLOW, ByteSize.format(summary.wastedBytes()))
                            + " of storages that no tensor shows; converting leaves it out");
        }
        norms().ifPresent(text -> line("norms", text));
        if (!view.extraStates().isEmpty()) {
            line("extra", view.extraStates().size() + " opaque module states (_extra_state)");
        }
        if (view.optimizer().tensors() > 0) {
            String size = ByteSize.format(view.optimizer().bytes());
            line("optimizer", "%,d tensors, %s".formatted(view.optimizer().tensors(), size));
        }
        if (!view.state().entries().isEmpty()) {
            line(
                    "state",
                    view.state().entries().keySet().stream()
                            .filter(key -> !key.matches("model\\d*"))
                            .collect(Collectors.joining(", ")));
        }
        if (!view.items().isEmpty()) {
            line("other", some(view.items().stream().map(OpaqueItem::name).toList()) + ", which are no plain tensors");
        }
        if (!view.unknown().isEmpty()) {
            line("unknown", out.ink(Ink.YELLOW, some(view.unknown())) + "; convert needs --rule for them");
        }
    }

    private static String some(List<String> names) {
        String shown = String.join(", ", names.subList(0, Math.min(MOST_NAMES, names.size())));
        return names.size() > MOST_NAMES ? shown + " and %d more".formatted(names.size() - MOST_NAMES) : shown;
    }

    /** The pattern in the colours of its layers, broken to the width of the terminal. */
    private List<String> strip(String pattern) {
        int width = Math.max(20, out.terminal().columns() - 12);
        List<String> lines = new ArrayList<>();
        StringBuilder line = new StringBuilder();
        int shown = 0;
        for (char symbol : pattern.toCharArray()) {
            if (shown == width) {
                lines.add(line.toString());
                line.setLength(0);
                shown = 0;
            }
            line.append(LayerKind.of(symbol)
                    .map(kind -> out.ink(ink(kind), String.valueOf(symbol)))
                    .orElse(String.valueOf(symbol)));
            shown++;
        }
        lines.add(line.toString());
        return lines;
    }

    private static Ink ink(LayerKind kind) {
        return switch (kind) {
            case MAMBA -> Ink.BLUE;
            case GATED_DELTA -> Ink.CYAN;
            case ATTENTION, SPARSE_ATTENTION, LATENT_ATTENTION -> Ink.RED;
            case MLP -> Ink.GREEN;
            case EXPERTS -> Ink.MAGENTA;
        };
    }

    /** Lists tensors; of a checkpoint of several ranks also a bar of who holds what. */
    void tensors(List<LogicalTensor> tensors, Holders holders) throws IOException {
        Table table = new Table()
                .nameColumn("tensor")
                .column("type", Table.Align.LEFT)
                .column("shape", Table.Align.LEFT)
                .column("size", Table.Align.RIGHT);
        boolean several = holders.hasRanks();
        boolean staged = view.parallelism().pipeline() > 1;
        if (staged) {
            table.column("pp", Table.Align.LEFT);
        }
        if (several) {
            table.fixedColumn("held by", Table.Align.LEFT);
        }
        // The bar says how a tensor is divided; where there is little room, that is enough.
        boolean roomy = !several || out.terminal().tableColumns() >= ROOMY;
        if (roomy) {
            table.column("divided", Table.Align.LEFT);
        }
        for (LogicalTensor tensor : tensors) {
            List<String> cells = new ArrayList<>(List.of(
                    tensor.name(),
                    tensor.dtype().shortName(),
                    tensor.shape().toString(),
                    ByteSize.format(tensor.bytes())));
            if (staged || several) {
                Shares shares = holders.of(tensor);
                if (staged) {
                    cells.add(stages(shares, holders));
                }
                if (several) {
                    cells.add(holders.bar(shares, BAR));
                }
            }
            if (roomy) {
                cells.add(tensor.division());
            }
            table.row(cells.toArray(new String[0]));
        }
        out.line();
        out.table(table);
        if (several) {
            out.line();
            Wrapping.lines(LEGEND, out.terminal().columns()).forEach(out::line);
        }
    }

    private static String stages(Shares shares, Holders holders) {
        return shares.boxes().keySet().stream()
                .flatMap(file -> holders.rank(file).stream())
                .map(rank -> String.valueOf(rank.pipeline()))
                .distinct()
                .collect(Collectors.joining(","));
    }

    void statistics(List<TensorSurvey> surveys) {
        new StatisticsText(out).print(surveys);
    }

    void objects(List<ObjectTree.Entry> entries) {
        out.line();
        entries.forEach(entry -> out.line(entry.path() + " = " + entry.text()));
    }

    /** Hugging Face's own name of a model, where its tensors are shown by Megatron's. */
    private String family() {
        return view.family() == ModelView.Family.MEGATRON && view.layout() == ModelView.Layout.HUGGINGFACE
                ? view.config().getOrDefault("model_type", "nemotron_h") + " (by Megatron's names)"
                : view.family().id();
    }

    private void line(String name, String text) {
        out.field(name, text);
    }

    /** Which implementation the names of a Megatron model's norms are of; a run has to be of the same. */
    private Optional<String> norms() {
        if (view.family() != ModelView.Family.MEGATRON) {
            return Optional.empty();
        }
        boolean fused = false;
        boolean separate = false;
        // There may be a million names: only few end as those of norms do.
        for (String name : view.tensors().keySet()) {
            fused |= name.endsWith(".layer_norm_weight");
            separate |=
                    name.endsWith("norm.weight") && SEPARATE_NORM.matcher(name).matches();
        }
        if (fused) {
            return Optional.of("parts of the linear layers that follow, as Transformer Engine has them");
        }
        return separate ? Optional.of("modules of their own, as without Transformer Engine") : Optional.empty();
    }
}
