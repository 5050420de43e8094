package dev.shardsmith.verify.validate;

import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.RankShard;
import dev.shardsmith.verify.digest.BlockReader;
import dev.shardsmith.verify.digest.TensorReading;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32C;

/**
 * Looks for tensor-parallel ranks that hold the same shards of everything that is divided among them.
 *
 * <p>Names and shapes of such ranks are right, so that only the bytes tell that the file of one rank was copied over another's.
 * Ranks of a sound model differ in one of the first tensors, and nothing further is read.
 */
final class CopiedRanks {
    private final ModelView view;
    private final Findings findings;
    private final BlockReader reader = new BlockReader();
    private boolean varied;

    private CopiedRanks(ModelView view, Findings findings) {
        this.view = view;
        this.findings = findings;
    }

    /** Adds a finding for each group of ranks with equal shards. */
    static void check(ModelView view, Findings findings) throws IOException {
        CopiedRanks check = new CopiedRanks(view, findings);
        Map<List<Integer>, List<RankShard>> groups = new LinkedHashMap<>();
        for (RankShard rank : view.ranks()) {
            groups.computeIfAbsent(List.of(rank.pipeline(), rank.virtual(), rank.expert()), stage -> new ArrayList<>())
                    .add(rank);
        }
        for (List<RankShard> group : groups.values()) {
            if (group.size() > 1) {
                check.group(group);
            }
        }
    }

    private void group(List<RankShard> ranks) throws IOException {
        List<LogicalTensor> divided = ranks.get(0).tensors().values().stream()
                .filter(this::isDivided)
                .sorted(Comparator.comparingLong(LogicalTensor::bytes))
                .toList();
        varied = false;
        List<List<RankShard>> equal = List.of(ranks);
        for (LogicalTensor tensor : divided) {
            List<List<RankShard>> still = new ArrayList<>();
            for (List<RankShard> alike : equal) {
                split(alike, tensor.name()).stream()
                        .filter(part -> part.size() > 1)
                        .forEach(still::add);
            }
            equal = still;
            if (equal.isEmpty()) {
                return;
            }
        }
        if (varied) {
            equal.forEach(alike -> report(alike, divided.size()));
        }
    }

    /** Whether the ranks of a dense model's tensor hold parts of it; a rank with all of it is no part. */
    private boolean isDivided(LogicalTensor local) {
        LogicalTensor whole = view.tensors().get(local.name());
        return whole != null && !whole.shape().equals(local.shape()) && local.bytes() > 0;
    }

    private List<List<RankShard>> split(List<RankShard> ranks, String name) throws IOException {
        Map<Long, List<RankShard>> byContent = new LinkedHashMap<>();
        for (RankShard rank : ranks) {
            LogicalTensor tensor = rank.tensors().get(name);
            if (tensor != null) {
                byContent
                        .computeIfAbsent(checksum(tensor), content -> new ArrayList<>())
                        .add(rank);
            }
        }
        return new ArrayList<>(byContent.values());
    }

    private long checksum(LogicalTensor tensor) throws IOException {
        TensorReading reading = TensorReading.of(tensor);
        ByteBuffer block = reading.buffer(reader, 0);
        CRC32C checksum = new CRC32C();
        int width = reading.dtype().byteSize();
        for (long i = 0; i < reading.grid().blocks(); i++) {
            reading.read(reader, i, block);
            // Shards of ones or zeros are equal by their nature, and only matrices are surely not.
            if (!varied && tensor.shape().rank() > 1) {
                int length = block.remaining() - width;
                varied = length > 0
                        && !block.slice(block.position(), length).equals(block.slice(block.position() + width, length));
            }
            checksum.update(block);
        }
        return checksum.getValue();
    }

    private void report(List<RankShard> alike, int tensors) {
        RankShard first = alike.get(0);
        List<Integer> numbers = alike.stream().map(RankShard::tensor).toList();
        findings.error(
                "ranks.copied",
                "TP ranks %s, PP rank %d%s"
                        .formatted(numbers, first.pipeline(), first.expert() > 0 ? ", EP rank " + first.expert() : ""),
                "all %d tensors that are divided among these ranks have the same bytes on each of them"
                        .formatted(tensors),
                "the file of one rank was copied over another's: take it from where it came from again");
    }
}
