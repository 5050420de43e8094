package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.ByteSource;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.StoredTensor;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.testdata.Cases;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;

final class StridedReaderTest {
    private static final DType[] TYPES = {DType.U8, DType.BF16, DType.F32, DType.F64, DType.C128};

    @Test
    void anyViewIsReadElementByElementThroughABufferOfAnySize() {
        Cases.forAll(3000, random -> {
            DType dtype = TYPES[random.nextInt(TYPES.length)];
            Shape shape = shape(random);
            long[] strides = new long[shape.rank()];
            long last = 0;
            for (int dim = 0; dim < strides.length; dim++) {
                strides[dim] = random.nextInt(random.nextInt(20) == 0 ? 6000 : 40);
                last += (shape.size(dim) - 1) * strides[dim];
            }
            byte[] bytes = new byte[(int) (dtype.bytes(last + 1) + 16)];
            random.nextBytes(bytes);
            StoredTensor view = StoredTensor.checked(
                    "t", dtype, shape, strides, ByteSource.of("bytes", bytes), 16, ByteOrder.LITTLE_ENDIAN);
            int capacity = (int) Math.max(dtype.bytes(shape.elements()), random.nextInt(16, 400));
            ByteBuffer near = ByteBuffer.allocate(capacity).order(ByteOrder.LITTLE_ENDIAN);
            long[] nearStrides = shape.rowMajorStrides();
            new StridedReader(new Buffers(capacity), SourceChecks.NONE)
                    .read(view, near, 0, nearStrides, new WorkResult());
            byte[] expected = new byte[capacity];
            RandomMove.forEach(Box.whole(shape), index -> {
                long from = 0;
                long to = 0;
                for (int dim = 0; dim < index.length; dim++) {
                    from += index[dim] * strides[dim];
                    to += index[dim] * nearStrides[dim];
                }
                int size = dtype.byteSize();
                System.arraycopy(bytes, (int) (16 + from * size), expected, (int) (to * size), size);
            });
            assertThat(Arrays.mismatch(near.array(), expected)).isEqualTo(-1);
        });
    }

    @Test
    void columnsOfAMatrixThatAreAllWantedAreReadAtOnce() throws Exception {
        byte[] bytes = new byte[64];
        StoredTensor view = StoredTensor.contiguous("t", DType.F32, Shape.of(4, 4), ByteSource.of("bytes", bytes), 0);
        StridedReader reader = new StridedReader(new Buffers(64), SourceChecks.NONE);
        ByteBuffer near = ByteBuffer.allocate(128).order(ByteOrder.LITTLE_ENDIAN);
        reader.read(view, near, 0, new long[] {8, 1}, new WorkResult());
        assertThat(reader.bytesRead()).isEqualTo(64);
    }

    private static Shape shape(RandomGenerator random) {
        long[] sizes = new long[random.nextInt(4)];
        for (int dim = 0; dim < sizes.length; dim++) {
            sizes[dim] = random.nextInt(1, 9);
        }
        return Shape.of(sizes);
    }
}
