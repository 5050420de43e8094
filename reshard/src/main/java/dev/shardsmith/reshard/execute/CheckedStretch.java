package dev.shardsmith.reshard.execute;

import dev.shardsmith.formats.ByteSource;
import java.nio.ByteBuffer;
import java.util.OptionalInt;
import java.util.zip.CRC32;

/** Adds up the checksum of a source that is checked, joining the parts that are read one after the other. */
final class CheckedStretch {
    private final SourceChecks checks;
    private final CRC32 crc = new CRC32();
    private OptionalInt id = OptionalInt.empty();
    private long sourceSize;
    private WorkResult result;
    private long end = -1;

    CheckedStretch(SourceChecks checks) {
        this.checks = checks;
    }

    /** What is added from now on is read from {@code source}. */
    void begin(ByteSource source, WorkResult sum) {
        id = checks.idOf(source);
        sourceSize = source.size();
        result = sum;
    }

    /** Adds the bytes at {@code position} of the source. */
    void add(long position, ByteBuffer bytes) {
        if (id.isEmpty()) {
            return;
        }
        if (position != end) {
            end();
        }
        end = position + bytes.remaining();
        crc.update(bytes);
    }

    /** Adds what was joined last to the sum. */
    void end() {
        if (id.isPresent() && end >= 0) {
            result.addStretch(id.getAsInt(), sourceSize - end, (int) crc.getValue());
        }
        crc.reset();
        end = -1;
    }
}
