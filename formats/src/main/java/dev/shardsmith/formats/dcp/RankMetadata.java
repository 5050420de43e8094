package dev.shardsmith.formats.dcp;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpMetadata.DcpOrigin;
import dev.shardsmith.formats.dcp.DcpMetadataBuilder.Place;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Joins the metadata that ranks wrote each for itself, where a save made no use of collectives. */
final class RankMetadata {
    private record Row(DcpMetadata metadata, int entry, int row) {}

    private RankMetadata() {}

    static DcpMetadata merge(String source, List<DcpMetadata> ranks) throws CheckpointException {
        if (ranks.size() == 1) {
            return ranks.get(0);
        }
        Map<String, List<Row>> rows = new LinkedHashMap<>();
        DcpMetadataBuilder builder = new DcpMetadataBuilder(source);
        boolean planned = false;
        for (DcpMetadata rank : ranks) {
            planned |= rank.origin().hasPlannerData();
            for (int entry = 0; entry < rank.size(); entry++) {
                List<Row> ofEntry = rows.computeIfAbsent(rank.name(entry), name -> new ArrayList<>(1));
                for (int row = rank.firstRow(entry); row < rank.firstRow(entry) + rank.rowCount(entry); row++) {
                    ofEntry.add(new Row(rank, entry, row));
                }
                if (!rank.plannerPath(rank.name(entry)).isEmpty()) {
                    builder.plannerPath(rank.name(entry), rank.plannerPath(rank.name(entry)));
                }
            }
            for (Map.Entry<String, Shape> original : rank.originalShapes().entrySet()) {
                builder.originalShape(original.getKey(), original.getValue().toArray());
            }
        }
        for (Map.Entry<String, List<Row>> entry : rows.entrySet()) {
            join(source, builder, entry.getKey(), entry.getValue());
        }
        builder.origin = new DcpOrigin(ranks.get(0).origin().version(), planned);
        return builder.finish();
    }

    private static void join(String source, DcpMetadataBuilder builder, String name, List<Row> rows)
            throws CheckpointException {
        if (rows.isEmpty()) {
            return;
        }
        Row first = rows.get(0);
        if (!first.metadata().isTensor(first.entry())) {
            builder.object(name);
            place(builder, name, first, Optional.empty());
            return;
        }
        Shape shape = first.metadata().shape(first.entry());
        // Replicated tensors are in every rank's metadata: the first copy is as good as the others.
        Map<List<Long>, Row> distinct = new LinkedHashMap<>();
        for (Row row : rows) {
            if (!row.metadata().isTensor(row.entry())
                    || !row.metadata().shape(row.entry()).equals(shape)) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        source,
                        "the metadata of the ranks contradict each other about " + name);
            }
            long[] box = row.metadata().offsets(row.entry(), row.row());
            distinct.putIfAbsent(Arrays.stream(box).boxed().toList(), row);
        }
        builder.tensor(name, first.metadata().dtype(first.entry()).name(), shape.toArray());
        for (Row row : distinct.values()) {
            builder.chunk(row.metadata().box(row.entry(), row.row()));
        }
        for (Row row : distinct.values()) {
            place(builder, name, row, Optional.of(row.metadata().offsets(row.entry(), row.row())));
        }
    }

    private static void place(DcpMetadataBuilder builder, String name, Row row, Optional<long[]> offsets)
            throws CheckpointException {
        DcpMetadata from = row.metadata();
        if (from.file(row.row()) != DcpMetadata.NO_FILE) {
            Place place = new Place(
                    from.files().get(from.file(row.row())),
                    from.itemOffset(row.row()),
                    from.itemLength(row.row()),
                    from.transforms(row.row()));
            builder.place(name, offsets, -1, place);
        }
    }
}
