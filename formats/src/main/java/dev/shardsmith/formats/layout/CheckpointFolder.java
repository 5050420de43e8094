package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.layout.CheckpointLocation.HuggingFace;
import dev.shardsmith.formats.layout.CheckpointLocation.Iteration;
import dev.shardsmith.formats.layout.CheckpointLocation.MambaSsm;
import dev.shardsmith.formats.layout.CheckpointLocation.MegatronLegacy;
import dev.shardsmith.formats.layout.CheckpointLocation.Naming;
import dev.shardsmith.formats.layout.CheckpointLocation.PlainDcp;
import dev.shardsmith.formats.layout.CheckpointLocation.SingleFile;
import dev.shardsmith.formats.layout.CheckpointLocation.TorchDist;
import dev.shardsmith.formats.safetensors.SafetensorsIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;

/** Tells what a path is. */
public final class CheckpointFolder {
    private static final String COMMON = "common.pt";

    private static final Pattern DCP_PART = Pattern.compile("shard-\\d+-model-.*\\.safetensors");
    private static final Pattern RANK_METADATA = Pattern.compile("__\\d{1,9}\\.metadata");

    /** Files that stand for the folder they lie in. */
    private static final Set<String> FOLDERS_OWN = Set.of(
            DcpCheckpoint.METADATA,
            TorchDistMetadata.FILE,
            IterationTracker.FILE,
            SafetensorsIndex.SAFETENSORS_NAME,
            SafetensorsIndex.BIN_NAME);

    /** A metadata.json of Megatron has below 200 bytes. */
    private static final int MAX_METADATA_BYTES = 1 << 20;

    private CheckpointFolder() {}

    /** What a path is; of a folder with a tracker, the iteration that the tracker names. */
    public static CheckpointLocation locate(Path path) throws IOException {
        return locate(path, OptionalLong.empty(), Optional.empty());
    }

    /**
     * What a path is.
     *
     * @param iteration of a folder of iterations, the one to take whatever the tracker says
     * @param filePattern how the files of tensor-parallel ranks are named, such as {@code model_{rank}.pt}; a folder with such
     *     files is one of rank files
     * @throws CheckpointException if it does not exist, is incomplete, or is nothing that is known
     */
    public static CheckpointLocation locate(Path path, OptionalLong iteration, Optional<String> filePattern)
            throws IOException {
        if (!Files.exists(path)) {
            throw CheckpointException.of(
                    CheckpointException.Kind.INCOMPLETE, path.toString(), "there is no such file or folder");
        }
        Path absolute = path.toAbsolutePath().normalize();
        String name =
                absolute.getFileName() == null ? "" : absolute.getFileName().toString();
        if (!Files.isDirectory(path)) {
            if (FOLDERS_OWN.contains(name) || name.endsWith(".distcp")) {
                return locate(absolute.getParent(), iteration, filePattern);
            }
            return new SingleFile(path);
        }
        FolderListing folder = FolderListing.of(path);
        if (filePattern.isPresent()) {
            RankPattern pattern = RankPattern.parse(filePattern.get());
            Optional<CheckpointLocation> other =
                    RankFiles.any(folder, pattern) ? Optional.empty() : contentOf(folder, Iteration.UNKNOWN);
            // Of two checkpoints that are compared the pattern may be for the other one alone.
            boolean ranks = other.isEmpty() || other.get() instanceof MambaSsm mamba && mamba.naming() != Naming.WHOLE;
            return !ranks
                    ? other.get()
                    : new WeightFolder(folder).mambaSsm(Optional.of(pattern)).orElseThrow(() -> unknown(path));
        }
        IterationTracker tracker = new IterationTracker(folder);
        boolean isRoot = folder.has(IterationTracker.FILE);
        if (iteration.isPresent() && !(isRoot || !tracker.folders().isEmpty())) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    path.toString(),
                    "iteration " + iteration.getAsLong() + " was asked for, but this folder has no iterations");
        }
        if (isRoot || iteration.isPresent()) {
            Path chosen = iteration.isPresent() ? tracker.folderOf(iteration.getAsLong()) : tracker.latest();
            return contentOf(
                            FolderListing.of(chosen),
                            numbered(chosen.getFileName().toString(), Optional.of(path)))
                    .orElseThrow(() -> unknown(chosen));
        }
        Optional<CheckpointLocation> content = contentOf(folder, numbered(name, root(absolute)));
        if (content.isPresent()) {
            return content.get();
        }
        if (!tracker.folders().isEmpty()) {
            tracker.latest();
        }
        throw unknown(path);
    }

    private static Iteration numbered(String folder, Optional<Path> root) {
        OptionalLong number = IterationTracker.iterationOf(folder);
        boolean release = IterationTracker.isRelease(folder);
        return number.isPresent() || release ? new Iteration(root, number, release) : Iteration.UNKNOWN;
    }

    /** The folder above, if it has a tracker. */
    private static Optional<Path> root(Path folder) {
        return Optional.ofNullable(folder.getParent())
                .filter(parent -> Files.isRegularFile(parent.resolve(IterationTracker.FILE)));
    }

    /** The order of the questions is Megatron's own; the folders of others come last. */
    private static Optional<CheckpointLocation> contentOf(FolderListing folder, Iteration iteration)
            throws IOException {
        Optional<TorchDistMetadata> metadata = metadata(folder);
        Optional<Path> common = folder.isFile(COMMON) ? Optional.of(folder.inside(COMMON)) : Optional.empty();
        if (metadata.isPresent()) {
            metadata.get().requireSupported(folder.folder().toString());
            return Optional.of(new TorchDist(folder.folder(), iteration, metadata.get(), common));
        }
        if (folder.names().stream().anyMatch(name -> RankFolders.isRankFolder(folder, name))) {
            return Optional.of(new MegatronLegacy(folder.folder(), iteration, RankFolders.find(folder)));
        }
        if (isDcp(folder)) {
            return Optional.of(new PlainDcp(folder.folder(), iteration, common, folder.isFile(TorchDistMetadata.FILE)));
        }
        WeightFolder weights = new WeightFolder(folder);
        Optional<CheckpointLocation> mamba = weights.mambaSsm(Optional.empty());
        if (mamba.isPresent()) {
            return mamba;
        }
        Optional<CheckpointLocation> huggingFace = weights.huggingFace();
        return huggingFace.isPresent() ? huggingFace : weights.numbered();
    }

    /**
     * The same files of a Hugging Face folder as tensor-parallel ranks, if they are numbered like ones.
     *
     * <p>Where neither an index nor the config says what the files are, only their content does: parts of one model have
     * different tensors, ranks have the same.
     */
    public static Optional<CheckpointLocation> asRanks(HuggingFace folder) throws IOException {
        return folder.index().isPresent() || folder.weights().size() < 2
                ? Optional.empty()
                : new WeightFolder(FolderListing.of(folder.path())).numbered();
    }

    private static boolean isDcp(FolderListing folder) throws CheckpointException {
        List<String> names = folder.names();
        if (folder.isFile(DcpCheckpoint.METADATA)
                || names.stream().anyMatch(name -> RANK_METADATA.matcher(name).matches())
                || names.stream().anyMatch(name -> DCP_PART.matcher(name).matches())) {
            return true;
        }
        if (folder.hasEnding(".distcp")) {
            throw CheckpointException.of(
                            CheckpointException.Kind.INCOMPLETE,
                            folder.folder().toString(),
                            "the checkpoint is incomplete: it has .distcp files but no .metadata, which is written last")
                    .withHint("wait until the save is done, or use an earlier iteration");
        }
        return false;
    }

    private static Optional<TorchDistMetadata> metadata(FolderListing folder) throws IOException {
        if (!folder.isFile(TorchDistMetadata.FILE)) {
            return Optional.empty();
        }
        Path file = folder.inside(TorchDistMetadata.FILE);
        return Files.size(file) > MAX_METADATA_BYTES
                ? Optional.empty()
                : TorchDistMetadata.parse(Files.readAllBytes(file));
    }

    private static CheckpointException unknown(Path folder) {
        String content;
        try {
            content = FolderListing.some(FolderListing.of(folder).names());
        } catch (NoSuchFileException e) {
            content = "";
        } catch (IOException e) {
            return CheckpointException.of(
                            CheckpointException.Kind.ENVIRONMENT, folder.toString(), "the folder cannot be listed")
                    .causedBy(e);
        }
        return CheckpointException.of(
                        CheckpointException.Kind.UNSUPPORTED,
                        folder.toString(),
                        content.isEmpty()
                                ? "the folder is empty"
                                : "the folder is no checkpoint that is known; it has: " + content)
                .withHint("name the folder that holds mp_rank_*, .metadata, *.safetensors or the tracker, or one file");
    }
}
