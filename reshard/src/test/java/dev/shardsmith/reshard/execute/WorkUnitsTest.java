package dev.shardsmith.reshard.execute;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.reshard.region.Box;
import dev.shardsmith.reshard.region.Coverage;
import dev.shardsmith.testdata.Cases;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

final class WorkUnitsTest {
    @Test
    void unitsVisitEveryBandOnceAndInOrder() {
        Cases.forAll(500, random -> {
            List<PreparedMove> moves = new ArrayList<>();
            List<String> expected = new ArrayList<>();
            long[] bytes = new long[random.nextInt(1, 12)];
            for (int number = 0; number < bytes.length; number++) {
                Shape shape = Shape.of(random.nextInt(40), random.nextInt(1, 40));
                Bands bands = Bands.rows(shape, random.nextInt(1, 200));
                moves.add(move(number, shape, bands));
                bytes[number] = 4 * shape.elements();
                for (long band = 0; band < bands.count(); band++) {
                    expected.add(number + " " + bands.box(band));
                }
            }
            WorkUnits units = new WorkUnits(moves, bytes, random.nextInt(1, 3000));
            List<String> visited = new ArrayList<>();
            long sum = 0;
            int tasks = random.nextInt(1, 6);
            for (int task = 0; task < tasks; task++) {
                for (int unit = units.firstOf(task, tasks); unit < units.firstOf(task + 1, tasks); unit++) {
                    units.forEachBand(unit, (move, band) -> visited.add(move.number() + " " + band));
                    sum += units.bytes(unit);
                }
            }
            assertThat(visited).isEqualTo(expected);
            assertThat(sum).isEqualTo(units.totalBytes());
        });
    }

    @Test
    void bandsFillTheTensor() {
        Cases.forAll(300, random -> {
            Shape shape = Shape.of(random.nextInt(1, 20), random.nextInt(1, 20), random.nextInt(1, 20));
            int most = random.nextInt(1, 2000);
            Bands bands = random.nextBoolean() ? Bands.rows(shape, most) : Bands.tiles(shape, random.nextInt(2), most);
            List<Box> boxes = new ArrayList<>();
            for (long band = 0; band < bands.count(); band++) {
                assertThat(bands.box(band).elements()).isBetween(1L, (long) most);
                boxes.add(bands.box(band));
            }
            assertThat(Coverage.problem(shape, boxes)).isEmpty();
        });
    }

    private static PreparedMove move(int number, Shape shape, Bands bands) {
        return new PreparedMove(
                number, "t" + number, shape, Optional.of(DType.F32), List.of(), List.of(), List.of(), List.of(), bands);
    }
}
