package dev.shardsmith.verify.forward;

import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;

/** The backends of this installation: the processor, and what {@link ServiceLoader} finds. */
public final class Backends {
    private Backends() {}

    /** All of them, usable or not, the processor last. */
    public static List<ScanBackend> all() {
        List<ScanBackend> found = new ArrayList<>();
        ServiceLoader.load(ScanBackend.class).forEach(found::add);
        found.add(new CpuBackend());
        return found;
    }

    /**
     * The backend that runs layers for a {@code --device} value: {@code auto} takes the first usable one.
     *
     * @throws IllegalStateException if there is none of that name or it is not usable; the message says why
     */
    public static ForwardBackend layers(String device) {
        StringBuilder reasons = new StringBuilder();
        for (ScanBackend backend : all()) {
            if (backend instanceof ForwardBackend layers && (device.equals("auto") || device.equals(backend.name()))) {
                Availability availability = backend.availability();
                if (availability.usable()) {
                    return layers;
                }
                reasons.append("; ").append(backend.name()).append(": ").append(availability.detail());
            }
        }
        throw new IllegalStateException("no usable device '" + device + "'" + reasons);
    }
}
