package dev.shardsmith.formats.torch;

import com.code_intelligence.jazzer.junit.FuzzTest;
import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.ElementReader;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.pickle.GraphText;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PickleReader;
import dev.shardsmith.formats.pickle.PickleWriter;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Any bytes give a file or a {@link CheckpointException}; {@code bench/fuzz.sh} searches for others.
 *
 * <p>In the normal build the inputs in the resources are run: what was found before, and the smallest golden files.
 */
class TorchFuzzTest {
    private static final TorchLimits LIMITS =
            TorchLimits.defaults().withPickle(PickleLimits.defaults().withGraphBytes(64 << 20));

    /** Expanded tensors may claim any number of elements. */
    private static final long ELEMENTS_READ = 100_000;

    private static final int LARGEST_STORAGE = 1 << 12;
    private static final int LARGEST_WRITTEN = 1 << 16;

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

    /** The object of a file whose storages all have the size that it claims, so that more objects make sense. */
    @FuzzTest(maxDuration = "5m")
    void object(byte[] pickle) throws IOException {
        ByteSource source = ByteSource.of("fuzz", pickle);
        FileImage image;
        List<String> names = new ArrayList<>();
        try {
            PyValue root = PickleReader.read(source, 0, LIMITS.pickle()).value();
            StorageInterpreter storages = new StorageInterpreter(source, TorchFuzzTest::zeros, LIMITS);
            List<NamedTensor> tensors =
                    TensorNames.find(root, new TensorInterpreter(source, storages), "fuzz", 1 << 20);
            readElements(tensors);
            tensors.forEach(tensor -> names.add(tensor.name()));
            image = TorchImage.of(root).build("fuzz.pt");
        } catch (CheckpointException e) {
            return;
        }
        if (image.size() > LARGEST_WRITTEN) {
            return;
        }
        byte[] written = ImageBytes.of(image, key -> new byte[size(image, key)]);
        TorchFile again;
        try {
            again = TorchFile.open(ByteSource.of("written", written));
        } catch (CheckpointException e) {
            if (e.kind() == CheckpointException.Kind.UNSAFE) {
                return;
            }
            throw new AssertionError("what was written is refused", e);
        }
        again.verifyCrc();
        List<String> namesAgain =
                again.tensors().stream().map(NamedTensor::name).toList();
        if (!names.equals(namesAgain)) {
            throw new AssertionError("tensors " + names + " became " + namesAgain);
        }
    }

    private static TorchStorage zeros(StorageResolver.StorageId id, PyValue view) throws CheckpointException {
        if (id.bytes() > LARGEST_STORAGE) {
            throw CheckpointException.truncated(id.key(), LARGEST_STORAGE, "storages are small here");
        }
        ByteSource data = ByteSource.of(id.key(), new byte[(int) id.bytes()]);
        return new TorchStorage(
                id.key(), id.elementType(), id.elements(), id.location(), data, ByteOrder.LITTLE_ENDIAN);
    }

    private static int size(FileImage image, String key) {
        return image.slots().stream()
                .filter(slot -> slot.key().equals(key))
                .mapToInt(slot -> Math.toIntExact(slot.length()))
                .findFirst()
                .orElseThrow();
    }

    private static void open(byte[] bytes) throws IOException {
        try {
            TorchFile file = TorchFile.open(ByteSource.of("fuzz", bytes), LIMITS);
            file.verifyCrc();
            readElements(file.tensors());
        } catch (CheckpointException e) {
            // The only error there may be.
        }
    }

    private static void readElements(List<NamedTensor> tensors) throws IOException {
        for (NamedTensor named : tensors) {
            TorchTensor tensor = named.tensor();
            if (tensor.data().isPresent() && tensor.shape().elements() <= ELEMENTS_READ) {
                ElementReader.forEachBlock(tensor.data().get(), block -> {});
            }
        }
    }
}
