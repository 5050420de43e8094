package dev.shardsmith.formats.torch;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.testdata.TestData;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Coordinates of sparse tensors are listed as they are, and checked before anybody relies on them. */
class SparseIndicesTest {
    @Test
    void coordinatesThatPyTorchWroteAreAccepted() throws IOException {
        TorchFile file = TorchFile.open(
                ByteSource.of("sparse", Files.readAllBytes(TestData.path("pytorch-zip", "sparse", "model.pt"))));
        int checked = 0;
        for (NamedTensor named : file.tensors()) {
            if (named.tensor().kind() == TensorKind.SPARSE_COO) {
                SparseIndices.check(file, named);
                checked++;
            }
        }
        assertThat(checked).isEqualTo(5);
    }

    @ParameterizedTest
    @CsvSource({"3,0,coordinate 3", "-1,0,coordinate -1", "1,1,twice"})
    void coordinatesOutsideTheShapeAreRefused(long first, long second, String message) throws IOException {
        TorchPickle pickle = new TorchPickle();
        PyTuple size = PyTuple.of(PyInt.of(3));
        PyDict root = TestTensors.dict(
                "s",
                TestTensors.call(
                        "torch._utils",
                        "_rebuild_sparse_tensor",
                        TestTensors.call("torch.serialization", "_get_layout", TestTensors.str("torch.sparse_coo")),
                        PyTuple.of(
                                pickle.tensor(DType.I64, Shape.of(1, 2), "0"),
                                pickle.tensor(DType.F32, Shape.of(2), "1"),
                                size,
                                PyBool.TRUE)));
        byte[] indices = ByteBuffer.allocate(16)
                .order(ByteOrder.LITTLE_ENDIAN)
                .putLong(first)
                .putLong(second)
                .array();
        TorchFile file = TorchFile.open(ByteSource.of(
                "s.pt",
                TestZip.torch(
                                TestTensors.pickle(root),
                                TestZip.Entry.of("m/data/0", indices),
                                TestZip.Entry.of("m/data/1", new byte[8]))
                        .bytes()));
        NamedTensor sparse = file.tensors().get(2);

        assertThat(sparse.name()).isEqualTo("s");
        assertThat(sparse.tensor().shape()).isEqualTo(Shape.of(3));
        assertThatThrownBy(() -> SparseIndices.check(file, sparse)).hasMessageContaining(message);
    }
}
