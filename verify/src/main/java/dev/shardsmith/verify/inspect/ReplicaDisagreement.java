package dev.shardsmith.verify.inspect;

import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.verify.diff.TensorComparison;
import dev.shardsmith.verify.diff.TensorPairs;
import dev.shardsmith.verify.digest.UnequalCopy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A rank's copy of a tensor, or of a part of one, that is not what another rank holds.
 *
 * @param tensor logical name
 * @param part the part that both hold
 * @param file where the copy lies, if in a file
 * @param comparison how it differs from what counts as the tensor
 */
public record ReplicaDisagreement(String tensor, Box part, Optional<Path> file, TensorComparison comparison) {
    /** All copies of a tensor that differ from it in a bit; reads them. */
    public static List<ReplicaDisagreement> of(LogicalTensor tensor) throws IOException {
        List<ReplicaDisagreement> found = new ArrayList<>();
        for (Piece replica : tensor.replicas()) {
            Box part = replica.box();
            LogicalTensor expected = UnequalCopy.part(tensor, part);
            LogicalTensor actual = LogicalTensor.whole(tensor.name(), replica.data());
            Optional<TensorComparison> comparison = TensorPairs.compare(expected, actual);
            if (comparison.isPresent()) {
                Optional<Path> file = replica.data().source().inFile().map(range -> range.file());
                found.add(new ReplicaDisagreement(tensor.name(), part, file, comparison.get()));
            }
        }
        return found;
    }
}
