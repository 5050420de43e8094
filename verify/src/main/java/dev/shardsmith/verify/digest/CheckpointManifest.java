package dev.shardsmith.verify.digest;

import com.google.protobuf.ByteString;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.proto.Manifest;
import dev.shardsmith.verify.digest.proto.SourceFile;
import dev.shardsmith.verify.digest.proto.Statistics;
import dev.shardsmith.verify.digest.proto.Tensor;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.LongConsumer;
import java.util.stream.Stream;

/**
 * What a checkpoint holds: a digest for each logical tensor, and sums for each block of its files.
 *
 * <p>The tensors are the same for every layout of one model; the files are those of one checkpoint.
 *
 * @param tensors those of a known model by name, with numbers in names by their value; others as the source has them
 * @param files in the order of their paths
 */
public record CheckpointManifest(List<TensorEntry> tensors, List<FileEntry> files) {
    private static final int VERSION = 1;

    /** The most that is read from a manifest file; a thousand times what the largest models need. */
    private static final long MOST_BYTES = 1L << 30;

    /** A manifest; the lists are copied. */
    public CheckpointManifest {
        tensors = List.copyOf(tensors);
        files = List.copyOf(files);
    }

    /**
     * Reads all tensors and all files of a checkpoint.
     *
     * @param workers threads to use
     * @param progress told the bytes of each tensor that is done
     */
    public static CheckpointManifest of(ModelView view, int workers, LongConsumer progress) throws IOException {
        List<TensorEntry> tensors = new ArrayList<>();
        Map<Path, List<int[]>> sums = new HashMap<>();
        // In one go with the files that are open already: while one thread digests the last tensor, the others sum
        // these up.
        run(Stream.concat(steps(view, tensors, progress), steps(view, sums)), workers);
        // Files that reading the tensors opened.
        run(steps(view, sums), workers);
        List<FileEntry> entries = new ArrayList<>();
        for (Path file : view.files().files().stream().sorted().toList()) {
            entries.add(FileEntry.of(relative(view.path(), file), view.files().file(file), sums.get(file)));
        }
        return new CheckpointManifest(tensors, entries);
    }

    /** The entries of all tensors. */
    static List<TensorEntry> tensors(ModelView view, int workers, LongConsumer progress) throws IOException {
        List<TensorEntry> entries = new ArrayList<>();
        run(steps(view, entries, progress), workers);
        return entries;
    }

    /** The work of making the entries, each step of which gives what is to be done in the end, in order. */
    private static Stream<Callable<Runnable>> steps(ModelView view, List<TensorEntry> entries, LongConsumer progress) {
        return inOrder(view).stream().map(tensor -> () -> {
            TensorEntry entry = entry(tensor);
            return () -> {
                progress.accept(tensor.bytes());
                entries.add(entry);
            };
        });
    }

    /** The work of summing up the files that are open and not in {@code sums} yet. */
    private static Stream<Callable<Runnable>> steps(ModelView view, Map<Path, List<int[]>> sums) throws IOException {
        List<Callable<Runnable>> steps = new ArrayList<>();
        for (Path file : view.files().files()) {
            if (sums.containsKey(file)) {
                continue;
            }
            List<int[]> ofFile = new ArrayList<>();
            sums.put(file, ofFile);
            for (Callable<int[]> span : FileEntry.spans(view.files().file(file))) {
                steps.add(() -> {
                    int[] done = span.call();
                    return () -> ofFile.add(done);
                });
            }
        }
        return steps.stream();
    }

    private static void run(Stream<Callable<Runnable>> steps, int workers) throws IOException {
        try (OrderedWork work = new OrderedWork(workers)) {
            work.inOrder(steps.iterator(), Runnable::run);
        }
    }

    /** A known model's tensors by name, since every layout stores them in another order; others as the file has them. */
    private static List<LogicalTensor> inOrder(ModelView view) {
        if (view.family() == ModelView.Family.PLAIN) {
            return FileOrder.of(view);
        }
        return view.tensors().values().stream()
                .sorted(Comparator.comparing(LogicalTensor::name, NameOrder.NUMBERS_BY_VALUE))
                .toList();
    }

    private static TensorEntry entry(LogicalTensor tensor) throws IOException {
        TensorDigest digest = TensorDigest.withStatistics(TensorReading.of(tensor), BlockReader.ofThisThread());
        return new TensorEntry(
                tensor.name(),
                tensor.shape(),
                tensor.dtype().shortName(),
                digest.sha256Hex(),
                digest.statistics().map(TensorEntry.Summary::of));
    }

    /** A file's path in a manifest: relative to the checkpoint, with forward slashes. */
    static String relative(Path root, Path file) {
        Path base = root.toAbsolutePath().normalize();
        Path full = file.toAbsolutePath().normalize();
        Path path = full.startsWith(base) && !full.equals(base) ? base.relativize(full) : full.getFileName();
        return path.toString().replace('\\', '/');
    }

    /** Writes the manifest to a file. */
    public void write(WholeFile file) throws IOException {
        Manifest.Builder message = Manifest.newBuilder().setVersion(VERSION);
        tensors.forEach(tensor -> message.addTensors(message(tensor)));
        for (FileEntry entry : files) {
            SourceFile.Builder source = SourceFile.newBuilder()
                    .setPath(entry.path())
                    .setSize(entry.size())
                    .setBlockSize(entry.blockSize());
            for (int sum : entry.sums()) {
                source.addBlockCrc32C(sum);
            }
            message.addFiles(source);
        }
        file.write(out -> message.build().writeTo(out));
    }

    private static Tensor message(TensorEntry entry) {
        Tensor.Builder tensor = Tensor.newBuilder()
                .setName(entry.name())
                .setDtype(entry.dtype())
                .setSha256(ByteString.copyFrom(HexFormat.of().parseHex(entry.sha256())));
        for (long size : entry.shape().toArray()) {
            tensor.addShape(size);
        }
        entry.summary()
                .ifPresent(summary -> tensor.setStatistics(Statistics.newBuilder()
                        .setMin(summary.min())
                        .setMax(summary.max())
                        .setMean(summary.mean())
                        .setStd(summary.std())
                        .setZeros(summary.zeros())
                        .setNans(summary.nans())
                        .setInfinities(summary.infinities())));
        return tensor.build();
    }

    /**
     * Reads a manifest from a file.
     *
     * @throws CheckpointException if the file is none, or of a newer version
     */
    public static CheckpointManifest read(Path file) throws IOException {
        try (FilePool pool = new FilePool()) {
            long size = pool.file(file).size();
            if (size > MOST_BYTES) {
                throw CheckpointException.of(
                        CheckpointException.Kind.LIMIT, file.toString(), size + " bytes are too many for a manifest");
            }
            return parse(file, pool.file(file).readBytes(0, (int) size));
        }
    }

    private static CheckpointManifest parse(Path file, byte[] bytes) throws CheckpointException {
        Manifest message;
        try {
            message = Manifest.parseFrom(bytes);
        } catch (InvalidProtocolBufferException e) {
            throw damaged(file, "this is no manifest: " + e.getMessage()).causedBy(e);
        }
        if (message.getVersion() == 0) {
            // Short texts happen to be messages of unknown fields.
            throw damaged(file, "this is no manifest: it says no version");
        }
        if (message.getVersion() != VERSION) {
            throw CheckpointException.of(
                    CheckpointException.Kind.UNSUPPORTED,
                    file.toString(),
                    "version " + message.getVersion() + " of the manifest, but only version " + VERSION + " is known");
        }
        List<TensorEntry> tensors = new ArrayList<>();
        for (Tensor tensor : message.getTensorsList()) {
            tensors.add(entry(file, tensor));
        }
        List<FileEntry> files = new ArrayList<>();
        for (SourceFile source : message.getFilesList()) {
            files.add(entry(file, source));
        }
        return new CheckpointManifest(tensors, files);
    }

    private static TensorEntry entry(Path file, Tensor tensor) throws CheckpointException {
        if (tensor.getSha256().size() != 32) {
            throw damaged(
                    file,
                    "the digest of " + tensor.getName() + " has "
                            + tensor.getSha256().size() + " bytes");
        }
        Shape shape;
        try {
            shape = Shape.of(
                    tensor.getShapeList().stream().mapToLong(Long::longValue).toArray());
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw damaged(file, "the shape of " + tensor.getName() + " is impossible")
                    .causedBy(e);
        }
        Statistics kept = tensor.getStatistics();
        Optional<TensorEntry.Summary> summary = tensor.hasStatistics()
                ? Optional.of(new TensorEntry.Summary(
                        kept.getMin(),
                        kept.getMax(),
                        kept.getMean(),
                        kept.getStd(),
                        kept.getZeros(),
                        kept.getNans(),
                        kept.getInfinities()))
                : Optional.empty();
        String sha256 = HexFormat.of().formatHex(tensor.getSha256().toByteArray());
        return new TensorEntry(tensor.getName(), shape, tensor.getDtype(), sha256, summary);
    }

    private static FileEntry entry(Path file, SourceFile source) throws CheckpointException {
        long block = source.getBlockSize();
        long size = source.getSize();
        boolean sound = block >= FileEntry.SMALLEST && block <= FileEntry.LARGEST;
        if (!sound || size < 0 || source.getBlockCrc32CCount() != size / block + (size % block == 0 ? 0 : 1)) {
            throw damaged(file, "the blocks of " + source.getPath() + " do not add up to its size");
        }
        int[] sums =
                source.getBlockCrc32CList().stream().mapToInt(Integer::intValue).toArray();
        return new FileEntry(source.getPath(), size, block, sums);
    }

    private static CheckpointException damaged(Path file, String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, file.toString(), problem);
    }
}
