package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Activation;
import dev.shardsmith.verify.forward.AttentionShape;
import dev.shardsmith.verify.forward.DeviceArray;
import dev.shardsmith.verify.forward.Norm;
import dev.shardsmith.verify.forward.Rotary;
import dev.shardsmith.verify.forward.ScanProblem;
import dev.shardsmith.verify.forward.ScanShape;
import dev.shardsmith.verify.forward.TimeStep;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** What is launched, with which grids and arguments, against a driver that has no card. */
final class LaunchGeometryTest {
    private final FakeDriver driver = new FakeDriver();
    private final GpuBackend backend = new GpuBackend(() -> driver, 0);

    private static ScanProblem problem(int batch, int length, int heads, int headDim, int groups, int state) {
        ScanShape shape = new ScanShape(batch, length, heads, headDim, groups, state);
        return ScanProblem.of(
                shape,
                new float[shape.tokens() * shape.inner()],
                new float[shape.tokens() * heads],
                new float[heads],
                new float[shape.tokens() * shape.groupState()],
                new float[shape.tokens() * shape.groupState()]);
    }

    private List<String> names() {
        return driver.launches.stream().map(FakeDriver.Launch::name).toList();
    }

    private FakeDriver.Launch launch(String name) {
        return driver.launches.stream()
                .filter(launch -> launch.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void exactScanRunsInFiveLaunches() {
        backend.scan(problem(2, 300, 6, 80, 3, 160));
        assertThat(names())
                .containsExactly(
                        "scan_decay_f32", "scan_scores_f32", "scan_states_f32", "scan_carry", "scan_output_f32");
        assertThat(driver.launches.stream().map(FakeDriver.Launch::grid))
                .containsExactly(
                        new Driver.Grid(3, 6, 2),
                        new Driver.Grid(2, 9, 2),
                        new Driver.Grid(4, 18, 2),
                        new Driver.Grid(13, 6, 2),
                        new Driver.Grid(2, 18, 2));
    }

    @Test
    void oddSizesTakeTheKernelsWithoutVectors() {
        backend.scan(problem(1, 9, 4, 6, 4, 5));
        assertThat(names())
                .containsExactly(
                        "scan_decay_f32",
                        "scan_scores_f32_any",
                        "scan_states_f32_any",
                        "scan_carry_any",
                        "scan_output_f32_any");
    }

    @Test
    void littleMemoryCutsTheSequenceIntoWindows() {
        ScanProblem problem = problem(1, 4096, 8, 64, 1, 128);
        // Inputs and results take 24 MiB, 256 MiB are kept free, a third of the rest is for scratch.
        driver.capacity = (24L + 256 + 3 * 4) << 20;
        backend.scan(problem);
        assertThat(names().stream().filter("scan_carry"::equals).count()).isBetween(2L, 32L);
        FakeDriver.Launch second = driver.launches.get(8);
        assertThat(second.name()).isEqualTo("scan_carry");
        // Its first state is the last one of the window before.
        assertThat(second.arguments().get(3)).isEqualTo(second.arguments().get(4));
        assertThat(sizes(second)[17]).isEqualTo(-1);
        assertThat(sizes(driver.launches.get(3))[17]).isZero();
        int tokens = driver.launches.stream()
                .filter(launch -> launch.name().equals("scan_output_f32"))
                .mapToInt(launch -> sizes(launch)[1])
                .sum();
        assertThat(tokens).isEqualTo(4096);
    }

    private static int[] sizes(FakeDriver.Launch launch) {
        return ((Argument.Words) launch.arguments().get(launch.arguments().size() - 1)).values();
    }

    @Test
    void aLargeScanGoesInTwoHalvesOfItsHeads() {
        backend.scan(problem(1, 4096, 80, 64, 1, 128));
        assertThat(names())
                .containsExactly(
                        "scan_decay_f32",
                        "scan_states_f32",
                        "scan_scores_f32",
                        "scan_states_f32",
                        "scan_carry",
                        "scan_output_f32",
                        "scan_carry",
                        "scan_output_f32");
        assertThat(launch("scan_states_f32").grid()).isEqualTo(new Driver.Grid(1, 32 * 40, 1));
        FakeDriver.Launch first = driver.launches.get(5);
        FakeDriver.Launch second = driver.launches.get(7);
        assertThat(address(second, 0) - address(first, 0)).isEqualTo(40 * 64 * Float.BYTES);
        assertThat(address(second, 2)).as("one group: the scores of both").isEqualTo(address(first, 2));
        assertThat(address(second, 6) - address(first, 6)).isEqualTo(40L * 32 * 64 * 128 * Float.BYTES);
        assertThat(first.stream()).isNotEqualTo(second.stream()).isNotEqualTo(Driver.DEFAULT_STREAM);
        assertThat(driver.launches.get(4).stream())
                .isEqualTo(driver.launches.get(6).stream())
                .isNotEqualTo(first.stream());
    }

    @Test
    void halvesOfSeveralGroupsHaveScoresOfTheirOwn() {
        backend.scan(problem(1, 4096, 80, 64, 8, 128));
        List<FakeDriver.Launch> scores = driver.launches.stream()
                .filter(launch -> launch.name().equals("scan_scores_f32"))
                .toList();
        assertThat(scores).hasSize(2);
        assertThat(scores.get(0).grid()).isEqualTo(new Driver.Grid(2, 32 * 4, 1));
        assertThat(address(scores.get(1), 0) - address(scores.get(0), 0)).isEqualTo(4 * 128 * Float.BYTES);
        assertThat(address(scores.get(1), 2) - address(scores.get(0), 2)).isEqualTo(4L * 32 * 128 * 128 * Float.BYTES);
    }

    @Test
    void headsOfOneGroupAreNotParted() {
        backend.scan(problem(1, 4096, 81, 16, 3, 16));
        backend.scan(problem(2, 4096, 80, 16, 1, 16));
        assertThat(names().stream().filter("scan_output_f32"::equals).count()).isEqualTo(2);
    }

    private static long address(FakeDriver.Launch launch, int argument) {
        return ((Argument.Address) launch.arguments().get(argument)).value();
    }

    @Test
    void bfloat16OfTheUsualSizesTakesTheWarpgroupKernels() {
        backend.scan(problem(1, 4096, 20, 64, 2, 128), ScanPrecision.BFLOAT16);
        assertThat(names()).containsSubsequence("hopper_decay", "hopper_states", "hopper_scan", "to_float32");
        FakeDriver.Launch scan = launch("hopper_scan");
        // Ten pairs of heads, and as many segments as keep 132 multiprocessors at one block each.
        assertThat(scan.grid()).isEqualTo(new Driver.Grid(10, 11, 1));
        assertThat(scan.sharedBytes()).isEqualTo(218_112).isLessThan(FakeDriver.H200.sharedBytes());
        assertThat(launch("hopper_states").grid()).isEqualTo(new Driver.Grid(10, 20, 1));
        assertThat(driver.shared.values()).containsExactly(102_912, 218_112);
    }

    @Test
    void otherBfloat16ScansTakeTheOrdinaryTensorCores() {
        backend.scan(problem(1, 256, 4, 32, 1, 128), ScanPrecision.BFLOAT16);
        assertThat(names()).contains("scan_output_bf16").noneMatch(name -> name.startsWith("hopper"));
    }

    @Test
    void olderCardsTakeTheOrdinaryTensorCores() {
        driver.cards = List.of(new Driver.Card(0, "Fake A100", 8, 0, 108, 166_912, 80L << 30));
        backend.scan(problem(1, 256, 4, 64, 1, 128), ScanPrecision.BFLOAT16);
        assertThat(names()).contains("scan_output_bf16").noneMatch(name -> name.startsWith("hopper"));
    }

    @Test
    void segmentsCoverEveryChunkOnce() {
        for (int length : new int[] {1, 64, 65, 1000, 4096, 32_768}) {
            for (int heads : new int[] {1, 7, 80, 300}) {
                ScanShape shape = new ScanShape(1, length, heads, 64, 1, 128);
                HopperScan.Cut cut = HopperScan.Cut.of(shape, 132);
                int perSegment = cut.partChunks() * 2;
                assertThat(cut.segments() * perSegment).isGreaterThanOrEqualTo(cut.chunks());
                assertThat((cut.segments() - 1) * perSegment).isLessThan(cut.chunks());
            }
        }
    }

    @Test
    void everyLaunchPassesWhatItsKernelDeclares() {
        everyOperation();
        for (KernelImage image : List.of(KernelImage.SM90A, KernelImage.COMPUTE80)) {
            PtxEntries entries = PtxEntries.of(image);
            for (FakeDriver.Launch launch : driver.launches) {
                if (image == KernelImage.SM90A || !launch.name().startsWith("hopper")) {
                    assertThat(launch.block())
                            .as("threads of " + launch.name())
                            .isEqualTo(entries.threads().getOrDefault(launch.name(), launch.block()));
                    assertThat(PtxEntries.bytesOf(launch.arguments()))
                            .as(launch.name())
                            .isEqualTo(entries.parameterBytes().get(launch.name()));
                }
            }
        }
        assertThat(names().stream().distinct()).hasSizeGreaterThan(25);
    }

    private void everyOperation() {
        backend.scan(problem(1, 9, 4, 6, 4, 5));
        backend.scan(problem(1, 9, 4, 8, 4, 8));
        backend.scan(problem(1, 9, 4, 6, 4, 5), ScanPrecision.BFLOAT16);
        backend.scan(problem(1, 9, 4, 8, 4, 8), ScanPrecision.BFLOAT16);
        backend.scan(problem(1, 900, 4, 64, 4, 128), ScanPrecision.BFLOAT16);
        ScanProblem gated = problem(1, 900, 4, 64, 4, 128);
        backend.scan(gated.withGate(gated.x()), ScanPrecision.BFLOAT16);
        DeviceArray x = backend.upload(new float[64]);
        backend.linear(x, x, Optional.of(x), 8, 8, 8);
        backend.linear(x, x, Optional.empty(), 9, 7, 7);
        backend.multiplyWide(new double[64], x, new float[8], 8, 8, 8);
        backend.concat(new DeviceArray[] {x, backend.columns(x, 8, 8, 2, 3)}, 8, new int[] {8, 3});
        backend.add(x, x, -1);
        backend.activate(x, Activation.GELU);
        backend.gate(x, x, Activation.SILU);
        backend.normalize(x, Norm.rms(1e-5f), Optional.of(x), Optional.empty(), 8, 8, 4);
        backend.convolve(x, x, Optional.of(x), 1, 8, 8, 4, Activation.SILU);
        backend.rotate(x, new Rotary(4, 10_000, false), 1, 4, 2, 8);
        backend.attend(x, x, x, new AttentionShape(1, 4, 2, 2, 8), 1, true);
        backend.rowMaxima(x, 8, 8);
        backend.rowNorms(x, 8, 8);
        backend.compare(x, x, 0.5f);
        backend.compare(x, x, x);
        backend.scan(new ScanShape(1, 2, 4, 4, 2, 4), TimeStep.SOFTPLUS, x, x, x, x, x, Optional.of(x), Optional.of(x));
    }

    @Test
    void aWideProductHasABlockForSixteenRowsOfThirtyTwoOutputs() {
        DeviceArray weight = backend.upload(new float[70 * 9]);
        assertThat(backend.multiplyWide(new double[17 * 9], weight, new float[0], 17, 9, 70))
                .hasSize(17 * 70);
        assertThat(launch("linear_wide").grid()).isEqualTo(new Driver.Grid(3, 2, 1));
        assertThat(address(launch("linear_wide"), 2)).as("no bias").isZero();
        long used = driver.used();
        backend.multiplyWide(new double[17 * 9], weight, new float[0], 17, 9, 70);
        assertThat(driver.used()).as("its memory is used again").isEqualTo(used);
    }

    @Test
    void aFailingCallIsNamed() {
        driver.failing.add("cuLaunchKernel");
        DeviceArray x = backend.upload(new float[] {1});
        assertThatThrownBy(() -> backend.add(x, x, 1))
                .isInstanceOfSatisfying(
                        GpuFailure.class,
                        failure ->
                                assertThat(failure.getCause().kind()).isEqualTo(CheckpointException.Kind.ENVIRONMENT))
                .hasMessageContaining("cuLaunchKernel failed with code 719");
    }

    @Test
    void arraysOfAnotherBackendAreRefused() {
        DeviceArray x = backend.upload(new float[] {1});
        GpuBackend other = new GpuBackend(FakeDriver::new, 0);
        other.upload(new float[] {1});
        assertThatThrownBy(() -> other.download(x)).isInstanceOf(IllegalArgumentException.class);
    }
}
