package dev.shardsmith.cli;

import com.fasterxml.jackson.core.JsonGenerator;
import dev.shardsmith.cli.terminal.Count;
import dev.shardsmith.cli.terminal.Ink;
import dev.shardsmith.cli.terminal.ProgressMeter;
import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.digest.CheckpointManifest;
import dev.shardsmith.verify.digest.FileEntry;
import dev.shardsmith.verify.digest.ManifestCheck;
import dev.shardsmith.verify.digest.ManifestFinding;
import dev.shardsmith.verify.digest.TensorEntry;
import dev.shardsmith.verify.digest.UnequalCopy;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.commons.cli.Options;

/** {@code shardsmith manifest CKPT}: digests of all tensors, to be kept, and to be checked later. */
final class ManifestCommand implements Command {
    private static final int MOST_FINDINGS = 50;
    private static final int MOST_WARNINGS = 20;

    @Override
    public String name() {
        return "manifest";
    }

    @Override
    public String summary() {
        return "write digests of all tensors, or check a checkpoint against them";
    }

    @Override
    public String description() {
        return "Computes the SHA-256 of every logical tensor, the same for every layout of one model, and sums of every "
                + "block of the files. -o keeps them in a file; --check compares a checkpoint with such a file and says "
                + "which tensor, file and bytes changed.";
    }

    @Override
    public List<String> operands() {
        return List.of("CKPT");
    }

    @Override
    public Options options() {
        return Flags.report(
                Flags.output("FILE", "write the manifest to this file"),
                Flags.value("check", "FILE", "check the checkpoint against this manifest"),
                Flags.force(),
                Flags.workers("threads"));
    }

    @Override
    public List<Example> examples() {
        return List.of(
                new Example("shardsmith manifest samples/hybrid-tp2-pp2 -o /tmp/hybrid.manifest", "Keep digests"),
                new Example(
                        "shardsmith manifest --check /tmp/hybrid.manifest samples/hybrid-tp2-pp2",
                        "See whether anything rotted"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        Optional<Path> check = line.file("check");
        Optional<WholeFile> file = line.output("output");
        if (check.isPresent() && file.isPresent()) {
            throw new UsageException("-o and --check contradict each other; give one of them");
        }
        if (check.isEmpty() && file.isEmpty() && !line.has("json")) {
            throw new UsageException("say where the manifest shall go: -o FILE, or --json");
        }
        int workers = line.workers();
        return check.isPresent() ? check(check.get(), workers, line, out) : make(file, workers, line, out);
    }

    private ExitCode make(Optional<WholeFile> file, int workers, Arguments line, Out out)
            throws UsageException, IOException {
        CheckpointManifest manifest;
        try (ModelView view = Opening.whole(line.path(0), line, out);
                ProgressMeter meter = out.progress("digest", bytes(view))) {
            manifest = CheckpointManifest.of(view, workers, meter::advance);
            warn(UnequalCopy.of(view.tensors().values(), workers), out);
        }
        if (file.isPresent()) {
            manifest.write(file.get());
        }
        if (line.has("json")) {
            out.json(name(), ExitCode.OK.status(), json -> write(json, manifest));
        } else {
            out.line("%s and %s: %s"
                    .formatted(
                            Count.of(manifest.tensors().size(), "tensor"),
                            Count.of(manifest.files().size(), "file"),
                            file.orElseThrow().path()));
        }
        return ExitCode.OK;
    }

    /** The digests are of the tensors: what other ranks hold instead is not in the manifest. */
    private static void warn(List<UnequalCopy> copies, Out out) {
        for (UnequalCopy copy : copies.subList(0, Math.min(MOST_WARNINGS, copies.size()))) {
            out.warn("the copy of %s %s in %s differs from the tensor, whose digest the manifest has"
                    .formatted(
                            copy.tensor(),
                            copy.part(),
                            copy.file().map(Path::toString).orElse("memory")));
        }
        if (copies.size() > MOST_WARNINGS) {
            out.warn("%d more copies differ from their tensors; inspect --stats names them"
                    .formatted(copies.size() - MOST_WARNINGS));
        }
    }

    private ExitCode check(Path file, int workers, Arguments line, Out out) throws UsageException, IOException {
        CheckpointManifest manifest = CheckpointManifest.read(file);
        ManifestCheck check = ManifestCheck.of(manifest, line.path(0));
        List<ManifestFinding> ofFiles = check.checkFiles(workers);
        if (check.hasOtherFiles()) {
            out.note("the files are not those of the manifest: the tensors alone are checked");
        }
        List<ManifestFinding> findings = new ArrayList<>();
        try (ModelView view = Opening.whole(line.path(0), line, out);
                ProgressMeter meter = out.progress("check", bytes(view))) {
            findings.addAll(check.together(ofFiles, check.checkTensors(view, ofFiles, workers, meter::advance)));
        } catch (CheckpointException unreadable) {
            // The damaged blocks say more than the error that they cause.
            if (ofFiles.isEmpty()) {
                throw unreadable;
            }
            findings.addAll(ofFiles);
            findings.add(ManifestFinding.unreadable("the checkpoint cannot be opened: " + unreadable.problem()));
        }
        ExitCode exit = ExitCode.answer(findings.isEmpty());
        if (line.has("json")) {
            out.json(name(), exit.status(), json -> write(json, findings));
        } else {
            findings.stream()
                    .limit(MOST_FINDINGS)
                    .forEach(finding -> out.paragraph(finding.code().id() + ": " + finding.message()));
            if (findings.size() > MOST_FINDINGS) {
                out.line("and %d more; --json lists all".formatted(findings.size() - MOST_FINDINGS));
            }
            out.line(
                    findings.isEmpty()
                            ? "%s: %s as in the manifest"
                                    .formatted(
                                            out.ink(Ink.GREEN, "same"),
                                            Count.of(manifest.tensors().size(), "tensor"))
                            : "%s: %s".formatted(out.ink(Ink.RED, "different"), Count.of(findings.size(), "finding")));
        }
        return exit;
    }

    private static long bytes(ModelView view) {
        return view.tensors().values().stream().mapToLong(LogicalTensor::bytes).sum();
    }

    private static void write(JsonGenerator json, CheckpointManifest manifest) throws IOException {
        json.writeArrayFieldStart("tensors");
        for (TensorEntry tensor : manifest.tensors()) {
            json.writeStartObject();
            json.writeStringField("name", tensor.name());
            JsonParts.shape(json, "shape", tensor.shape());
            json.writeStringField("dtype", tensor.dtype());
            json.writeStringField("sha256", tensor.sha256());
            if (tensor.summary().isPresent()) {
                TensorEntry.Summary summary = tensor.summary().get();
                json.writeObjectFieldStart("statistics");
                JsonParts.real(json, "min", summary.min());
                JsonParts.real(json, "max", summary.max());
                JsonParts.real(json, "mean", summary.mean());
                JsonParts.real(json, "std", summary.std());
                json.writeNumberField("zeros", summary.zeros());
                json.writeNumberField("nans", summary.nans());
                json.writeNumberField("infinities", summary.infinities());
                json.writeEndObject();
            }
            json.writeEndObject();
        }
        json.writeEndArray();
        json.writeArrayFieldStart("files");
        for (FileEntry file : manifest.files()) {
            json.writeStartObject();
            json.writeStringField("path", file.path());
            json.writeNumberField("size", file.size());
            json.writeEndObject();
        }
        json.writeEndArray();
    }

    private static void write(JsonGenerator json, List<ManifestFinding> findings) throws IOException {
        json.writeBooleanField("same", findings.isEmpty());
        json.writeArrayFieldStart("findings");
        for (ManifestFinding finding : findings) {
            json.writeStartObject();
            json.writeStringField("code", finding.code().id());
            json.writeStringField("tensor", finding.tensor());
            json.writeStringField("file", finding.file());
            if (finding.length() > 0) {
                json.writeNumberField("offset", finding.offset());
                json.writeNumberField("length", finding.length());
            }
            json.writeStringField("message", finding.message());
            json.writeEndObject();
        }
        json.writeEndArray();
    }
}
