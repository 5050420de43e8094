package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Archives of so many records that their pickle is read while they are checked: no check is left out, and none comes late. */
class ManyRecordsTest {
    private static final int MANY = 5000;

    @Test
    void everyTensorIsReadFromItsOwnRecord() throws IOException {
        TorchFile file = open(archive());
        assertThat(file.tensors()).hasSize(MANY);
        assertThat(file.warnings()).isEmpty();
        NamedTensor last = file.tensors().get(MANY - 1);
        assertThat(last.name()).isEqualTo("t4999");
        assertThat(last.tensor().storage().orElseThrow().data().readBytes(0, 4)).containsExactly(0x87, 0x13, 0, 0);
    }

    @Test
    void recordsOutOfOrderAreFoundAllTheSame() throws IOException {
        List<TestZip.Entry> records = storages();
        Collections.reverse(records);
        TorchFile file = open(TestZip.torch(pickle(), records.toArray(TestZip.Entry[]::new)));
        TorchTensor first = file.tensors().get(258).tensor();
        assertThat(first.storage().orElseThrow().data().readBytes(0, 4)).containsExactly(2, 1, 0, 0);
    }

    @Test
    void everyRecordIsChecked() throws IOException {
        assertRefused(archive().change("m/data/4321", entry -> entry.withLocalName("m/data/1234")), "another name");
        assertRefused(archive().with(storage(17)), "two records called m/data/17");
        assertRefused(
                archive().change("m/data/99", entry -> entry.withFlags(0x0801)), "m/data/99 is marked as encrypted");
        assertRefused(archive().change("m/data/4999", entry -> entry.withLocalMethod(8)), "another method");
        assertRefused(archive().with(TestZip.Entry.of("M/DATA/3", new byte[4])), "outside the archive's folder");
        assertRefused(archive().with(TestZip.Entry.of("m/DATA/3", new byte[4])), "two records called m/DATA/3");
    }

    @Test
    void thePickleAndItsHeaderAreChecked() throws IOException {
        assertRefused(archive().change("m/data.pkl", entry -> entry.withCrc(7)), "the record is damaged");
        assertRefused(archive().change("m/data.pkl", entry -> entry.withLocalName("m/data.pkm")), "another name");
        assertRefused(
                TestZip.torch(new byte[] {'(', 'h', 1, '.'}, storages().toArray(TestZip.Entry[]::new)),
                "the pickle is malformed");
    }

    @Test
    void whatIsWrongWithTheArchiveIsSaidBeforeWhatIsWrongWithThePickle() throws IOException {
        TestZip both = TestZip.torch(new byte[] {'h', 1, '.'}, storages().toArray(TestZip.Entry[]::new));
        assertRefused(both.with(storage(17)), "two records called m/data/17");
    }

    @Test
    void otherArchivesAreCalledWhatTheyAre() throws IOException {
        assertRefused(archive().with(TestZip.Entry.of("m/constants.pkl", new byte[1])), "TorchScript archive");
        assertRefused(TestZip.of(storages().toArray(TestZip.Entry[]::new)), "a zip archive that PyTorch did not write");
    }

    private static void assertRefused(TestZip zip, String because) {
        assertThatThrownBy(() -> open(zip))
                .isInstanceOf(CheckpointException.class)
                .hasMessageContaining(because);
    }

    private static TorchFile open(TestZip zip) throws IOException {
        return TorchFile.open(ByteSource.of("many.pt", zip.bytes()));
    }

    private static TestZip archive() throws CheckpointException {
        return TestZip.torch(pickle(), storages().toArray(TestZip.Entry[]::new))
                .with(TestZip.Entry.of("m/byteorder", "little".getBytes(StandardCharsets.US_ASCII)));
    }

    private static byte[] pickle() throws CheckpointException {
        TorchPickle pickle = new TorchPickle();
        List<PyEntry> entries = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            PyValue tensor = pickle.tensor(DType.I32, Shape.of(1), Integer.toString(i));
            entries.add(new PyEntry(new PyStr("t" + i), tensor));
        }
        return TestTensors.pickle(new PyDict(entries));
    }

    private static List<TestZip.Entry> storages() {
        List<TestZip.Entry> storages = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            storages.add(storage(i));
        }
        return storages;
    }

    /** Four bytes that are the record's number. */
    private static TestZip.Entry storage(int i) {
        return TestZip.Entry.of("m/data/" + i, new byte[] {(byte) i, (byte) (i >> 8), 0, 0});
    }
}
