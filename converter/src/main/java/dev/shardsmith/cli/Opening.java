package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.rule.UserRule;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Option;

/** How commands open a checkpoint: the options for it, and what the user is told about it. */
final class Opening {
    /** Options of every command that opens a checkpoint. */
    static final List<Option> FLAGS = List.of(
            Flags.value(
                    "layout",
                    "megatron|torch_dist|mamba_ssm|huggingface|safetensors|pt",
                    "take the checkpoint for this layout instead of looking at its content"),
            Flags.value("iteration", "N", "iteration to take instead of the one that the tracker names"),
            Flags.value(
                    "file-pattern",
                    "PATTERN",
                    "how rank files are named, such as 'tp{rank}-of-{world}.pt'; * and ? stand for other "
                            + "characters; without it, names and tensors tell"),
            Flags.value(
                    "rule", "GLOB=replicate|column|row", "how ranks share tensors that no rule knows; may be repeated"),
            Flags.flag("tolerate-trailing", "take no notice of bytes after the last tensor of a safetensors file"));

    private Opening() {}

    /** Opens a checkpoint as the options say; its warnings become the command's. */
    static ModelView open(Path path, Arguments line, Out out) throws UsageException, IOException {
        ModelView view = Checkpoints.open(path, options(line));
        view.warnings().forEach(out::warn);
        view.conflicts().forEach(conflict -> out.warn("the files are not of one checkpoint: " + conflict));
        return view;
    }

    /** As {@link #open}, for a command that speaks of all tensors: what ranks share in an unknown way must not be left out. */
    static ModelView whole(Path path, Arguments line, Out out) throws UsageException, IOException {
        ModelView view = open(path, line, out);
        try {
            view.requireMerged();
            return view;
        } catch (CheckpointException partial) {
            view.close();
            throw partial;
        }
    }

    /** Opens the first operand for a command that tells of contradictions between its files in its own way. */
    static ModelView source(Arguments line, Out out) throws UsageException, IOException {
        ModelView view = Checkpoints.open(line.path(0), options(line));
        view.warnings().forEach(out::warn);
        return view;
    }

    /** As {@link #source}, for a command that reports what is missing too. */
    static ModelView reported(Arguments line, Out out) throws UsageException, IOException {
        ModelView view = Checkpoints.open(line.path(0), options(line));
        view.warningsBesidesMissing().forEach(out::warn);
        return view;
    }

    private static OpenOptions options(Arguments line) throws UsageException, IOException {
        Optional<String> layout = line.value("layout");
        List<UserRule> rules = new ArrayList<>();
        for (String rule : line.values("rule")) {
            rules.add(UserRule.parse(rule));
        }
        return new OpenOptions(
                layout.isPresent() ? Optional.of(ConversionFlags.layout("layout", layout.get())) : Optional.empty(),
                line.longNumber("iteration", 0),
                rules,
                line.values("allow-missing").stream().map(Glob::of).toList(),
                line.value("file-pattern"),
                line.has("tolerate-trailing") ? TrailingBytes.TOLERATE : TrailingBytes.REFUSE);
    }

    /** One line on what a checkpoint was taken for. */
    static String describe(ModelView view) {
        return "%s: %s, %s"
                .formatted(view.path(), view.layout().id(), view.parallelism().toString());
    }
}
