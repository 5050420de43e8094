package dev.shardsmith.verify.forward;

import static dev.shardsmith.verify.forward.ScanVectors.relative;
import static dev.shardsmith.verify.forward.ScanVectors.widened;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.testdata.Cases;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

final class ChunkedScanTest {

    static List<String> scans() {
        return ScanVectors.names();
    }

    @ParameterizedTest
    @MethodSource("scans")
    void agreesWithTheGoldenScansForEveryChunkLength(String name) throws Exception {
        ScanProblem problem = ScanVectors.problem(name);
        for (int chunk : new int[] {1, 7, 16, 64, 256}) {
            ScanResult result = ChunkedScan.run(problem, chunk);
            assertThat(relative(widened(result.y()), ScanVectors.expected(name, "y")))
                    .as("y with chunks of %d", chunk)
                    .isLessThan(1e-5);
            assertThat(relative(widened(result.finalState()), ScanVectors.expected(name, "final_state")))
                    .as("state with chunks of %d", chunk)
                    .isLessThan(1e-5);
        }
    }

    @Test
    void agreesWithTheReferenceForRandomOptions() {
        Cases.forAll(60, random -> {
            ScanProblem problem = RandomScans.next(random);
            int chunk = random.nextInt(1, 40);
            ScanResult chunked = ChunkedScan.run(problem, chunk);
            ReferenceScan.Result reference = ReferenceScan.run(problem);
            assertThat(relative(widened(chunked.y()), reference.y())).isLessThan(1e-5);
            assertThat(relative(widened(chunked.finalState()), reference.finalState()))
                    .isLessThan(1e-5);
            if (reference.sequenceStates().isPresent()) {
                assertThat(relative(
                                widened(chunked.sequenceStates().orElseThrow()),
                                reference.sequenceStates().get()))
                        .isLessThan(1e-5);
            }
        });
    }

    /** Head h reads group h / (heads / groups), in chunks as token by token. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 8})
    void anyNumberOfGroupsGivesWhatTheRecurrenceGives(int groups) {
        RandomGenerator random = Cases.random(29 + groups);
        ScanProblem problem = RandomScans.plain(random, new ScanShape(2, 37, 8, 4, groups, 5));
        ReferenceScan.Result reference = ReferenceScan.run(problem);
        for (int chunk : new int[] {1, 5, 16, 64}) {
            ScanResult chunked = ChunkedScan.run(problem, chunk);
            assertThat(relative(widened(chunked.y()), reference.y())).isLessThan(1e-5);
            assertThat(relative(widened(chunked.finalState()), reference.finalState()))
                    .isLessThan(1e-5);
        }
    }

    @Test
    void packedSequencesGiveWhatEachGivesAlone() {
        RandomGenerator random = Cases.random(5);
        ScanShape whole = new ScanShape(1, 50, 4, 3, 2, 5);
        ScanProblem packed = RandomScans.plain(random, whole).withSequenceStarts(new int[] {0, 13, 14, 41, 50});
        ScanResult together = ChunkedScan.run(packed, 16);
        int[] starts = packed.sequenceStarts().orElseThrow();
        for (int s = 0; s + 1 < starts.length; s++) {
            ScanResult alone = ChunkedScan.run(RandomScans.tokens(packed, starts[s], starts[s + 1]), 16);
            double[] part =
                    Arrays.copyOfRange(widened(together.y()), starts[s] * whole.inner(), starts[s + 1] * whole.inner());
            assertThat(relative(widened(alone.y()), part)).isLessThan(1e-6);
            double[] state = Arrays.copyOfRange(
                    widened(together.sequenceStates().orElseThrow()),
                    s * whole.stateSize(),
                    (s + 1) * whole.stateSize());
            assertThat(relative(widened(alone.finalState()), state)).isLessThan(1e-6);
        }
    }

    @Test
    void continuingFromAStateGivesOneRun() {
        ScanProblem whole = RandomScans.plain(Cases.random(6), new ScanShape(1, 40, 4, 3, 2, 5));
        ScanResult once = ChunkedScan.run(whole, 8);
        ScanResult first = ChunkedScan.run(RandomScans.tokens(whole, 0, 17), 8);
        ScanResult second = ChunkedScan.run(RandomScans.tokens(whole, 17, 40).withInitialState(first.finalState()), 8);
        assertThat(relative(widened(second.finalState()), widened(once.finalState())))
                .isLessThan(1e-6);
    }

    @Test
    void sequenceIdsThatDecreaseAreRefusedAndEqualOnesAreNot() {
        ScanProblem problem = RandomScans.plain(Cases.random(7), new ScanShape(1, 4, 1, 1, 1, 1));
        assertThatThrownBy(() -> problem.withSequenceIds(new int[] {0, 1, 1, 0}))
                .hasMessageContaining("sequence id 0 after 1 at token 3");
        assertThatThrownBy(() -> problem.withSequenceIds(new int[] {-1, 0, 0, 0}))
                .hasMessageContaining("must not be negative");
        assertThat(problem.withSequenceIds(new int[] {0, 0, 2, 2}).sequenceIds())
                .isPresent();
    }

    @Test
    void arraysOfTheWrongLengthAreRefusedByName() {
        ScanProblem problem = RandomScans.plain(Cases.random(8), new ScanShape(1, 4, 2, 3, 1, 1));
        assertThatThrownBy(() -> problem.withD(new float[5])).hasMessageContaining("D has 5 elements, not 6");
        assertThat(problem.withD(new float[2]).skipPerChannel()).isFalse();
        assertThat(problem.withD(new float[6]).skipPerChannel()).isTrue();
        assertThatThrownBy(() -> problem.withTimeStep(Optional.of(new float[1]), TimeStep.SOFTPLUS))
                .hasMessageContaining("dt bias");
    }
}
