package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.io.IOException;
import java.io.InputStream;

/** The compiled kernels that the jar carries, best first. */
enum KernelImage {
    /** For Hopper alone, as machine code: the driver has nothing to compile. */
    SM90A_CODE("kernels-sm90a.cubin", 13_000) {
        @Override
        boolean runsOn(int major, int minor) {
            return SM90A.runsOn(major, minor);
        }
    },
    /** For Hopper alone: its warpgroup instructions exist on no other card, older or newer. */
    SM90A("kernels-sm90a.ptx", 12_000) {
        @Override
        boolean runsOn(int major, int minor) {
            return major == 9 && minor == 0;
        }
    },
    /** For every card from Ampere on. */
    COMPUTE80("kernels-compute80.ptx", 11_080) {
        @Override
        boolean runsOn(int major, int minor) {
            return major >= 8;
        }
    };

    private final String resource;
    private final int oldestDriver;

    KernelImage(String resource, int oldestDriver) {
        this.resource = resource;
        this.oldestDriver = oldestDriver;
    }

    /** The resource's name. */
    String resource() {
        return resource;
    }

    /** The oldest CUDA version whose driver reads this image: 12000 for 12.0. */
    int oldestDriver() {
        return oldestDriver;
    }

    abstract boolean runsOn(int major, int minor);

    /**
     * The best image for a card under a driver.
     *
     * @throws CheckpointException if the card or the driver is too old
     */
    static KernelImage pick(Driver.Card card, int driver) throws CheckpointException {
        for (KernelImage image : values()) {
            if (image.runsOn(card.major(), card.minor()) && driver >= image.oldestDriver) {
                return image;
            }
        }
        String problem = card.major() < 8
                ? "%s has compute capability %d.%d; 8.0 or newer is needed"
                        .formatted(card.name(), card.major(), card.minor())
                : "the NVIDIA driver serves CUDA %s; %s or newer is needed"
                        .formatted(version(driver), version(COMPUTE80.oldestDriver));
        throw CheckpointException.of(CheckpointException.Kind.ENVIRONMENT, "", problem);
    }

    /** 12.6 for 12060. */
    static String version(int driver) {
        return driver / 1000 + "." + driver % 1000 / 10;
    }

    /** Its bytes: text for PTX. */
    byte[] read() {
        try (InputStream in = KernelImage.class.getResourceAsStream(resource)) {
            if (in == null) {
                throw new IllegalStateException("the jar lacks " + resource);
            }
            return in.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException("the jar's " + resource + " cannot be read", e);
        }
    }
}
