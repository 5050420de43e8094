package dev.shardsmith.formats.pickle;

import com.sun.management.OperatingSystemMXBean;
import dev.shardsmith.formats.ByteSource;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;

/** Times the reading of pickles, for {@code bench/unpickle.sh}. */
public final class UnpickleTimes {
    private static final int TIMES = 5;

    private UnpickleTimes() {}

    /** Prints for each file its name and the least processor time and wall time of five readings, and those of the first. */
    public static void main(String[] files) throws IOException {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        for (String file : files) {
            byte[] pickle = Files.readAllBytes(Path.of(file));
            double[] first = null;
            double[] least = {Double.MAX_VALUE, Double.MAX_VALUE};
            for (int i = 0; i < TIMES; i++) {
                long processor = system.getProcessCpuTime();
                long wall = System.nanoTime();
                PickleReader.read(ByteSource.of(file, pickle));
                double[] took = {(system.getProcessCpuTime() - processor) / 1e9, (System.nanoTime() - wall) / 1e9};
                first = first == null ? took : first;
                least[0] = Math.min(least[0], took[0]);
                least[1] = Math.min(least[1], took[1]);
            }
            String name = Path.of(file).getFileName().toString().replace(".pkl", "");
            System.out.printf(Locale.ROOT, "%s %.3f %.3f %.3f %.3f%n", name, least[0], least[1], first[0], first[1]);
        }
    }
}
