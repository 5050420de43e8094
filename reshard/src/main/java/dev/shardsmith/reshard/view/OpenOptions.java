package dev.shardsmith.reshard.view;

import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.rule.UserRule;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * How a checkpoint is to be opened.
 *
 * @param layout the layout that the user says it has; detected if empty
 * @param iteration the iteration to take instead of the one that the tracker file names
 * @param rules divisions of parameters that the family does not know
 * @param allowMissing names whose absence is accepted
 * @param filePattern pattern for the names of rank files, with {@code {rank}} and {@code {world}}
 * @param trailingBytes what to do about bytes after the last tensor of a safetensors file
 */
public record OpenOptions(
        Optional<ModelView.Layout> layout,
        OptionalLong iteration,
        List<UserRule> rules,
        List<Glob> allowMissing,
        Optional<String> filePattern,
        TrailingBytes trailingBytes) {
    /** Everything detected. */
    public static OpenOptions defaults() {
        return new OpenOptions(
                Optional.empty(), OptionalLong.empty(), List.of(), List.of(), Optional.empty(), TrailingBytes.REFUSE);
    }

    /** The same with divisions that the user gives. */
    public OpenOptions withRules(List<UserRule> userRules) {
        return new OpenOptions(layout, iteration, userRules, allowMissing, filePattern, trailingBytes);
    }
}
