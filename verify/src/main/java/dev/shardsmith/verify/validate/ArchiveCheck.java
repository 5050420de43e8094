package dev.shardsmith.verify.validate;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpFinding;
import dev.shardsmith.formats.dcp.IntegrityFile;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.reshard.view.ModelView;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * Compares the checksums that PyTorch's archives carry, and those in Megatron's list of a folder's files, with what is there.
 *
 * <p>PyTorch itself never looks at them when it loads, so a flipped bit in a weight goes unnoticed there.
 */
final class ArchiveCheck {
    private ArchiveCheck() {}

    /** Adds a finding for each damaged archive among the files of a view, and for each file that is not as it is listed. */
    static void check(ModelView view, Findings findings) throws IOException {
        for (Path path : view.files().files()) {
            String name = path.getFileName().toString();
            if (name.equals(DcpCheckpoint.METADATA)) {
                listed(view.files(), path.getParent(), findings);
            }
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

    private static void listed(FilePool files, Path folder, Findings findings) throws IOException {
        try {
            Optional<IntegrityFile> list = IntegrityFile.read(files, folder);
            for (DcpFinding finding : list.isPresent() ? list.get().verify(files, folder) : List.<DcpFinding>of()) {
                findings.error(
                        "file.checksum",
                        folder.resolve(finding.subject()).toString(),
                        finding.message(),
                        "copy the file again from where it came from");
            }
        } catch (CheckpointException e) {
            findings.error("file.checksum", e.where(), e.problem(), "");
        }
    }
}
