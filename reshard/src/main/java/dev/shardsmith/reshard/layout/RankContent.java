package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import dev.shardsmith.formats.safetensors.SafetensorsFile.TrailingBytes;
import dev.shardsmith.reshard.family.MambaNames;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** Tells from the tensors in numbered files whether each file is a rank's share of a model or a part of the whole. */
final class RankContent {
    private RankContent() {}

    /**
     * What numbered files are.
     *
     * @return the location as ranks or as one whole model; empty if the files hold no model of mamba_ssm
     * @throws CheckpointException if some tensors are in all files and others are not
     */
    static Optional<MambaSsm> of(MambaSsm location, FilePool pool) throws IOException {
        List<Set<String>> names = new ArrayList<>();
        for (List<Path> rank : location.ranks()) {
            names.add(new LinkedHashSet<>(WeightFiles.open(pool, rank, TrailingBytes.TOLERATE)
                    .tensors()
                    .keySet()));
        }
        if (names.stream().flatMap(Set::stream).noneMatch(MambaNames::isLayer)) {
            return Optional.empty();
        }
        Set<String> first = names.get(0);
        Set<String> others = new LinkedHashSet<>();
        names.subList(1, names.size()).forEach(others::addAll);
        Set<String> shared = new LinkedHashSet<>(first);
        shared.retainAll(others);
        if (shared.isEmpty()) {
            List<Path> files = location.ranks().stream().flatMap(List::stream).toList();
            return Optional.of(new MambaSsm(location.path(), location.config(), List.of(files), "", Naming.WHOLE));
        }
        for (int rank = 1; rank < names.size(); rank++) {
            Set<String> missing = new LinkedHashSet<>(first);
            missing.removeAll(names.get(rank));
            missing.removeIf(MambaNames::isRowBias);
            if (!missing.isEmpty()) {
                throw CheckpointException.of(
                                Kind.INCONSISTENT,
                                location.path().toString(),
                                "the files " + location.pattern() + " share tensors, but are no ranks of one model: "
                                        + location.ranks().get(rank).get(0).getFileName() + " lacks "
                                        + missing.iterator().next())
                        .withHint("--file-pattern PATTERN, with {rank} where the rank's number stands");
            }
        }
        return Optional.of(location);
    }
}
