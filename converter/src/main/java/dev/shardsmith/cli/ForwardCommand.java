package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.family.CheckpointModels;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.NpyFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.commons.cli.Options;

/** {@code shardsmith forward CKPT --input IDS.npy -o LOGITS.npy}: runs the whole model on token ids. */
final class ForwardCommand implements Command {
    @Override
    public String name() {
        return "forward";
    }

    @Override
    public String summary() {
        return "run the whole model on token ids";
    }

    @Override
    public String description() {
        return "Runs the whole model on token ids and writes the logits, as NumPy files. The weights of one layer at a time "
                + "are in memory. Ids are whole numbers of shape [batch, length] or [length]; logits are float32 of "
                + "[batch, length, vocabulary].";
    }

    @Override
    public List<String> operands() {
        return List.of("CKPT");
    }

    @Override
    public Options options() {
        Options options = Flags.of(
                Flags.value("input", "IDS.npy", "token ids"),
                Flags.output("LOGITS.npy", "where the logits go"),
                Flags.flag("force", "replace the output if it exists"),
                Flags.value("dtype", "fp32", "precision; fp32 with sums in at least that"),
                Device.FLAG,
                Flags.json());
        Opening.FLAGS.forEach(options::addOption);
        return options;
    }

    @Override
    public List<Example> examples() {
        return List.of(new Example(
                "shardsmith forward test-data/hf/bamba/safetensors --input test-data/hf/bamba/input_ids.npy"
                        + " -o /tmp/logits.npy",
                "Compute the logits of a prompt"));
    }

    @Override
    public ExitCode run(Arguments line, Out out) throws UsageException, IOException {
        line.required("input");
        line.required("output");
        line.choice("dtype", "fp32", List.of("fp32"));
        NpyFile ids = NpyFile.read(line.file("input").orElseThrow());
        Path output = line.file("output").orElseThrow();
        int rank = ids.shape().length;
        if (rank < 1 || rank > 2 || ids.values().length == 0) {
            throw Arguments.wrong("input", line.required("input"), "ids of shape [batch, length] or [length]");
        }
        int batch = rank == 2 ? ids.shape()[0] : 1;
        int length = ids.shape()[rank - 1];
        if (Files.exists(output) && !line.has("force")) {
            throw new UsageException("%s exists already%n  try: --force replaces it".formatted(output));
        }
        try (ModelView view = Opening.open(line.path(0), line, out)) {
            LayeredModel model = CheckpointModels.of(view, Map.of());
            int[] tokens = tokens(ids, model.vocabulary());
            float[] logits = logits(model, tokens, batch, length, line, out);
            int[] shape = {batch, length, model.vocabulary()};
            write(output, shape, logits);
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), json -> {
                    json.writeStringField("output", output.toString());
                    json.writeFieldName("shape");
                    json.writeArray(shape, 0, shape.length);
                });
            } else {
                out.line("%s  float32 [%d, %d, %d]".formatted(output, shape[0], shape[1], shape[2]));
            }
        }
        return ExitCode.OK;
    }

    private static float[] logits(LayeredModel model, int[] tokens, int batch, int length, Arguments line, Out out)
            throws UsageException, IOException {
        ForwardBackend backend = Device.open(line);
        try {
            return model.logits(backend, tokens, batch, length, (done, all) -> {});
        } finally {
            Device.close(backend);
        }
    }

    private static int[] tokens(NpyFile ids, int vocabulary) throws CheckpointException {
        int[] tokens = new int[ids.values().length];
        for (int i = 0; i < tokens.length; i++) {
            double id = ids.values()[i];
            if (id != Math.rint(id) || id < 0 || id >= vocabulary) {
                throw CheckpointException.of(
                        CheckpointException.Kind.REFUSED,
                        "--input, element " + i,
                        "%s is no token id of a vocabulary of %d rows".formatted(id, vocabulary));
            }
            tokens[i] = (int) id;
        }
        return tokens;
    }

    /** The file appears complete or not at all; a device such as {@code /dev/null} is never replaced. */
    private static void write(Path output, int[] shape, float[] logits) throws IOException {
        if (Files.exists(output) && !Files.isRegularFile(output)) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            output.toString(),
                            "this is a folder or a device, not a file")
                    .withHint("name a file for the logits");
        }
        Path absolute = output.toAbsolutePath();
        Path unfinished = absolute.resolveSibling("." + absolute.getFileName() + ".new");
        Files.deleteIfExists(unfinished);
        try {
            NpyFile.write(unfinished, shape, logits);
            Files.move(unfinished, absolute, java.nio.file.StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }
}
