package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.util.BitSet;

/**
 * Finds which entries of a pickle's memo are ever fetched.
 *
 * <p>Writers store almost every node and fetch few. The others need not be kept, and then most of a large pickle can be
 * forgotten while it is read. Only a scan: whatever is wrong with the stream is left for the reader to report.
 */
final class PickleReferences {
    /** Numbers above this are always kept; nobody counts so far. */
    private static final int MAX_INDEX = 1 << 28;

    /** Bytes of the arguments of operations that are passed over. */
    private static final byte[] ARGUMENTS = arguments();

    private final PickleInput in;
    private final BitSet fetched = new BitSet();

    private PickleReferences(PickleInput in) {
        this.in = in;
    }

    private static byte[] arguments() {
        byte[] sizes = new byte[256];
        int[] others = {
            Opcode.STOP,
            Opcode.GET,
            Opcode.LONG1,
            Opcode.BINSTRING,
            Opcode.LONG4,
            Opcode.BINUNICODE8,
            Opcode.BINBYTES8,
            Opcode.BYTEARRAY8,
            Opcode.INT,
            Opcode.LONG,
            Opcode.FLOAT,
            Opcode.STRING,
            Opcode.UNICODE,
            Opcode.PUT,
            Opcode.PERSID,
            Opcode.GLOBAL,
            Opcode.INST
        };
        for (int op : others) {
            sizes[op] = Byte.MIN_VALUE;
        }
        sizes[Opcode.BINUNICODE] = PickleInput.LONG_COUNTED;
        sizes[Opcode.BINBYTES] = PickleInput.LONG_COUNTED;
        sizes[Opcode.BINGET] = PickleInput.SHORT_FETCH;
        sizes[Opcode.LONG_BINGET] = PickleInput.LONG_FETCH;
        for (int op : new int[] {Opcode.SHORT_BINUNICODE, Opcode.SHORT_BINBYTES, Opcode.SHORT_BINSTRING}) {
            sizes[op] = PickleInput.COUNTED;
        }
        for (int op : new int[] {Opcode.BINPUT, Opcode.BININT1, Opcode.PROTO, Opcode.EXT1}) {
            sizes[op] = 1;
        }
        for (int op : new int[] {Opcode.BININT2, Opcode.EXT2}) {
            sizes[op] = 2;
        }
        for (int op : new int[] {Opcode.BININT, Opcode.LONG_BINPUT, Opcode.EXT4}) {
            sizes[op] = 4;
        }
        for (int op : new int[] {Opcode.BINFLOAT, Opcode.FRAME}) {
            sizes[op] = 8;
        }
        return sizes;
    }

    /** The memo entries that the pickle at {@code start} fetches. */
    static BitSet scan(ByteSource source, long start) throws IOException {
        PickleReferences references = new PickleReferences(new PickleInput(source, start, source.size()));
        references.scan();
        return references.fetched;
    }

    /** True if an entry of this number may be dropped when it is not among the fetched ones. */
    static boolean mayDrop(long index) {
        return index >= 0 && index < MAX_INDEX;
    }

    private void scan() throws IOException {
        while (true) {
            int op = in.passOver(ARGUMENTS, fetched);
            switch (op) {
                case Opcode.STOP -> {
                    return;
                }
                case Opcode.BINGET -> fetched.set(in.u8());
                case Opcode.LONG_BINGET -> fetch(in.u32());
                case Opcode.GET -> {
                    if (PickleText.longLine(in.line(1 << 16)) instanceof PyInt index) {
                        fetch(index.asLong().orElse(-1));
                    }
                }
                case Opcode.BINPUT, Opcode.BININT1, Opcode.PROTO, Opcode.EXT1 -> in.skip(1);
                case Opcode.BININT2, Opcode.EXT2 -> in.skip(2);
                case Opcode.BININT, Opcode.LONG_BINPUT, Opcode.EXT4 -> in.skip(4);
                case Opcode.BINFLOAT, Opcode.FRAME -> in.skip(8);
                case Opcode.SHORT_BINUNICODE, Opcode.SHORT_BINBYTES, Opcode.SHORT_BINSTRING, Opcode.LONG1 ->
                    in.skip(in.u8());
                case Opcode.BINUNICODE, Opcode.BINBYTES -> in.skip(in.u32());
                case Opcode.BINSTRING, Opcode.LONG4 -> in.skip(in.i32());
                case Opcode.BINUNICODE8, Opcode.BINBYTES8, Opcode.BYTEARRAY8 -> in.skip(in.i64());
                case Opcode.INT, Opcode.LONG, Opcode.FLOAT, Opcode.STRING, Opcode.UNICODE, Opcode.PUT, Opcode.PERSID ->
                    in.line(Integer.MAX_VALUE);
                case Opcode.GLOBAL, Opcode.INST -> {
                    in.line(Integer.MAX_VALUE);
                    in.line(Integer.MAX_VALUE);
                }
                default -> {
                    // The other operations have no argument, or are none.
                }
            }
        }
    }

    private void fetch(long index) {
        if (mayDrop(index)) {
            fetched.set((int) index);
        }
    }
}
