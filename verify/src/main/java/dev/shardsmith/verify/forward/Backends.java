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
     * The backend that runs layers for a {@code --device} value: {@code auto} takes the first usable one, {@code cuda:1}
     * is device 1 of {@code cuda}.
     *
     * @throws IllegalStateException if there is none of that name or it is not usable; the message says why
     */
    public static ForwardBackend layers(String device) {
        return layers(device, all());
    }

    static ForwardBackend layers(String device, List<ScanBackend> among) {
        int colon = device.indexOf(':');
        String name = colon < 0 ? device : device.substring(0, colon);
        int number = colon < 0 ? 0 : Integer.parseInt(device.substring(colon + 1));
        StringBuilder reasons = new StringBuilder();
        for (ScanBackend first : among) {
            if (!name.equals("auto") && !name.equals(first.name())) {
                continue;
            }
            ScanBackend backend = first.onDevice(number).orElse(null);
            if (backend instanceof ForwardBackend layers) {
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
