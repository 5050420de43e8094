package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.ByteSize;
import dev.shardsmith.verify.forward.Availability;
import dev.shardsmith.verify.forward.Backends;
import dev.shardsmith.verify.forward.ScanBackend;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.apache.commons.cli.Options;

/** {@code shardsmith doctor}: what the machine offers, as found. */
final class DoctorCommand implements Command {
    private static final String UNKNOWN = "unknown";

    @Override
    public String name() {
        return "doctor";
    }

    @Override
    public String summary() {
        return "show Java, memory, disk, GPU and driver as found";
    }

    @Override
    public String description() {
        return "Shows what this machine offers: Java and its heap, processors, memory and its limit, free disk space, "
                + "GPU and driver. Nothing is changed. A report of a fault should contain it.";
    }

    @Override
    public List<String> operands() {
        return List.of();
    }

    @Override
    public Options options() {
        return Flags.of(Flags.json());
    }

    @Override
    public List<Example> examples() {
        return List.of(new Example("shardsmith doctor", "See what there is"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws IOException {
        Map<String, String> facts = facts(new Host(Path.of("/")));
        if (line.has("json")) {
            out.json(name(), ExitCode.OK.status(), json -> write(json, facts));
        } else {
            facts.forEach((name, fact) -> out.field(12, name, fact));
        }
        return ExitCode.OK;
    }

    private static Map<String, String> facts(Host host) throws IOException {
        Runtime runtime = Runtime.getRuntime();
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("shardsmith", Version.current());
        facts.put("java", System.getProperty("java.version") + ", " + System.getProperty("java.vendor"));
        facts.put("java home", System.getProperty("java.home"));
        facts.put("heap", "at most " + ByteSize.format(runtime.maxMemory()));
        facts.put(
                "system",
                "%s %s, %s"
                        .formatted(
                                System.getProperty("os.name"),
                                System.getProperty("os.version"),
                                System.getProperty("os.arch")));
        facts.put("processors", String.valueOf(runtime.availableProcessors()));
        facts.put(
                "memory",
                "%s, %s available%s"
                        .formatted(
                                size(host.memory("MemTotal")),
                                size(host.memory("MemAvailable")),
                                limit(host.memoryLimit())));
        facts.put("disk here", disk(Path.of("").toAbsolutePath()));
        facts.put("disk tmp", disk(Path.of(System.getProperty("java.io.tmpdir"))));
        facts.put(
                "gpu driver",
                host.nvidiaDriver().map(version -> "NVIDIA " + version).orElse("none"));
        for (ScanBackend backend : Backends.all()) {
            Availability availability = backend.availability();
            facts.put(
                    "device " + backend.name(), (availability.usable() ? "" : "not usable: ") + availability.detail());
        }
        return facts;
    }

    private static String disk(Path folder) throws IOException {
        FileStore store = Files.getFileStore(folder);
        return "%s free of %s, %s (%s)"
                .formatted(
                        ByteSize.format(store.getUsableSpace()),
                        ByteSize.format(store.getTotalSpace()),
                        store.type(),
                        folder);
    }

    private static String size(OptionalLong bytes) {
        return bytes.isPresent() ? ByteSize.format(bytes.getAsLong()) : UNKNOWN;
    }

    private static String limit(OptionalLong bytes) {
        return bytes.isPresent() ? ", limited to " + ByteSize.format(bytes.getAsLong()) : "";
    }

    private static void write(JsonGenerator json, Map<String, String> facts) throws IOException {
        json.writeObjectFieldStart("facts");
        for (Map.Entry<String, String> fact : facts.entrySet()) {
            json.writeStringField(fact.getKey(), fact.getValue());
        }
        json.writeEndObject();
    }
}
