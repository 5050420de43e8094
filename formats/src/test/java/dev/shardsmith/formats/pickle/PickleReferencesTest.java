package dev.shardsmith.formats.pickle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.BitSet;
import org.junit.jupiter.api.Test;

class PickleReferencesTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();

    @Test
    void fetchesAreSeenWhereverTheWindowEndsAndNotInsideOfStrings() throws IOException {
        for (int before = 65_500; before < 65_560; before++) {
            out.reset();
            text('X', before - 5);
            fetch(0x1_0203);
            text('X', 7);
            bytes('h', 200);
            text(0x8c, 9);
            bytes('h', 3, 'j', 0xff, 0xff, 0xff, 0xff, '.');

            assertThat(scan()).as("window ends after %d bytes", before).isEqualTo(expected());
        }
    }

    @Test
    void aStringThatIsLongerThanTheWindowIsPassedOver() throws IOException {
        text('X', 200_000);
        text('B', 70_000);
        fetch(5);
        bytes('.');

        assertThat(scan().stream()).containsExactly(5);
    }

    @Test
    void aStringThatClaimsMoreThanThereIsEndsTheScan() {
        bytes('h', 1, 'X', 0xff, 0xff, 0xff, 0xff, 'h', 2, '.');

        assertThatThrownBy(this::scan).isInstanceOf(CheckpointException.class);
    }

    private static BitSet expected() {
        BitSet expected = new BitSet();
        expected.set(3);
        expected.set(200);
        expected.set(0x1_0203);
        return expected;
    }

    private BitSet scan() throws IOException {
        return PickleReferences.scan(ByteSource.of("test", out.toByteArray()), 0);
    }

    /** A string of letters which would fetch entries if they were operations. */
    private void text(int op, int length) {
        out.write(op);
        for (int i = 0; i < (op == 0x8c ? 1 : 4); i++) {
            out.write(length >>> 8 * i);
        }
        for (int i = 0; i < length; i++) {
            out.write('h');
        }
    }

    private void fetch(int index) {
        bytes('j', index, index >>> 8, index >>> 16, index >>> 24);
    }

    private void bytes(int... values) {
        for (int value : values) {
            out.write(value);
        }
    }
}
