package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.verify.forward.Backends;
import dev.shardsmith.verify.forward.ForwardBackend;
import org.apache.commons.cli.Option;

/** The device that forward passes run on. */
final class Device {
    static final Option FLAG = Flags.value(
            "device",
            "auto|cpu|cuda",
            "where to compute: auto takes a GPU if there is a usable one; cuda:1 the second");

    private Device() {}

    /** The backend that the options ask for; an error of kind ENVIRONMENT if it cannot be used here. */
    static ForwardBackend open(Arguments line) throws UsageException, CheckpointException {
        String wanted = line.value("device").orElse("auto");
        if (!wanted.matches("auto|cpu|cuda(:[0-9]{1,3})?")) {
            throw Arguments.wrong("device", wanted, "auto, cpu, cuda or cuda:N");
        }
        try {
            return Backends.layers(wanted);
        } catch (IllegalStateException unusable) {
            throw CheckpointException.of(CheckpointException.Kind.ENVIRONMENT, "", unusable.getMessage())
                    .withHint("--device cpu; 'shardsmith doctor' shows the devices");
        }
    }

    /** Gives the device back. */
    static void close(ForwardBackend backend) {
        try {
            backend.close();
        } catch (Exception failure) {
            // AutoCloseable may throw anything; our backends throw nothing checked.
            throw failure instanceof RuntimeException ours ? ours : new IllegalStateException(failure);
        }
    }
}
