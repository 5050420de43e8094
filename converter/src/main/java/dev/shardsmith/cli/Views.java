package dev.shardsmith.cli;

import dev.shardsmith.reshard.layout.Checkpoints;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/** Opens the checkpoints that a command only looks at. */
final class Views {
    private Views() {}

    /** Opens a checkpoint; {@code --layout} forces how it is taken. What looks odd in it is warned of. */
    static ModelView open(Path path, Arguments line, Out out) throws UsageException, IOException {
        Optional<String> given = line.value("layout");
        Optional<ModelView.Layout> layout = given.isPresent()
                ? Optional.of(ConversionFlags.layout("layout", given.get()))
                : Optional.empty();
        ModelView view = Checkpoints.open(
                path, new OpenOptions(layout, OptionalLong.empty(), List.of(), List.of(), Optional.empty()));
        view.warnings().forEach(out::warn);
        return view;
    }

    /** Threads to read with. */
    static int workers() {
        return Runtime.getRuntime().availableProcessors();
    }

    /** The last line of a report. */
    static String footer() {
        return Version.TOOL + " " + Version.current();
    }
}
