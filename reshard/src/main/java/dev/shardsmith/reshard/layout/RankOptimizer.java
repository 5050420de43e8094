package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.view.ModelViewBuilder;
import dev.shardsmith.reshard.view.OptimizerState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

/** The optimizer's state in the files of Megatron's ranks. */
final class RankOptimizer {
    private RankOptimizer() {}

    /** Counts the state and says in what form it is. */
    static void add(Collection<RankFile> files, List<RankPath> folders, ModelViewBuilder view) throws IOException {
        files.forEach(file -> file.optimizerTensors().forEach(view::addOptimizerTensor));
        Optional<Path> separate = Optional.empty();
        for (RankPath folder : folders) {
            for (Path other : folder.others()) {
                view.addOptimizerFile(Files.size(other));
                separate = separate.or(() -> Optional.of(other));
            }
        }
        String name = separate.map(file -> file.getFileName().toString()).orElse("");
        view.optimizerState(() -> name.isEmpty()
                ? OptimizerState.bound(
                        "numbered parameters",
                        "each rank numbers the parameters of its own shard, and no name says which number is which")
                : OptimizerState.bound(name, "each rank has flat buffers of all its parameters in a file of its own"));
    }
}
