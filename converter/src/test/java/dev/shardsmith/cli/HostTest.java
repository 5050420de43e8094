package dev.shardsmith.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class HostTest {
    @TempDir
    Path root;

    @Test
    void readsMemoryLimitAndDriver() throws IOException {
        write("proc/meminfo", "MemTotal:       24621332 kB\nMemAvailable:   23000000 kB\n");
        write("sys/fs/cgroup/memory.max", "1073741824\n");
        write(
                "proc/driver/nvidia/version",
                "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build\n");
        Host host = new Host(root);

        assertThat(host.memory("MemTotal")).hasValue(24621332L * 1024);
        assertThat(host.memory("MemAvailable")).hasValue(23000000L * 1024);
        assertThat(host.memoryLimit()).hasValue(1L << 30);
        assertThat(host.nvidiaDriver()).contains("580.95.05");
    }

    @Test
    void whatIsNotThereIsEmpty() throws IOException {
        write("sys/fs/cgroup/memory.max", "max\n");
        Host host = new Host(root);

        assertThat(host.memory("MemTotal")).isEmpty();
        assertThat(host.memoryLimit()).isEmpty();
        assertThat(host.nvidiaDriver()).isEmpty();
    }

    private void write(String file, String text) throws IOException {
        Path path = root.resolve(file);
        Files.createDirectories(path.getParent());
        Files.writeString(path, text);
    }
}
