package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyStr;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.zip.CRC32;

/** A state dict of very many small tensors, each in a record of its own, as {@code torch.save} writes it. */
final class LargeStateDict {
    private static final Shape SHAPE = Shape.of(2, 4);

    private LargeStateDict() {}

    /**
     * Writes the file.
     *
     * @param arguments its path and the number of tensors
     */
    public static void main(String[] arguments) throws IOException {
        of(Integer.parseInt(arguments[1])).writeTo(Path.of(arguments[0]));
    }

    /** Experts of layers, of zeros. */
    static ImageSource of(int tensors) throws IOException {
        TorchPickle pickle = new TorchPickle();
        List<PyEntry> entries = new ArrayList<>();
        for (int i = 0; i < tensors; i++) {
            String name = "model.layers." + i / 64 + ".mlp.experts." + i % 64 + ".weight";
            entries.add(new PyEntry(new PyStr(name), pickle.tensor(DType.BF16, SHAPE, Integer.toString(i))));
        }
        CRC32 zeros = new CRC32();
        zeros.update(new byte[(int) DType.BF16.bytes(SHAPE.elements())]);
        long[] crcs = new long[tensors];
        Arrays.fill(crcs, zeros.getValue());
        return LargeArchives.source(new PyDict(entries)).withCrcs(crcs);
    }
}
