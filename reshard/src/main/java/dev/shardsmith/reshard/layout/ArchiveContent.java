package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FileImage;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.TorchImage;
import dev.shardsmith.formats.torch.TorchPickle;
import dev.shardsmith.reshard.plan.TargetLayout;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** The tensors of one PyTorch archive that is to be written, each with a compact storage of its own. */
final class ArchiveContent {
    private final String path;
    private final TargetLayout layout;
    private final TorchPickle pickle = new TorchPickle();
    private final IdentityHashMap<PyValue, PyValue> substitutes = new IdentityHashMap<>();
    private final List<Copy> copies = new ArrayList<>();
    private int slots;
    private PyValue last = PyNone.NONE;

    /** A tensor outside of the model and the slot that it gets if the archive has it. */
    private record Copy(String name, String key, TargetLayout.StateTensor tensor) {}

    /** The content of the file at a path of a layout. */
    ArchiveContent(String path, TargetLayout layout) {
        this.path = path;
        this.layout = layout;
    }

    /**
     * A new slot for a tensor; its node is {@link #lastNode}.
     *
     * @throws CheckpointException if PyTorch has no plain tensors of the type
     */
    StoredTensor slot(DType dtype, Shape shape) throws CheckpointException {
        if (dtype.kind() == DType.Kind.QUANTIZED || !dtype.byteAligned()) {
            throw CheckpointException.of(
                    CheckpointException.Kind.REFUSED,
                    path,
                    "PyTorch has no plain tensors of the type " + dtype.torchName());
        }
        String key = Integer.toString(slots++);
        last = pickle.tensor(dtype, shape, key);
        return TargetLayout.slot(path, key, dtype, shape);
    }

    /** The node of the tensor that the last slot was made for. */
    PyValue lastNode() {
        return last;
    }

    /** A slot that gets a copy of a tensor outside of the model; its node. */
    PyValue copy(String name, StoredTensor tensor) throws CheckpointException {
        String key = Integer.toString(slots);
        StoredTensor target = slot(tensor.dtype(), tensor.shape());
        copies.add(new Copy(name, key, new TargetLayout.StateTensor(tensor, target)));
        return last;
    }

    /** Copies tensors of the state; their nodes are replaced when the archive is written. */
    void copyTensors(Map<PyValue, StoredTensor> tensors) throws CheckpointException {
        for (Map.Entry<PyValue, StoredTensor> tensor : tensors.entrySet()) {
            substitutes.put(tensor.getKey(), copy("state", tensor.getValue()));
        }
    }

    /** The finished layout of the archive. */
    FileImage image(PyValue root, String folder) throws CheckpointException {
        FileImage image =
                TorchImage.of(root).inFolder(folder).replacing(substitutes).build(path);
        Set<String> present = image.slots().stream().map(FileImage.Slot::key).collect(Collectors.toSet());
        // Parts of the state that are left out take their tensors with them.
        copies.stream()
                .filter(copy -> present.contains(copy.key()))
                .forEach(copy -> layout.addState(copy.name(), copy.tensor()));
        return image;
    }
}
