package dev.shardsmith.formats;

import java.util.ArrayList;
import java.util.List;

/**
 * A file that is to be written, with every position known before the first data byte.
 *
 * <p>The literals, slots and nothing else make up the file, so slots may be filled in any order, by several threads or
 * processes. Only the CRC-32 of slots is unknown beforehand: {@code crcPatches} says where each goes.
 *
 * @param path where the file goes, relative to the output folder, with {@code /}
 * @param size length of the file in bytes
 * @param literals bytes known beforehand, in ascending order
 * @param slots places for tensor data, in ascending order, none overlapping another or a literal
 * @param crcPatches places where the CRC-32 of a finished slot is written as a little-endian 32-bit number; they lie inside
 *     literals
 */
public record FileImage(String path, long size, List<Literal> literals, List<Slot> slots, List<CrcPatch> crcPatches) {

    /** Bytes at a position of the file. */
    public record Literal(long offset, byte[] bytes) {}

    /**
     * A place for one tensor's or storage's data.
     *
     * @param key the name under which the writer of the file was asked for it
     * @param offset position in the file, in bytes
     * @param length length in bytes
     */
    public record Slot(String key, long offset, long length) {}

    /** Where in the file the CRC-32 of slot number {@code slot} goes. */
    public record CrcPatch(long offset, int slot) {}

    /** The same file with another key for its only slot; a file without one stays as it is. */
    public FileImage withSlotKey(String key) {
        if (slots.size() > 1) {
            throw new IllegalArgumentException(path + " has " + slots.size() + " slots");
        }
        List<Slot> renamed = slots.stream()
                .map(slot -> new Slot(key, slot.offset(), slot.length()))
                .toList();
        return new FileImage(path, size, literals, renamed, crcPatches);
    }

    /** One file made of several, one after the other without gaps; slots keep their order. */
    public static FileImage concatenate(String path, List<FileImage> parts) {
        long size = 0;
        List<Literal> literals = new ArrayList<>();
        List<Slot> slots = new ArrayList<>();
        List<CrcPatch> crcPatches = new ArrayList<>();
        for (FileImage part : parts) {
            int firstSlot = slots.size();
            for (Literal literal : part.literals) {
                literals.add(new Literal(size + literal.offset(), literal.bytes()));
            }
            for (Slot slot : part.slots) {
                slots.add(new Slot(slot.key(), size + slot.offset(), slot.length()));
            }
            for (CrcPatch patch : part.crcPatches) {
                crcPatches.add(new CrcPatch(size + patch.offset(), firstSlot + patch.slot()));
            }
            size = Math.addExact(size, part.size);
        }
        return new FileImage(path, size, literals, slots, crcPatches);
    }
}
