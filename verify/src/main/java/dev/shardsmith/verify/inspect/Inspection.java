package dev.shardsmith.verify.inspect;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.FileOrder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What a checkpoint holds, without a look at its values.
 *
 * @param view the checkpoint
 * @param tensors its tensors in the order of the files
 */
public record Inspection(ModelView view, List<LogicalTensor> tensors) {
    /** All tensors of a checkpoint, in the order in which the source has them. */
    public static Inspection of(ModelView view) {
        return new Inspection(view, FileOrder.of(view));
    }

    /** Number of elements of all tensors. */
    public long elements() {
        return tensors.stream().mapToLong(tensor -> tensor.shape().elements()).sum();
    }

    /** Bytes of all tensors, each counted once. */
    public long bytes() {
        return tensors.stream().mapToLong(LogicalTensor::bytes).sum();
    }

    /** Bytes by short name of the type, the largest first in the order of names where equal. */
    public Map<String, Long> bytesByType() {
        Map<String, Long> sums = new TreeMap<>();
        for (LogicalTensor tensor : tensors) {
            sums.merge(tensor.dtype().shortName(), tensor.bytes(), Long::sum);
        }
        Map<String, Long> ordered = new LinkedHashMap<>();
        sums.entrySet().stream()
                .sorted(Map.Entry.<String, Long>comparingByValue().reversed())
                .forEach(entry -> ordered.put(entry.getKey(), entry.getValue()));
        return ordered;
    }

    /** Sizes of the files that were opened, by path relative to the checkpoint, in the order of the paths. */
    public Map<String, Long> fileSizes() throws IOException {
        Map<String, Long> sizes = new TreeMap<>();
        Path root = view.path().toAbsolutePath().normalize();
        for (Path file : view.files().files()) {
            Path full = file.toAbsolutePath().normalize();
            boolean inside = full.startsWith(root) && !full.equals(root);
            sizes.put((inside ? root.relativize(full) : full.getFileName()).toString(), Files.size(file));
        }
        return sizes;
    }
}
