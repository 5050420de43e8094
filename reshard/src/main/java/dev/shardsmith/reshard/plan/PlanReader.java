package dev.shardsmith.reshard.plan;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.proto.FillBox;
import dev.shardsmith.reshard.plan.proto.FillMode;
import dev.shardsmith.reshard.plan.proto.LedgerSums;
import dev.shardsmith.reshard.plan.proto.Move;
import dev.shardsmith.reshard.plan.proto.PlanHeader;
import dev.shardsmith.reshard.plan.proto.PlanMessage;
import dev.shardsmith.reshard.plan.proto.SourceEntry;
import dev.shardsmith.reshard.plan.proto.SourcePiece;
import dev.shardsmith.reshard.plan.proto.SourceRange;
import dev.shardsmith.reshard.plan.proto.TargetFile;
import dev.shardsmith.reshard.plan.proto.TargetPiece;
import dev.shardsmith.reshard.plan.proto.View;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Reads the records of a plan; the input may be anything. */
final class PlanReader {
    private final InputStream in;
    private final String name;
    private final FilePool pool;
    private final List<ByteSource> sources = new ArrayList<>();
    private final Map<Path, ByteSource> checkedFiles = new HashMap<>();
    private final List<FileImage> files = new ArrayList<>();
    private final List<TensorMove> moves = new ArrayList<>();
    private final List<Dropped> dropped = new ArrayList<>();
    private final List<String> notes = new ArrayList<>();
    private PlanHeader header;
    private long records;

    PlanReader(InputStream in, String name, FilePool pool) {
        this.in = in;
        this.name = name;
        this.pool = pool;
    }

    Plan read() throws IOException {
        try {
            while (take(next())) {
                records++;
            }
        } catch (InvalidProtocolBufferException e) {
            throw malformed("it is not a plan: " + e.getMessage());
        } catch (ArithmeticException | IllegalArgumentException e) {
            throw malformed("it contradicts itself: " + e.getMessage());
        }
        LedgerSums sums = header.getLedger();
        Ledger ledger = new Ledger(
                sums.getSourceElements(),
                sums.getUsedElements(),
                sums.getDroppedElements(),
                sums.getTargetElements(),
                sums.getCopiedElements(),
                sums.getCastElements(),
                sums.getFilledElements());
        return new Plan(files, moves, ledger, dropped, notes, header.getSingleFile());
    }

    private PlanMessage next() throws IOException {
        int first = in.read();
        if (first < 0) {
            throw CheckpointException.of(CheckpointException.Kind.TRUNCATED, where(), "the plan was cut short");
        }
        int length = CodedInputStream.readRawVarint32(first, in);
        if (length < 0) {
            throw malformed("it is not a plan: a record claims " + length + " bytes");
        }
        // Read in steps, so that a claim of a great length costs no memory before the bytes are there.
        byte[] bytes = in.readNBytes(length);
        if (bytes.length < length) {
            throw CheckpointException.of(CheckpointException.Kind.TRUNCATED, where(), "the plan was cut short");
        }
        return PlanMessage.parseFrom(bytes);
    }

    /** Takes a record; false if it was the last. */
    private boolean take(PlanMessage record) throws IOException {
        if (header == null && record.getRecordCase() != PlanMessage.RecordCase.HEADER) {
            throw malformed("it is not a plan: it does not begin with a header");
        }
        switch (record.getRecordCase()) {
            case HEADER -> takeHeader(record.getHeader());
            case SOURCE -> sources.add(source(record.getSource()));
            case FILE -> files.add(file(record.getFile()));
            case MOVE -> moves.add(move(record.getMove()));
            case DROPPED ->
                dropped.add(new Dropped(
                        record.getDropped().getWhat(),
                        record.getDropped().getElements(),
                        record.getDropped().getBytes(),
                        record.getDropped().getReason()));
            case NOTE -> notes.add(record.getNote());
            case END -> {
                if (record.getEnd().getRecords() != records) {
                    throw malformed("it has " + records + " records, not "
                            + record.getEnd().getRecords());
                }
                return false;
            }
            case RECORD_NOT_SET -> throw malformed("it has a record of an unknown kind");
        }
        return true;
    }

    private void takeHeader(PlanHeader given) throws CheckpointException {
        if (header != null || !given.getTitle().equals(PlanCodec.TITLE)) {
            throw malformed("it is not a plan: the header is another one");
        }
        if (given.getVersion() < 1 || given.getVersion() > PlanCodec.VERSION) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSUPPORTED,
                            name,
                            "the plan is of version " + given.getVersion() + ", the highest known is "
                                    + PlanCodec.VERSION)
                    .withHint("carry it out with the version of shardsmith that made it");
        }
        header = given;
    }

    private ByteSource source(SourceEntry entry) throws IOException {
        ByteSource bytes = place(entry);
        return entry.hasCrc() ? bytes.withRecordedCrc(entry.getCrc()) : bytes;
    }

    private ByteSource place(SourceEntry entry) throws IOException {
        return switch (entry.getPlaceCase()) {
            case RANGE -> range(entry);
            case INLINE -> ByteSource.of(entry.getName(), entry.getInline().toByteArray());
            case PLACE_NOT_SET -> throw malformed("the source " + entry.getName() + " lies nowhere");
        };
    }

    private ByteSource range(SourceEntry entry) throws IOException {
        SourceRange range = entry.getRange();
        Path path;
        try {
            path = Path.of(range.getPath());
        } catch (InvalidPathException e) {
            throw malformed("'" + range.getPath() + "' is no path");
        }
        ByteSource file = checkedFiles.get(path);
        if (file == null) {
            checkUnchanged(path, range);
            file = pool.file(path);
            checkedFiles.put(path, file);
        }
        boolean whole = range.getOffset() == 0 && range.getLength() == file.size();
        if (whole) {
            return file;
        }
        String part = entry.getName().startsWith(file.name() + "!")
                ? entry.getName().substring(file.name().length() + 1)
                : entry.getName();
        return file.slice(part, range.getOffset(), range.getLength());
    }

    private static void checkUnchanged(Path path, SourceRange range) throws IOException {
        BasicFileAttributes now;
        try {
            now = Files.readAttributes(path, BasicFileAttributes.class);
        } catch (NoSuchFileException e) {
            throw changed(path, "the source file is not there any more").causedBy(e);
        }
        Instant changed = Instant.ofEpochSecond(range.getChangedSeconds(), range.getChangedNanos());
        if (now.size() != range.getFileSize()
                || !now.lastModifiedTime().toInstant().equals(changed)) {
            throw changed(path, "the source file has changed since the plan was made");
        }
    }

    private static CheckpointException changed(Path path, String problem) {
        return CheckpointException.of(CheckpointException.Kind.ENVIRONMENT, path.toString(), problem)
                .withHint("make the plan anew");
    }

    private static FileImage file(TargetFile file) {
        return new FileImage(
                file.getPath(),
                file.getSize(),
                file.getLiteralsList().stream()
                        .map(literal -> new FileImage.Literal(
                                literal.getOffset(), literal.getContent().toByteArray()))
                        .toList(),
                file.getSlotsList().stream()
                        .map(slot -> new FileImage.Slot(slot.getKey(), slot.getOffset(), slot.getLength()))
                        .toList(),
                file.getCrcPatchesList().stream()
                        .map(patch -> new FileImage.CrcPatch(patch.getOffset(), patch.getSlot()))
                        .toList());
    }

    private TensorMove move(Move move) throws IOException {
        Shape shape = Shape.of(array(move.getShapeList()));
        List<Fill> fills = new ArrayList<>();
        for (FillBox fill : move.getFillsList()) {
            Box box = new Box(array(fill.getOffsetList()), array(fill.getSizeList()));
            requireInside(move.getTensor(), shape, box);
            fills.add(new Fill(box, mode(fill.getMode())));
        }
        List<Piece> targets = new ArrayList<>();
        for (TargetPiece target : move.getTargetsList()) {
            targets.add(piece(move.getTensor(), shape, target.getView(), slot(target)));
        }
        return new TensorMove(
                move.getTensor(),
                shape,
                pieces(move.getTensor(), shape, move.getSourcesList()),
                fills,
                targets,
                pieces(move.getTensor(), shape, move.getReplicasList()));
    }

    private List<Piece> pieces(String tensor, Shape shape, List<SourcePiece> given) throws CheckpointException {
        List<Piece> pieces = new ArrayList<>();
        for (SourcePiece piece : given) {
            if (Integer.compareUnsigned(piece.getSource(), sources.size()) >= 0) {
                throw malformed(tensor + " comes from source " + piece.getSource() + " of " + sources.size());
            }
            pieces.add(piece(tensor, shape, piece.getView(), sources.get(piece.getSource())));
        }
        return pieces;
    }

    private TargetSlot slot(TargetPiece target) throws CheckpointException {
        if (Integer.compareUnsigned(target.getFile(), files.size()) >= 0
                || Integer.compareUnsigned(
                                target.getSlot(),
                                files.get(target.getFile()).slots().size())
                        >= 0) {
            throw malformed("there is no slot " + target.getSlot() + " of file " + target.getFile());
        }
        FileImage image = files.get(target.getFile());
        FileImage.Slot slot = image.slots().get(target.getSlot());
        return new TargetSlot(image.path(), slot.key(), slot.length());
    }

    private Piece piece(String tensor, Shape shape, View view, ByteSource source) throws CheckpointException {
        DType dtype = DType.ofTorchName(view.getDtype())
                .orElseThrow(() -> malformed(tensor + " is of the unknown type " + view.getDtype()));
        Shape size = Shape.of(array(view.getShapeList()));
        long[] strides = view.getStridesCount() == 0 ? size.rowMajorStrides() : array(view.getStridesList());
        ByteOrder order = view.getBigEndian() ? ByteOrder.BIG_ENDIAN : ByteOrder.LITTLE_ENDIAN;
        for (long stride : strides) {
            if (stride < 0) {
                throw malformed(tensor + " has a negative stride");
            }
        }
        StoredTensor data = StoredTensor.checked(tensor, dtype, size, strides, source, view.getOffset(), order)
                .withFlags(view.getConjugate(), view.getNegative());
        Piece piece = new Piece(array(view.getAtList()), data);
        requireInside(tensor, shape, piece.box());
        return piece;
    }

    private void requireInside(String tensor, Shape shape, Box box) throws CheckpointException {
        boolean inside = box.rank() == shape.rank();
        for (int dim = 0; inside && dim < box.rank(); dim++) {
            inside = box.offset()[dim] >= 0
                    && box.size()[dim] >= 0
                    && box.size()[dim] <= shape.size(dim)
                    && box.offset()[dim] <= shape.size(dim) - box.size()[dim];
        }
        if (!inside) {
            throw malformed("a part " + box + " of " + tensor + " lies outside of " + shape);
        }
    }

    private Fill.Mode mode(FillMode mode) throws CheckpointException {
        return switch (mode) {
            case FILL_MODE_ZERO -> Fill.Mode.ZERO;
            case FILL_MODE_REPEAT_LAST -> Fill.Mode.REPEAT_LAST;
            case FILL_MODE_MEAN -> Fill.Mode.MEAN;
            case FILL_MODE_UNSPECIFIED, UNRECOGNIZED -> throw malformed("a fill is of an unknown kind");
        };
    }

    private static long[] array(List<Long> values) {
        return values.stream().mapToLong(Long::longValue).toArray();
    }

    private String where() {
        return name + ", record " + (records + 1);
    }

    private CheckpointException malformed(String problem) {
        return CheckpointException.of(CheckpointException.Kind.MALFORMED, where(), problem);
    }
}
