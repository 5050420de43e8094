package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.layout.CheckpointFolder;
import dev.shardsmith.formats.layout.CheckpointLocation;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.MegatronLegacy;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import dev.shardsmith.formats.layout.CheckpointLocation.PlainDcp;
import dev.shardsmith.formats.layout.CheckpointLocation.RankFolder;
import dev.shardsmith.formats.layout.CheckpointLocation.TorchDist;
import dev.shardsmith.reshard.layout.TorchDistReader.Commit;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Opens a checkpoint of any layout as a model view. */
public final class Checkpoints {
    private Checkpoints() {}

    /**
     * Opens what lies at a path; no tensor data is read.
     *
     * @throws CheckpointException if there is no checkpoint, or it is damaged or incomplete
     */
    public static ModelView open(Path path, OpenOptions options) throws IOException {
        FilePool pool = new FilePool();
        boolean opened = false;
        try {
            ModelView view = open(path, pool, options);
            requireLayout(view, options);
            opened = true;
            return view;
        } finally {
            if (!opened) {
                pool.close();
            }
        }
    }

    private static void requireLayout(ModelView view, OpenOptions options) throws CheckpointException {
        if (options.layout().isPresent() && options.layout().get() != view.layout()) {
            throw CheckpointException.of(
                            Kind.UNSUPPORTED,
                            view.path().toString(),
                            "this has not the layout " + options.layout().get().id() + ", but is a "
                                    + view.description())
                    .withHint("--layout " + view.layout().id() + ", or leave it out");
        }
    }

    private static ModelView open(Path path, FilePool pool, OpenOptions options) throws IOException {
        boolean plain = options.layout().equals(Optional.of(Layout.PT))
                || options.layout().equals(Optional.of(Layout.SAFETENSORS));
        if (plain && Files.isRegularFile(path)) {
            return PlainFiles.read(path, pool, options);
        }
        CheckpointLocation location = CheckpointFolder.locate(path, options.iteration(), options.filePattern());
        if (location instanceof MegatronLegacy legacy) {
            return MegatronReader.read(path, legacy.path(), rankPaths(legacy), pool, options);
        }
        if (location instanceof TorchDist dist) {
            return TorchDistReader.read(path, dist.path(), Commit.WHOLE, pool, options);
        }
        if (location instanceof PlainDcp dcp) {
            Commit commit = dcp.damaged() ? Commit.DAMAGED : Commit.ABSENT;
            return TorchDistReader.read(path, dcp.path(), commit, pool, options);
        }
        if (location instanceof HuggingFace folder) {
            Optional<MambaSsm> ranks = ranks(CheckpointFolder.asRanks(folder), pool);
            return ranks.isPresent() && ranks.get().naming() != Naming.WHOLE
                    ? MambaReader.read(path, ranks.get(), pool, options)
                    : HuggingFaceReader.read(path, folder, pool, options);
        }
        if (location instanceof MambaSsm mamba) {
            MambaSsm files = ranks(Optional.of(mamba), pool).orElseThrow(() -> noModel(mamba));
            return MambaReader.read(path, files, pool, options);
        }
        return PlainFiles.read(location.path(), pool, options);
    }

    /** Files that are numbered like ranks, as what their tensors make them. */
    private static Optional<MambaSsm> ranks(Optional<? extends CheckpointLocation> location, FilePool pool)
            throws IOException {
        if (location.isPresent() && location.get() instanceof MambaSsm mamba) {
            return mamba.naming() == Naming.NUMBERS ? RankContent.of(mamba, pool) : Optional.of(mamba);
        }
        return Optional.empty();
    }

    private static CheckpointException noModel(MambaSsm location) {
        return CheckpointException.of(
                        Kind.UNSUPPORTED,
                        location.path().toString(),
                        "the folder has files " + location.pattern()
                                + ", but their tensors are not those of a model that is known")
                .withHint("name one file, or the files of ranks with --file-pattern PATTERN");
    }

    private static List<RankPath> rankPaths(MegatronLegacy legacy) {
        List<RankPath> ranks = new ArrayList<>();
        for (RankFolder folder : legacy.ranks()) {
            List<Integer> numbers = new ArrayList<>(List.of(folder.tensor()));
            folder.second().ifPresent(numbers::add);
            folder.third().ifPresent(numbers::add);
            ranks.add(new RankPath(
                    folder.name(),
                    numbers.stream().mapToInt(Integer::intValue).toArray(),
                    folder.model(),
                    folder.others()));
        }
        return ranks;
    }
}
