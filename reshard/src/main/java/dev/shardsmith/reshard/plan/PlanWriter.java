package dev.shardsmith.reshard.plan;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnsafeByteOperations;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.proto.CrcPlace;
import dev.shardsmith.reshard.plan.proto.DroppedItem;
import dev.shardsmith.reshard.plan.proto.FillBox;
import dev.shardsmith.reshard.plan.proto.FillMode;
import dev.shardsmith.reshard.plan.proto.LedgerSums;
import dev.shardsmith.reshard.plan.proto.LiteralBytes;
import dev.shardsmith.reshard.plan.proto.Move;
import dev.shardsmith.reshard.plan.proto.PlanEnd;
import dev.shardsmith.reshard.plan.proto.PlanHeader;
import dev.shardsmith.reshard.plan.proto.PlanMessage;
import dev.shardsmith.reshard.plan.proto.SlotRange;
import dev.shardsmith.reshard.plan.proto.SourceEntry;
import dev.shardsmith.reshard.plan.proto.SourcePiece;
import dev.shardsmith.reshard.plan.proto.SourceRange;
import dev.shardsmith.reshard.plan.proto.TargetFile;
import dev.shardsmith.reshard.plan.proto.TargetPiece;
import dev.shardsmith.reshard.plan.proto.View;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Writes the records of a plan. */
final class PlanWriter {
    /** What a plan carries along must stay small; tensor data lies in files. */
    static final int LARGEST_INLINE = 64 << 20;

    private final OutputStream out;
    private final Map<ByteSource, Integer> sources = new IdentityHashMap<>();
    private final Map<ByteSource.FileRange, Integer> ranges = new HashMap<>();
    private final Map<Path, SourceState> states = new HashMap<>();
    private final Map<TargetSlot, TargetPiece> slots = new HashMap<>();
    private long records;
    private int sourceCount;
    private int fileCount;

    PlanWriter(OutputStream out) {
        this.out = out;
    }

    void write(Plan plan) throws IOException {
        put(PlanMessage.newBuilder().setHeader(header(plan)));
        for (TensorMove move : plan.moves()) {
            for (Piece piece : move.sources()) {
                putSource(piece.data().source());
            }
            for (Piece piece : move.replicas()) {
                putSource(piece.data().source());
            }
        }
        for (FileImage file : plan.files()) {
            putFile(file);
        }
        for (TensorMove move : plan.moves()) {
            putMove(move);
        }
        for (Dropped dropped : plan.dropped()) {
            put(PlanMessage.newBuilder()
                    .setDropped(DroppedItem.newBuilder()
                            .setWhat(dropped.what())
                            .setElements(dropped.elements())
                            .setBytes(dropped.bytes())
                            .setReason(dropped.reason())));
        }
        for (String note : plan.notes()) {
            put(PlanMessage.newBuilder().setNote(note));
        }
        put(PlanMessage.newBuilder().setEnd(PlanEnd.newBuilder().setRecords(records)));
    }

    private void put(PlanMessage.Builder record) throws IOException {
        record.build().writeDelimitedTo(out);
        records++;
    }

    private static PlanHeader header(Plan plan) {
        Ledger ledger = plan.ledger();
        return PlanHeader.newBuilder()
                .setTitle(PlanCodec.TITLE)
                .setVersion(PlanCodec.VERSION)
                .setSingleFile(plan.singleFile())
                .setLedger(LedgerSums.newBuilder()
                        .setSourceElements(ledger.sourceElements())
                        .setUsedElements(ledger.usedElements())
                        .setDroppedElements(ledger.droppedElements())
                        .setTargetElements(ledger.targetElements())
                        .setCopiedElements(ledger.copiedElements())
                        .setCastElements(ledger.castElements())
                        .setFilledElements(ledger.filledElements()))
                .build();
    }

    /** Numbers a source, writing it unless the same range of the same file was written before. */
    private void putSource(ByteSource source) throws IOException {
        if (sources.containsKey(source)) {
            return;
        }
        Optional<ByteSource.FileRange> range = source.inFile();
        Integer known = range.map(ranges::get).orElse(null);
        if (known != null) {
            sources.put(source, known);
            return;
        }
        SourceEntry.Builder entry = SourceEntry.newBuilder().setName(source.name());
        if (range.isPresent()) {
            entry.setRange(range(range.get()));
            ranges.put(range.get(), sourceCount);
        } else {
            entry.setInline(inline(source));
        }
        source.recordedCrc().ifPresent(entry::setCrc);
        sources.put(source, sourceCount++);
        put(PlanMessage.newBuilder().setSource(entry));
    }

    private SourceRange range(ByteSource.FileRange range) throws IOException {
        SourceState state = states.get(range.file());
        if (state == null) {
            state = SourceState.of(range.file());
            states.put(range.file(), state);
        }
        return SourceRange.newBuilder()
                .setPath(range.file().toAbsolutePath().normalize().toString())
                .setFileSize(state.size())
                .setChangedSeconds(state.changed().getEpochSecond())
                .setChangedNanos(state.changed().getNano())
                .setOffset(range.offset())
                .setLength(range.length())
                .build();
    }

    private static ByteString inline(ByteSource source) throws IOException {
        if (source.size() > LARGEST_INLINE) {
            throw CheckpointException.of(
                    CheckpointException.Kind.LIMIT,
                    source.name(),
                    source.size() + " bytes that lie in no file are too many to be written into a plan");
        }
        return UnsafeByteOperations.unsafeWrap(source.readBytes(0, (int) source.size()));
    }

    private void putFile(FileImage image) throws IOException {
        TargetFile.Builder file = TargetFile.newBuilder().setPath(image.path()).setSize(image.size());
        for (FileImage.Literal literal : image.literals()) {
            file.addLiterals(LiteralBytes.newBuilder()
                    .setOffset(literal.offset())
                    .setContent(UnsafeByteOperations.unsafeWrap(literal.bytes())));
        }
        for (FileImage.Slot slot : image.slots()) {
            file.addSlots(SlotRange.newBuilder()
                    .setKey(slot.key())
                    .setOffset(slot.offset())
                    .setLength(slot.length()));
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            file.addCrcPatches(CrcPlace.newBuilder().setOffset(patch.offset()).setSlot(patch.slot()));
        }
        int number = fileCount++;
        for (int slot = 0; slot < image.slots().size(); slot++) {
            FileImage.Slot place = image.slots().get(slot);
            slots.put(
                    new TargetSlot(image.path(), place.key(), place.length()),
                    TargetPiece.newBuilder().setFile(number).setSlot(slot).build());
        }
        put(PlanMessage.newBuilder().setFile(file));
    }

    private void putMove(TensorMove given) throws IOException {
        Move.Builder move = Move.newBuilder()
                .setTensor(given.tensor())
                .addAllShape(list(given.shape().toArray()));
        for (Piece piece : given.sources()) {
            move.addSources(source(piece));
        }
        for (Piece piece : given.replicas()) {
            move.addReplicas(source(piece));
        }
        for (Fill fill : given.fills()) {
            move.addFills(FillBox.newBuilder()
                    .addAllOffset(list(fill.box().offset()))
                    .addAllSize(list(fill.box().size()))
                    .setMode(mode(fill.mode())));
        }
        for (Piece piece : given.targets()) {
            TargetPiece slot = piece.data().source() instanceof TargetSlot named ? slots.get(named) : null;
            if (slot == null) {
                throw CheckpointException.of(
                        CheckpointException.Kind.INCONSISTENT,
                        given.tensor(),
                        "its target " + piece.data().source().name() + " is no slot of the plan's files");
            }
            move.addTargets(slot.toBuilder().setView(view(piece)));
        }
        put(PlanMessage.newBuilder().setMove(move));
    }

    private SourcePiece source(Piece piece) {
        return SourcePiece.newBuilder()
                .setSource(sources.get(piece.data().source()))
                .setView(view(piece))
                .build();
    }

    private static View view(Piece piece) {
        StoredTensor data = piece.data();
        View.Builder view = View.newBuilder()
                .addAllAt(list(piece.at()))
                .addAllShape(list(data.shape().toArray()))
                .setOffset(data.offset())
                .setDtype(data.dtype().torchName())
                .setBigEndian(data.order() == ByteOrder.BIG_ENDIAN)
                .setConjugate(data.conjugate())
                .setNegative(data.negative());
        if (!Arrays.equals(data.strides(), data.shape().rowMajorStrides())) {
            view.addAllStrides(list(data.strides()));
        }
        return view.build();
    }

    private static FillMode mode(Fill.Mode mode) {
        return switch (mode) {
            case ZERO -> FillMode.FILL_MODE_ZERO;
            case REPEAT_LAST -> FillMode.FILL_MODE_REPEAT_LAST;
            case MEAN -> FillMode.FILL_MODE_MEAN;
        };
    }

    private static List<Long> list(long[] values) {
        return Arrays.stream(values).boxed().toList();
    }
}
