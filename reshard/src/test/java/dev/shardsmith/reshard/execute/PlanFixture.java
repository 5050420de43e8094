package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.plan.Fill;
import dev.shardsmith.reshard.plan.Ledger;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.plan.TargetSlot;
import dev.shardsmith.reshard.plan.TensorMove;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Piece;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/**
 * Builds plans for tests, and the bytes that the target files must have, element by element.
 *
 * <p>Each target file is: a literal of eight bytes, the first four of them for the checksum of its first slot; its slots, each
 * followed by a literal of eight bytes, the last four of them for that slot's checksum.
 */
final class PlanFixture {
    static final int MARK = 8;

    private final Path folder;
    private final List<List<FileImage.Slot>> slots = new ArrayList<>();
    private final List<TensorMove> moves = new ArrayList<>();
    private final List<ExpectedSlot> expectedSlots = new ArrayList<>();
    private int sourceFiles;

    private record ExpectedSlot(int file, long offset, byte[] bytes) {}

    PlanFixture(Path folder) {
        this.folder = folder;
    }

    /** A new target file; slots are added to it. */
    int targetFile() {
        slots.add(new ArrayList<>());
        return slots.size() - 1;
    }

    /** The path of a target file in the output. */
    static String path(int file) {
        return "part" + file % 2 + "/file" + file + ".bin";
    }

    /** A new slot of a target file, for {@code bytes} that the file is expected to hold there. */
    TargetSlot slot(int file, byte[] bytes) {
        List<FileImage.Slot> known = slots.get(file);
        long offset = known.isEmpty()
                ? MARK
                : known.get(known.size() - 1).offset()
                        + known.get(known.size() - 1).length()
                        + MARK;
        FileImage.Slot slot = new FileImage.Slot("slot" + known.size(), offset, bytes.length);
        known.add(slot);
        expectedSlots.add(new ExpectedSlot(file, offset, bytes));
        return new TargetSlot(path(file), slot.key(), slot.length());
    }

    /** A new source file with the given bytes, and their checksum recorded. */
    ByteSource sourceFile(FilePool pool, byte[] bytes) throws IOException {
        Path path = folder.resolve("source" + sourceFiles++ + ".bin");
        Files.createDirectories(folder);
        Files.write(path, bytes);
        return pool.file(path).withRecordedCrc(crc(bytes, 0, bytes.length));
    }

    static int crc(byte[] bytes, int from, int length) {
        CRC32 crc = new CRC32();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }

    void add(TensorMove move) {
        moves.add(move);
    }

    Plan plan() {
        List<FileImage> images = new ArrayList<>();
        for (int file = 0; file < slots.size(); file++) {
            List<FileImage.Literal> literals = new ArrayList<>();
            List<FileImage.CrcPatch> patches = new ArrayList<>();
            literals.add(new FileImage.Literal(0, mark(file)));
            long end = MARK;
            for (int slot = 0; slot < slots.get(file).size(); slot++) {
                FileImage.Slot place = slots.get(file).get(slot);
                end = place.offset() + place.length();
                literals.add(new FileImage.Literal(end, mark(slot)));
                patches.add(new FileImage.CrcPatch(end + 4, slot));
                end += MARK;
            }
            if (!slots.get(file).isEmpty()) {
                patches.add(new FileImage.CrcPatch(0, 0));
            }
            images.add(new FileImage(path(file), end, literals, slots.get(file), patches));
        }
        return new Plan(images, moves, new Ledger(0, 0, 0, 0, 0, 0, 0), List.of(), List.of(), false);
    }

    /** The bytes that a target file must have. */
    byte[] expected(int file) {
        FileImage image = plan().files().get(file);
        byte[] bytes = new byte[(int) image.size()];
        for (FileImage.Literal literal : image.literals()) {
            System.arraycopy(literal.bytes(), 0, bytes, (int) literal.offset(), literal.bytes().length);
        }
        for (ExpectedSlot slot : expectedSlots) {
            if (slot.file() == file) {
                System.arraycopy(slot.bytes(), 0, bytes, (int) slot.offset(), slot.bytes().length);
            }
        }
        for (FileImage.CrcPatch patch : image.crcPatches()) {
            FileImage.Slot slot = image.slots().get(patch.slot());
            ByteBuffer.wrap(bytes)
                    .order(ByteOrder.LITTLE_ENDIAN)
                    .putInt((int) patch.offset(), crc(bytes, (int) slot.offset(), (int) slot.length()));
        }
        return bytes;
    }

    int files() {
        return slots.size();
    }

    private static byte[] mark(int number) {
        byte[] bytes = new byte[MARK];
        Arrays.fill(bytes, (byte) (0x40 + number));
        return bytes;
    }

    /** A move from one whole row-major tensor to one slot of the same bytes. */
    static TensorMove copy(String name, DType dtype, Shape shape, ByteSource source, long offset, TargetSlot slot)
            throws IOException {
        return new TensorMove(
                name,
                shape,
                List.of(Piece.whole(StoredTensor.contiguous(name, dtype, shape, source, offset))),
                List.of(),
                List.of(Piece.whole(StoredTensor.contiguous(name, dtype, shape, slot, 0))),
                List.of());
    }

    /** One fill of the rows from {@code first} on. */
    static Fill fillRows(Shape shape, long first, Fill.Mode mode) {
        return new Fill(Box.slice(shape, 0, first, shape.size(0) - first), mode);
    }
}
