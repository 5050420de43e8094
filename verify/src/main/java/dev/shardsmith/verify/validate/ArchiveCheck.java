package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Compares the checksums that PyTorch's archives carry with what they hold.
 *
 * <p>PyTorch itself never looks at them when it loads, so a flipped bit in a weight goes unnoticed there.
 */
final class ArchiveCheck {
    private ArchiveCheck() {}

    /** Adds a finding for each damaged archive among the files of a view. */
    static void check(ModelView view, Findings findings) throws IOException {
        for (Path path : view.files().files()) {
            String name = path.getFileName().toString();
            if (name.endsWith(".pt") || name.endsWith(".bin") || name.endsWith(".pth")) {
                try {
                    TorchFile.open(view.files(), path).verifyCrc();
                } catch (CheckpointException e) {
                    findings.error(
                            "file.checksum",
                            e.where().isEmpty() ? path.toString() : e.where(),
                            e.problem(),
                            "copy the file again from where it came from");
                }
            }
        }
    }
}
