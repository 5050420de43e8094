package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Availability;
import java.util.ArrayList;
import java.util.List;

/**
 * What there is of NVIDIA drivers and cards on this machine.
 *
 * @param driver the newest CUDA version that the driver serves, like 13.0; empty without a driver
 * @param cards one line per card: name, memory, compute capability, and which kernels it runs or why none
 * @param problem why nothing can be used; empty if something can
 */
public record GpuReport(String driver, List<String> cards, String problem) {
    private static final String UNUSABLE = "not usable: ";

    /** Looks at this machine; never throws. */
    public static GpuReport find() {
        return of(JCudaDriverCalls::start);
    }

    static GpuReport of(GpuBackend.DriverSource source) {
        List<String> cards = new ArrayList<>();
        String version = "";
        try {
            Driver driver = source.get();
            version = KernelImage.version(driver.version());
            int count = driver.cards();
            for (int ordinal = 0; ordinal < count; ordinal++) {
                cards.add(line(driver, driver.card(ordinal)));
            }
            return new GpuReport(version, List.copyOf(cards), count == 0 ? "the NVIDIA driver sees no card" : "");
        } catch (CheckpointException e) {
            return new GpuReport(version, List.copyOf(cards), e.problem());
        }
    }

    private static String line(Driver driver, Driver.Card card) throws CheckpointException {
        String kernels;
        try {
            kernels = KernelImage.pick(card, driver.version()).resource();
        } catch (CheckpointException e) {
            kernels = UNUSABLE + e.problem();
        }
        return "%s, %d MiB, compute capability %d.%d, %s"
                .formatted(card.name(), card.memory() >> 20, card.major(), card.minor(), kernels);
    }

    /** Whether a card can be used, in one line. */
    Availability availability(int ordinal) {
        if (ordinal >= cards.size()) {
            return Availability.missing(problem.isEmpty() ? "there is no card " + ordinal : problem);
        }
        String card = cards.get(ordinal);
        int unusable = card.indexOf(UNUSABLE);
        return unusable < 0
                ? Availability.on(card + ", CUDA " + driver)
                : Availability.missing(card.substring(unusable + UNUSABLE.length()));
    }
}
