package dev.shardsmith.formats.torch;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.pickle.GraphText;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.util.Arrays;

/**
 * Any bytes give a file or a {@link CheckpointException}; set {@code JAZZER_FUZZ=1} to search for others.
 *
 * <p>Without that, the inputs in the resources are run: what was found before, and the smallest golden files.
 */
class TorchFuzzTest {
    private static final TorchLimits LIMITS =
            TorchLimits.defaults().withPickle(PickleLimits.defaults().withGraphBytes(64 << 20));

    /** Expanded tensors may claim any number of elements. */
    private static final long ELEMENTS_READ = 100_000;

    @FuzzTest(maxDuration = "5m")
    void pickle(byte[] bytes) throws IOException {
        PyValue root;
        try {
            root = PickleReader.read(ByteSource.of("fuzz", bytes), 0, LIMITS.pickle())
                    .value();
        } catch (CheckpointException e) {
            return;
        }
        byte[] written;
        try {
            written = PickleWriter.write(root);
        } catch (CheckpointException e) {
            return;
        }
        // What was written once is written the same way again.
        PyValue again = PickleReader.read(ByteSource.of("written", written)).value();
        if (!Arrays.equals(written, PickleWriter.write(again))) {
            throw new AssertionError("written differently the second time:\n" + GraphText.of(root));
        }
    }

    @FuzzTest(maxDuration = "5m")
    void archive(byte[] bytes) throws IOException {
        open(bytes);
    }

    @FuzzTest(maxDuration = "5m")
    void stream(byte[] bytes) throws IOException {
        open(bytes);
    }

    @FuzzTest(maxDuration = "5m")
    void scan(byte[] bytes) {
        TorchScan.scan(ByteSource.of("fuzz.pt", bytes));
    }

    private static void open(byte[] bytes) throws IOException {
        try {
            TorchFile file = TorchFile.open(ByteSource.of("fuzz", bytes), LIMITS);
            file.verifyCrc();
            for (NamedTensor named : file.tensors()) {
                TorchTensor tensor = named.tensor();
                if (tensor.data().isPresent() && tensor.shape().elements() <= ELEMENTS_READ) {
                    ElementReader.forEachBlock(tensor.data().get(), block -> {});
                }
            }
        } catch (CheckpointException e) {
            // The only error there may be.
        }
    }
}
