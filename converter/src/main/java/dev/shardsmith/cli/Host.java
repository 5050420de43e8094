package dev.shardsmith.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** What Linux says about memory and the GPU driver, read from its own files. */
final class Host {
    private static final Pattern DRIVER = Pattern.compile("\\b\\d+\\.\\d+(?:\\.\\d+)?\\b");

    private final Path root;

    /** The host whose {@code /proc} and {@code /sys} lie under {@code root}. */
    Host(Path root) {
        this.root = root;
    }

    /** A line of {@code /proc/meminfo} such as {@code MemAvailable}, in bytes. */
    OptionalLong memory(String field) {
        String prefix = field + ":";
        for (String line : text("proc/meminfo").orElse("").split("\n")) {
            if (line.startsWith(prefix)) {
                String digits = line.replaceAll("\\D", "");
                return digits.isEmpty() ? OptionalLong.empty() : OptionalLong.of(Long.parseLong(digits) * 1024);
            }
        }
        return OptionalLong.empty();
    }

    /** The memory limit of the control group, in bytes, where there is one. */
    OptionalLong memoryLimit() {
        String limit = text("sys/fs/cgroup/memory.max").orElse("max").strip();
        return limit.matches("\\d{1,18}") ? OptionalLong.of(Long.parseLong(limit)) : OptionalLong.empty();
    }

    /** The version of the NVIDIA kernel driver, where it is loaded. */
    Optional<String> nvidiaDriver() {
        Matcher matcher = DRIVER.matcher(text("proc/driver/nvidia/version").orElse(""));
        return matcher.find() ? Optional.of(matcher.group()) : Optional.empty();
    }

    private Optional<String> text(String file) {
        try {
            return Optional.of(Files.readString(root.resolve(file)));
        } catch (IOException absent) {
            return Optional.empty();
        }
    }
}
