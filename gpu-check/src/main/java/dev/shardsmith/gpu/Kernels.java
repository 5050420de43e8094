package dev.shardsmith.gpu;

import dev.shardsmith.formats.CheckpointException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** The kernels of one loaded image, by name. */
final class Kernels {
    /** Above this a function must be told before it may have so much shared memory. */
    private static final int PLAIN_SHARED_BYTES = 48 * 1024;

    private final Driver driver;
    private final KernelImage image;
    private final Driver.Handle module;
    private final Map<String, Driver.Handle> functions = new ConcurrentHashMap<>();

    Kernels(Driver driver, KernelImage image) throws CheckpointException {
        this.driver = driver;
        this.image = image;
        this.module = driver.loadModule(image.read());
    }

    KernelImage image() {
        return image;
    }

    /** Starts a kernel on the default stream. */
    void launch(String name, Driver.Grid grid, int block, Argument... arguments) throws CheckpointException {
        launch(name, grid, block, 0, arguments);
    }

    /** Starts a kernel on a stream. */
    void launchOn(Driver.Handle stream, String name, Driver.Grid grid, int block, Argument... arguments)
            throws CheckpointException {
        launchOn(stream, name, grid, block, 0, arguments);
    }

    /** Starts a kernel that asks for shared memory of its own. */
    void launch(String name, Driver.Grid grid, int block, int sharedBytes, Argument... arguments)
            throws CheckpointException {
        launchOn(Driver.DEFAULT_STREAM, name, grid, block, sharedBytes, arguments);
    }

    private void launchOn(
            Driver.Handle stream, String name, Driver.Grid grid, int block, int sharedBytes, Argument... arguments)
            throws CheckpointException {
        if (grid.x() < 1 || grid.y() < 1 || grid.z() < 1) {
            return;
        }
        if (grid.y() > Driver.Grid.LIMIT || grid.z() > Driver.Grid.LIMIT) {
            throw new IllegalArgumentException(name + " with a grid of " + grid);
        }
        Driver.Handle function = functions.get(name);
        if (function == null) {
            function = driver.function(module, name);
            if (sharedBytes > PLAIN_SHARED_BYTES) {
                driver.allowShared(function, sharedBytes);
            }
            functions.put(name, function);
        }
        driver.launch(function, grid, block, sharedBytes, List.of(arguments), stream);
    }
}
