package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.BitSet;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class JournalTest {
    private static final int RECORDS = 3;

    @TempDir
    Path folder;

    private Path file;
    private final long[] ends = new long[RECORDS + 1];

    @BeforeEach
    void writeRecords() throws IOException {
        file = folder.resolve("journal");
        for (int record = 0; record < RECORDS; record++) {
            try (Journal journal = Journal.open(file, new Journal.State())) {
                BitSet units = new BitSet();
                units.set(10 * record, 10 * record + 5);
                units.set(10 * record + 7);
                WorkResult result = new WorkResult();
                result.addChecksum(1, 1 << record);
                result.addChecksum(2 + record, -1);
                result.addOverflows(3, 5);
                result.addMismatches(4, 1L << 40);
                journal.append(units, result, record == RECORDS - 1);
            }
            ends[record + 1] = Journal.read(file, new Journal.State());
        }
    }

    @Test
    void recordsAddUp() throws IOException {
        Journal.State state = new Journal.State();
        Journal.read(file, state);
        assertThat(state.units()).hasToString("{0, 1, 2, 3, 4, 7, 10, 11, 12, 13, 14, 17, 20, 21, 22, 23, 24, 27}");
        assertThat(state.result().checksums()).hasToString("{1=7, 2=-1, 3=-1, 4=-1}");
        assertThat(state.result().overflows()).hasToString("{3=15}");
        assertThat(state.result().mismatches()).hasToString("{4=" + 3L * (1L << 40) + "}");
        assertThat(state.complete()).isTrue();
    }

    @Test
    void aJournalCutAnywhereTellsWhatItsWholeRecordsTell() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        for (int cut = 0; cut < ends[RECORDS]; cut++) {
            Files.write(file, Arrays.copyOf(bytes, cut));
            assertWholeRecordsBefore(cut);
        }
    }

    @Test
    void aDamagedRecordEndsTheJournal() throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        for (int at = 0; at < ends[RECORDS]; at++) {
            byte[] damaged = bytes.clone();
            damaged[at] ^= 0x10;
            Files.write(file, damaged);
            assertWholeRecordsBefore(at);
        }
    }

    @Test
    void roomForFurtherRecordsIsTakenBeforehand() throws IOException {
        assertThat(Files.size(file)).isGreaterThan(ends[RECORDS] + 1000);
    }

    private void assertWholeRecordsBefore(int position) throws IOException {
        int whole = 0;
        while (whole < RECORDS && ends[whole + 1] <= position) {
            whole++;
        }
        Journal.State state = new Journal.State();
        assertThat(Journal.read(file, state)).isEqualTo(ends[whole]);
        assertThat(state.units().cardinality()).isEqualTo(6 * whole);
        assertThat(state.complete()).isFalse();
    }
}
