package dev.shardsmith.gpu;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Availability;
import dev.shardsmith.verify.forward.ScanBackend;
import java.util.List;
import java.util.ServiceLoader;
import org.junit.jupiter.api.Test;

final class GpuReportTest {
    private final FakeDriver driver = new FakeDriver();

    private Availability availability() {
        return new GpuBackend(() -> driver, 0).availability();
    }

    @Test
    void aCardIsDescribedInOneLine() {
        assertThat(availability())
                .isEqualTo(Availability.on(
                        "Fake H200, 153600 MiB, compute capability 9.0, kernels-sm90a.cubin, CUDA 13.0"));
    }

    @Test
    void hopperUnderAnOlderDriverTakesWhatThatDriverCompiles() {
        driver.version = 12_090;
        assertThat(availability().detail()).contains("kernels-sm90a.ptx, CUDA 12.9");
        driver.version = 11_080;
        assertThat(availability().detail()).contains("kernels-compute80.ptx, CUDA 11.8");
    }

    @Test
    void cardsAfterHopperTakeTheImageThatRunsEverywhere() {
        driver.cards = List.of(new Driver.Card(0, "Next", 10, 0, 148, 232_448, 192L << 30));
        assertThat(availability().detail()).contains("kernels-compute80.ptx");
    }

    @Test
    void anOldDriverIsNamed() {
        driver.version = 11_040;
        assertThat(availability())
                .isEqualTo(Availability.missing("the NVIDIA driver serves CUDA 11.4; 11.8 or newer is needed"));
    }

    @Test
    void anOldCardIsNamed() {
        driver.cards = List.of(new Driver.Card(0, "Turing", 7, 5, 40, 65_536, 16L << 30));
        assertThat(availability())
                .isEqualTo(Availability.missing("Turing has compute capability 7.5; 8.0 or newer is needed"));
    }

    @Test
    void noCardIsSaid() {
        driver.cards = List.of();
        assertThat(availability()).isEqualTo(Availability.missing("the NVIDIA driver sees no card"));
        assertThat(GpuReport.of(() -> driver).driver()).isEqualTo("13.0");
    }

    @Test
    void noDriverIsSaid() {
        Availability found = new GpuBackend(
                        () -> {
                            throw CheckpointException.of(
                                    CheckpointException.Kind.ENVIRONMENT, "", "no NVIDIA driver on this machine: x");
                        },
                        0)
                .availability();
        assertThat(found).isEqualTo(Availability.missing("no NVIDIA driver on this machine: x"));
    }

    @Test
    void thisMachineAnswersWithoutThrowing() {
        ScanBackend backend = ServiceLoader.load(ScanBackend.class).findFirst().orElseThrow();
        assertThat(backend).isInstanceOf(GpuBackend.class);
        assertThat(backend.name()).isEqualTo("cuda");
        assertThat(backend.availability().detail()).isNotEmpty().doesNotContain("\n");
        assertThat(backend.availability()).isEqualTo(new GpuBackend().availability());
    }

    @Test
    void theSecondCardIsAskedForByNumber() {
        GpuBackend second = GpuBackend.onCard(1);
        assertThat(second.name()).isEqualTo("cuda:1");
        assertThat(new GpuBackend(() -> driver, 0).onDevice(1).orElseThrow().name())
                .isEqualTo("cuda:1");
        assertThat(new GpuBackend(() -> driver, 1).availability())
                .isEqualTo(Availability.missing("there is no card 1"));
    }
}
