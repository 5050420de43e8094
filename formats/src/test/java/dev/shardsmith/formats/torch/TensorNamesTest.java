package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PickleLimits;
import dev.shardsmith.formats.pickle.PyBytes;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PySet;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import java.io.IOException;
import java.nio.ByteOrder;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Names of tensors in graphs that share and nest more than a program would. */
@Timeout(value = 60, unit = TimeUnit.SECONDS)
class TensorNamesTest {
    private final PyObject tensor = new TorchPickle().tensor(DType.F32, Shape.of(4), "0");

    @Test
    void tensorDeepInsideContainersHasTheWholePath() throws IOException {
        assertThat(names(nested(1000))).containsExactly("[0]".repeat(1000));
    }

    @Test
    void nameLongerThanAnyProgramsIsRefused() throws IOException {
        assertThatThrownBy(() -> names(nested(300_000)))
                .isInstanceOfSatisfying(
                        CheckpointException.class, e -> assertThat(e.kind()).isEqualTo(CheckpointException.Kind.LIMIT))
                .hasMessageContaining("a name of more than 65536 characters");
    }

    @Test
    void namesThatNeedMoreMemoryThanAllowedAreRefused() throws IOException {
        PyList many = new PyList();
        for (int i = 0; i < 2000; i++) {
            many.items().add(tensor);
        }
        PyValue root = TestTensors.dict("k".repeat(1000), many);
        TorchLimits limits =
                TorchLimits.defaults().withPickle(PickleLimits.defaults().withGraphBytes(1 << 20));
        assertThatThrownBy(() -> open(root, limits)).hasMessageContaining("the names of the tensors need more");
        assertThat(names(root)).hasSize(2000).allMatch(name -> name.startsWith("kkk"));
    }

    @Test
    void tensorsOfTensorsAreListedOnceHoweverOftenTheyAreShared() throws IOException {
        PyValue part = tensor;
        for (int i = 0; i < 15; i++) {
            part = TestTensors.call("torch._utils", "_rebuild_nested_tensor", part, part, part, part);
        }
        // Each level names its four parts, and only the first of them is looked into.
        assertThat(names(part)).hasSize(1 + 4 * 15).contains("#buffer#buffer#strides");
    }

    @Test
    void statesThatManyObjectsShareAreEnteredOnce() throws IOException {
        PyDict state = new PyDict();
        for (int i = 0; i < 3000; i++) {
            state.put("k" + i, new PyList(List.of(tensor)));
        }
        PyList objects = new PyList();
        for (int i = 0; i < 3000; i++) {
            PyObject object = new PyObject(PyObject.Kind.NEWOBJ, new PyGlobal("some", "Thing"), PyTuple.EMPTY);
            object.addStep(new PyObject.State(state));
            objects.items().add(object);
        }
        assertThat(names(objects)).hasSize(3000).startsWith("[0].k0[0]").endsWith("[0].k2999[0]");
    }

    @Test
    void keysThatAreNoStringsReadTheSameInEveryProtocol() throws IOException {
        PyDict root = new PyDict();
        root.entries().add(new PyEntry(new PyBytes(PyBytes.Kind.BYTES, new byte[] {'a', 1, -1}), tensor));
        root.entries().add(new PyEntry(new PySet(true, List.of(new PyStr("x"))), tensor));
        root.entries()
                .add(new PyEntry(
                        PyTuple.of(new PyGlobal("builtins", "int"), new PyGlobal("torch", "Outer.Inner")), tensor));
        List<String> expected = List.of("<b'a\\x01ÿ'>", "<<a set>>", "<(<builtins.int>, <torch.Outer.Inner>)>");

        StorageInterpreter storages =
                new StorageInterpreter(ByteSource.of("x", new byte[0]), TensorNamesTest::zeros, TorchLimits.defaults());
        assertThat(TensorNames.find(root, new TensorInterpreter(ByteSource.of("x", new byte[0]), storages), "x", 1000))
                .extracting(NamedTensor::name)
                .isEqualTo(expected);
        // Protocol 2 spells all three as calls.
        assertThat(names(root)).isEqualTo(expected);
    }

    @Test
    void subclassInsideAnotherClassHasItsWholeName() throws IOException {
        PyValue type = TestTensors.call(
                "__builtin__", "getattr", new PyGlobal("some.module", "Outer"), TestTensors.str("Inner"));
        PyObject subclass = TestTensors.call(
                "torch._tensor", "_rebuild_from_type_v2", tensor.callable(), type, tensor.args(), new PyDict());
        TorchTensor read =
                open(subclass, TorchLimits.defaults()).tensors().get(0).tensor();
        assertThat(read.type()).isEqualTo("some.module.Outer.Inner");
        assertThat(read.shape()).isEqualTo(Shape.of(4));
    }

    private PyValue nested(int depth) {
        PyValue node = tensor;
        for (int i = 0; i < depth; i++) {
            node = new PyList(List.of(node));
        }
        return node;
    }

    private static TorchStorage zeros(StorageResolver.StorageId id, PyValue view) {
        ByteSource data = ByteSource.of(id.key(), new byte[(int) id.bytes()]);
        return new TorchStorage(
                id.key(), id.elementType(), id.elements(), id.location(), data, ByteOrder.LITTLE_ENDIAN);
    }

    private static List<String> names(PyValue root) throws IOException {
        return open(root, TorchLimits.defaults()).tensors().stream()
                .map(NamedTensor::name)
                .toList();
    }

    private static TorchFile open(PyValue root, TorchLimits limits) throws IOException {
        byte[] pickle = TestTensors.pickle(root);
        byte[] archive = TestZip.torch(pickle, TestZip.Entry.of("m/data/0", new byte[16]))
                .bytes();
        return TorchFile.open(ByteSource.of("test.pt", archive), limits);
    }
}
