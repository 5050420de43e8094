package dev.shardsmith.verify.diff;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.testdata.Cases;
import dev.shardsmith.verify.digest.OrderedWork;
import dev.shardsmith.verify.digest.RandomTensors;
import dev.shardsmith.verify.digest.TensorReading;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class PairComparerTest {
    @Test
    void oneFlippedBitIsFoundAcrossDivisions() {
        Cases.forAll(60, random -> {
            DType dtype = random.nextBoolean() ? DType.BF16 : DType.F32;
            Shape shape = RandomTensors.shape(random, 20_000);
            byte[] elements = new byte[Math.toIntExact(dtype.bytes(shape.elements()))];
            random.nextBytes(elements);
            LogicalTensor left = RandomTensors.scatter("t", dtype, shape, elements, random);
            LogicalTensor same = RandomTensors.scatter("t", dtype, shape, elements, random);
            assertThat(new PairComparer(TensorReading.of(left), TensorReading.of(same), new Comparers(Tolerance.EXACT))
                            .here())
                    .isEmpty();
            int flipped = random.nextInt(elements.length);
            byte[] changed = elements.clone();
            changed[flipped] ^= (byte) (1 << random.nextInt(8));
            LogicalTensor right = RandomTensors.scatter("t", dtype, shape, changed, random);
            TensorComparison found = new PairComparer(
                            TensorReading.of(left), TensorReading.of(right), new Comparers(Tolerance.EXACT))
                    .here()
                    .orElseThrow();
            assertThat(found.differing()).isEqualTo(1);
            long element = found.worst().get(0).index();
            assertThat(element).isEqualTo(flipped / dtype.byteSize());
            long[] index = left.shape().index(element);
            long linear = 0;
            for (int dim = 0; dim < index.length; dim++) {
                linear = linear * shape.size(dim) + index[dim];
            }
            assertThat(linear).isEqualTo(element);
        });
    }

    @Test
    void theNumberOfThreadsChangesNothing() throws Exception {
        byte[] elements = new byte[24 << 20];
        Cases.random(1).nextBytes(elements);
        byte[] changed = elements.clone();
        for (int i = 0; i < 50; i++) {
            changed[Cases.random(i).nextInt(changed.length)] ^= 16;
        }
        Shape shape = Shape.of(6 << 10, 1 << 10);
        LogicalTensor left = RandomTensors.scatter("t", DType.F32, shape, elements, Cases.random(3));
        LogicalTensor right = RandomTensors.scatter("t", DType.F32, shape, changed, Cases.random(4));
        TensorComparison[] results = new TensorComparison[3];
        for (int workers = 1; workers <= 3; workers++) {
            try (OrderedWork work = new OrderedWork(workers)) {
                results[workers - 1] = new PairComparer(
                                TensorReading.of(left), TensorReading.of(right), new Comparers(Tolerance.EXACT))
                        .on(work)
                        .orElseThrow();
            }
        }
        assertThat(Arrays.stream(results).map(TensorComparison::cosine).distinct())
                .hasSize(1);
        assertThat(Arrays.stream(results).map(TensorComparison::worst).distinct())
                .hasSize(1);
        assertThat(results[0].differing()).isBetween(40L, 50L);
        try (OrderedWork work = new OrderedWork(2)) {
            LogicalTensor again = RandomTensors.scatter("t", DType.F32, shape, elements, Cases.random(5));
            Optional<TensorComparison> same = new PairComparer(
                            TensorReading.of(left), TensorReading.of(again), new Comparers(Tolerance.EXACT))
                    .on(work);
            assertThat(same).isEmpty();
        }
    }

    /** Spans that know what others found leave out nothing; many elements are equally bad, and the first of them are wanted. */
    @Test
    void theWorstOfManySpansAreThoseOfAll() throws Exception {
        int count = 5 << 20;
        Cases.forAll(4, random -> {
            ByteBuffer left = ByteBuffer.allocate(2 * count).order(ByteOrder.LITTLE_ENDIAN);
            ByteBuffer right = ByteBuffer.allocate(2 * count).order(ByteOrder.LITTLE_ENDIAN);
            int kinds = 1 << (1 + random.nextInt(14));
            List<WorstElement> worst = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                // Bits of finite values, positive or negative.
                short a = (short) (random.nextInt(kinds) | random.nextInt(2) << 15);
                short b = (short) (random.nextInt(kinds) | random.nextInt(2) << 15);
                left.putShort(a);
                right.putShort(b);
                double x = Float.intBitsToFloat(a << 16);
                double y = Float.intBitsToFloat(b << 16);
                WorstElement element = new WorstElement(i, x, y, Math.abs(x - y));
                if (a != b && (worst.size() < 5 || element.before(worst.get(4)))) {
                    worst.add(element);
                    worst.sort((one, two) -> one.before(two) ? -1 : 1);
                    worst.subList(Math.min(5, worst.size()), worst.size()).clear();
                }
            }
            Shape shape = Shape.of(5 << 10, 1 << 10);
            LogicalTensor a = RandomTensors.scatter("t", DType.BF16, shape, left.array(), random);
            LogicalTensor b = RandomTensors.scatter("t", DType.BF16, shape, right.array(), random);
            PairComparer pair =
                    new PairComparer(TensorReading.of(a), TensorReading.of(b), new Comparers(Tolerance.EXACT));
            try (OrderedWork work = new OrderedWork(2)) {
                TensorComparison found = pair.on(work).orElseThrow();
                assertThat(found.worst()).isEqualTo(worst);
                assertThat(found.maxAbs()).isEqualTo(worst.get(0).difference());
            }
        });
    }
}
