package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Ledger;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;

/**
 * Measures the executor alone against {@code cp -r} of the same bytes: merges and splits along both dimensions.
 *
 * <p>Arguments: a folder (in tmpfs), the size in MiB, the number of workers, the number of rounds, and
 * the one dimension to cut along if not both.
 */
final class ExecutorBenchmark {
    /** A matrix of 128 MiB. */
    private static final Shape MATRIX = Shape.of(8192, 8192);

    private static final DType TYPE = DType.BF16;

    private final Path folder;
    private final int tensors;
    private final ExecutionOptions options;

    private ExecutorBenchmark(Path folder, int tensors, ExecutionOptions options) {
        this.folder = folder;
        this.tensors = tensors;
        this.options = options;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]).resolve("shardsmith-benchmark");
        long bytes = Long.parseLong(arguments[1]) << 20;
        int tensors = (int) (bytes / TYPE.bytes(MATRIX.elements()));
        ExecutionOptions options = ExecutionOptions.defaults().withWorkers(Integer.parseInt(arguments[2]));
        ExecutorBenchmark benchmark = new ExecutorBenchmark(folder, tensors, options);
        try {
            for (int round = Integer.parseInt(arguments[3]); round > 0; round--) {
                for (int dim : new int[] {0, 1}) {
                    if (arguments.length == 4 || Integer.parseInt(arguments[4]) == dim) {
                        benchmark.measure(dim, 4, 1);
                        benchmark.measure(dim, 1, 8);
                    }
                }
            }
        } finally {
            TargetPaths.delete(folder);
        }
    }

    private void measure(int dim, int from, int to) throws Exception {
        TargetPaths.delete(folder);
        Path source = folder.resolve("source");
        Files.createDirectories(source);
        for (int rank = 0; rank < from; rank++) {
            fill(source.resolve("rank" + rank), tensors * TYPE.bytes(MATRIX.elements()) / from);
        }
        double copy = copy(source);
        try (FilePool pool = new FilePool()) {
            Plan plan = plan(pool, source, dim, from, to);
            double seconds =
                    PlanExecutor.execute(plan, folder.resolve("out"), options).seconds();
            System.out.printf(
                    Locale.ROOT,
                    "dim %d  %d -> %d  %5.2f GB  cp -r %5.2f s  executor %5.2f s  %4.2f x%n",
                    dim,
                    from,
                    to,
                    plan.bytes() / 1e9,
                    copy,
                    seconds,
                    seconds / copy);
        }
    }

    private double copy(Path source) throws Exception {
        long start = System.nanoTime();
        Path copy = folder.resolve("copy");
        int status = new ProcessBuilder("cp", "-r", source.toString(), copy.toString())
                .inheritIO()
                .start()
                .waitFor();
        double seconds = (System.nanoTime() - start) / 1e9;
        if (status != 0) {
            throw new IOException("cp ended with status " + status);
        }
        TargetPaths.delete(copy);
        return seconds;
    }

    private Plan plan(FilePool pool, Path source, int dim, int from, int to) throws IOException {
        List<FileImage> files = new ArrayList<>();
        long targetPart = TYPE.bytes(MATRIX.elements()) / to;
        for (int rank = 0; rank < to; rank++) {
            List<FileImage.Slot> slots = new ArrayList<>();
            for (int tensor = 0; tensor < tensors; tensor++) {
                slots.add(new FileImage.Slot("t" + tensor, 64 + tensor * targetPart, targetPart));
            }
            files.add(new FileImage("rank" + rank, 64 + tensors * targetPart, List.of(), slots, List.of()));
        }
        List<TensorMove> moves = new ArrayList<>();
        for (int tensor = 0; tensor < tensors; tensor++) {
            List<Piece> sources = new ArrayList<>();
            for (int rank = 0; rank < from; rank++) {
                ByteSource file = pool.file(source.resolve("rank" + rank));
                sources.add(part(file, tensor * TYPE.bytes(MATRIX.elements()) / from, dim, rank, from));
            }
            List<Piece> targets = new ArrayList<>();
            for (int rank = 0; rank < to; rank++) {
                targets.add(part(new TargetSlot("rank" + rank, "t" + tensor, targetPart), 0, dim, rank, to));
            }
            moves.add(new TensorMove("t" + tensor, MATRIX, sources, List.of(), targets, List.of()));
        }
        return new Plan(files, moves, new Ledger(0, 0, 0, 0, 0, 0, 0), List.of(), List.of(), false);
    }

    private static Piece part(ByteSource bytes, long offset, int dim, int rank, int ranks) throws IOException {
        long size = MATRIX.size(dim) / ranks;
        long[] at = new long[2];
        at[dim] = rank * size;
        return new Piece(at, StoredTensor.contiguous("", TYPE, MATRIX.with(dim, size), bytes, offset));
    }

    private static void fill(Path file, long bytes) throws IOException {
        byte[] block = new byte[1 << 20];
        new Random(file.hashCode()).nextBytes(block);
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            for (long at = 0; at < bytes; at += block.length) {
                ByteBuffer.wrap(block).putLong(0, at);
                out.write(block, 0, (int) Math.min(block.length, bytes - at));
            }
        }
    }
}
