package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.concurrent.atomic.AtomicInteger;

/** The real driver of this machine, but with little memory free. */
final class CappedDriver {
    private CappedDriver() {}

    /** A backend that believes to have this much for scratch, and how many windows its scans took. */
    static Session open(long scratchBytes) throws CheckpointException {
        Driver driver = JCudaDriverCalls.start();
        AtomicInteger windows = new AtomicInteger();
        Driver capped = (Driver) Proxy.newProxyInstance(
                Driver.class.getClassLoader(), new Class<?>[] {Driver.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals("freeMemory")) {
                        return (256L << 20) + scratchBytes;
                    }
                    // The carry of 64 x 128 states of four heads; nothing else has this grid.
                    if (method.getName().equals("launch") && arguments[1].equals(new Driver.Grid(8, 4, 1))) {
                        windows.incrementAndGet();
                    }
                    try {
                        return method.invoke(driver, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
        return new Session(new GpuBackend(() -> capped, 0), windows);
    }

    /** One backend on the capped driver. */
    record Session(GpuBackend backend, AtomicInteger counter) implements AutoCloseable {

        /** Launches of the carry: one per window. */
        int windows() {
            return counter.get();
        }

        @Override
        public void close() {
            backend.close();
        }
    }
}
