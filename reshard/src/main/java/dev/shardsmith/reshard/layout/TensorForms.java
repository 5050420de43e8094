package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.torch.Quantization;
import dev.shardsmith.formats.torch.TorchFile;
import dev.shardsmith.formats.torch.TorchTensor;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.TensorForm;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** Describes the tensors of a PyTorch file that are no plain ones. */
final class TensorForms {
    private TensorForms() {}

    /** The form of a tensor; empty for one whose elements tell all. */
    static Optional<TensorForm> of(TorchFile file, TorchTensor tensor, boolean readable) throws IOException {
        if (tensor.quantization().isPresent()) {
            return Optional.of(quantized(file, tensor.quantization().get()));
        }
        return readable
                ? Optional.empty()
                : Optional.of(
                        new TensorForm(kind(tensor) + " tensor, " + type(tensor) + " " + tensor.shape(), List.of()));
    }

    /** The name of a tensor's kind in reports. */
    static String kind(TorchTensor tensor) {
        return tensor.kind().name().toLowerCase(Locale.ROOT);
    }

    /** The name of a tensor's element type in reports. */
    static String type(TorchTensor tensor) {
        return tensor.dtype().map(DType::shortName).orElse("unknown type");
    }

    private static TensorForm quantized(TorchFile file, Quantization quantization) throws IOException {
        if (quantization instanceof Quantization.PerTensor one) {
            return new TensorForm(
                    "%s, scale %s, zero point %d".formatted(one.scheme(), one.scale(), one.zeroPoint()), List.of());
        }
        Quantization.PerChannel channels = (Quantization.PerChannel) quantization;
        List<LogicalTensor> parts = new ArrayList<>();
        String text = "%s, axis %d".formatted(channels.scheme(), channels.axis())
                + part(file, "scales", channels.scales(), parts)
                + part(file, "zero points", channels.zeroPoints(), parts);
        return new TensorForm(text, parts);
    }

    /** Text on a tensor or a list of numbers; a tensor is told by its content, and so goes into {@code parts}. */
    private static String part(TorchFile file, String name, PyValue node, List<LogicalTensor> parts)
            throws IOException {
        Optional<StoredTensor> tensor = file.tensor(node).flatMap(TorchTensor::data);
        if (tensor.isPresent()) {
            parts.add(LogicalTensor.whole(name, tensor.get()));
            return "";
        }
        return ", " + name + " "
                + (node instanceof PyList list
                        ? list.items().stream().map(TensorForms::number).collect(Collectors.joining(" "))
                        : node.describe());
    }

    private static String number(PyValue value) {
        if (value instanceof PyFloat real) {
            return Double.toString(real.value());
        }
        return value instanceof PyInt integer ? integer.toString() : value.describe();
    }
}
