package dev.shardsmith.reshard.plan;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Digests everything that a plan says, and the state of the files that it reads.
 *
 * <p>Each conversion waits for it before it writes anything, so it goes without the messages of a {@link PlanWriter}, whose
 * many classes take longer to load than the digest takes. Numbers are written in groups of seven bits, and everything of
 * variable length after its length, so that no two plans give the same bytes.
 */
final class PlanFingerprint {
    /** So much counts of data too large to be written along: generated ones tell their seed and kind apart there. */
    private static final int BEGINNING = 64 << 10;

    private static final int IN_FILE = 0;
    private static final int INLINE = 1;

    private final MessageDigest digest;
    private final byte[] buffer = new byte[8 << 10];
    private final Map<Path, Integer> sourceFiles = new HashMap<>();
    private final Map<ByteSource, Integer> inline = new IdentityHashMap<>();
    private final Map<String, Integer> targetFiles = new HashMap<>();
    private int used;

    private PlanFingerprint(MessageDigest digest) {
        this.digest = digest;
    }

    /** The SHA-256 of a plan in hexadecimal digits. */
    static String of(Plan plan) throws IOException {
        PlanFingerprint fingerprint;
        try {
            fingerprint = new PlanFingerprint(MessageDigest.getInstance("SHA-256"));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
        fingerprint.put(plan);
        fingerprint.flush();
        return HexFormat.of().formatHex(fingerprint.digest.digest());
    }

    private void put(Plan plan) throws IOException {
        put(PlanCodec.TITLE);
        put(PlanCodec.VERSION);
        put(plan.singleFile() ? 1 : 0);
        put(plan.ledger());
        put(plan.files().size());
        for (FileImage file : plan.files()) {
            put(file);
        }
        put(plan.moves().size());
        for (TensorMove move : plan.moves()) {
            put(move);
        }
        put(plan.dropped().size());
        for (Dropped dropped : plan.dropped()) {
            put(dropped.what());
            put(dropped.elements());
            put(dropped.bytes());
            put(dropped.reason());
        }
        put(plan.notes().size());
        for (String note : plan.notes()) {
            put(note);
        }
    }

    private void put(Ledger ledger) {
        put(ledger.sourceElements());
        put(ledger.usedElements());
        put(ledger.droppedElements());
        put(ledger.targetElements());
        put(ledger.copiedElements());
        put(ledger.castElements());
        put(ledger.filledElements());
    }

    private void put(FileImage file) {
        put(file.path());
        put(file.size());
        put(file.literals().size());
        for (FileImage.Literal literal : file.literals()) {
            put(literal.offset());
            put(literal.bytes());
        }
        put(file.slots().size());
        for (FileImage.Slot slot : file.slots()) {
            put(slot.key());
            put(slot.offset());
            put(slot.length());
        }
        put(file.crcPatches().size());
        for (FileImage.CrcPatch patch : file.crcPatches()) {
            put(patch.offset());
            put(patch.slot());
        }
        targetFiles.putIfAbsent(file.path(), targetFiles.size());
    }

    private void put(TensorMove move) throws IOException {
        put(move.tensor());
        put(move.shape().toArray());
        putSources(move.sources());
        putSources(move.replicas());
        put(move.fills().size());
        for (Fill fill : move.fills()) {
            put(fill.box().offset());
            put(fill.box().size());
            put(fill.mode().name());
        }
        put(move.targets().size());
        for (Piece piece : move.targets()) {
            putTarget(piece.data().source());
            putView(piece);
        }
    }

    private void putSources(List<Piece> pieces) throws IOException {
        put(pieces.size());
        for (Piece piece : pieces) {
            putSource(piece.data().source());
            putView(piece);
        }
    }

    /** A range of a numbered file, or numbered bytes; what has a number for the first time follows it. */
    private void putSource(ByteSource source) throws IOException {
        Optional<ByteSource.FileRange> range = source.inFile();
        if (range.isPresent()) {
            put(IN_FILE);
            putFile(range.get().file());
            put(range.get().offset());
            put(range.get().length());
        } else {
            put(INLINE);
            putInline(source);
        }
        put(source.recordedCrc().isPresent() ? 1 : 0);
        put(source.recordedCrc().orElse(0));
    }

    private void putFile(Path file) throws IOException {
        Integer known = sourceFiles.putIfAbsent(file, sourceFiles.size());
        put(known == null ? sourceFiles.size() - 1 : known);
        if (known == null) {
            SourceState state = SourceState.of(file);
            put(file.toAbsolutePath().normalize().toString());
            put(state.size());
            put(state.changed().getEpochSecond());
            put(state.changed().getNano());
        }
    }

    private void putInline(ByteSource source) throws IOException {
        Integer known = inline.putIfAbsent(source, inline.size());
        put(known == null ? inline.size() - 1 : known);
        if (known == null) {
            put(source.size());
            boolean whole = source.size() <= PlanWriter.LARGEST_INLINE;
            put(source.readBytes(0, whole ? (int) source.size() : BEGINNING));
        }
    }

    private void putTarget(ByteSource target) {
        if (target instanceof TargetSlot slot) {
            put(targetFiles.getOrDefault(slot.file(), -1));
            put(slot.key());
            put(slot.size());
        } else {
            // Refused when the plan is carried out.
            put(-1);
        }
    }

    private void putView(Piece piece) {
        StoredTensor data = piece.data();
        put(piece.at());
        put(data.shape().toArray());
        put(data.strides());
        put(data.offset());
        put(data.dtype().torchName());
        put((data.order() == ByteOrder.BIG_ENDIAN ? 1 : 0) | (data.conjugate() ? 2 : 0) | (data.negative() ? 4 : 0));
    }

    private void put(long[] values) {
        put(values.length);
        for (long value : values) {
            put(value);
        }
    }

    private void put(String text) {
        put(text.getBytes(StandardCharsets.UTF_8));
    }

    private void put(byte[] bytes) {
        put(bytes.length);
        if (bytes.length > buffer.length - used) {
            flush();
        }
        if (bytes.length > buffer.length) {
            digest.update(bytes);
        } else {
            System.arraycopy(bytes, 0, buffer, used, bytes.length);
            used += bytes.length;
        }
    }

    private void put(long value) {
        if (buffer.length - used < Long.BYTES + 2) {
            flush();
        }
        long rest = value;
        while ((rest & ~0x7FL) != 0) {
            buffer[used++] = (byte) (rest | 0x80);
            rest >>>= 7;
        }
        buffer[used++] = (byte) rest;
    }

    private void flush() {
        digest.update(buffer, 0, used);
        used = 0;
    }
}
