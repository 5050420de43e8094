package dev.shardsmith.cli;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.WholeFile;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.verify.family.CheckpointModels;
import dev.shardsmith.verify.forward.ForwardBackend;
import dev.shardsmith.verify.forward.LayeredModel;
import dev.shardsmith.verify.forward.NpyFile;
import dev.shardsmith.verify.forward.StepFloor;
import dev.shardsmith.verify.forward.WideBackend;
import java.io.IOException;
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
                + "are in memory. Ids are whole numbers of shape [batch, length] or [length]; logits are float32, or "
                + "float64 with --dtype fp64, of [batch, length, vocabulary].";
    }

    @Override
    public List<String> operands() {
        return List.of("CKPT");
    }

    @Override
    public Options options() {
        return Flags.report(
                Flags.value("input", "IDS.npy", "token ids"),
                Flags.output("LOGITS.npy", "where the logits go"),
                Flags.force(),
                Flags.value(
                        "dtype",
                        "fp32|fp64",
                        "precision of the computation and of the logits; fp64 is slow and always on the processor"),
                Device.FLAG);
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
        boolean wide = line.choice("dtype", "fp32", List.of("fp32", "fp64")).equals("fp64");
        if (wide && line.value("device").orElse("auto").startsWith("cuda")) {
            throw new UsageException(
                    "--dtype fp64 computes on the processor, not on a GPU%n  try: without --device".formatted());
        }
        NpyFile ids = NpyFile.read(line.file("input").orElseThrow());
        WholeFile output = line.output("output").orElseThrow();
        int rank = ids.shape().length;
        if (rank < 1 || rank > 2 || ids.values().length == 0) {
            throw Arguments.wrong("input", line.required("input"), "ids of shape [batch, length] or [length]");
        }
        int batch = rank == 2 ? ids.shape()[0] : 1;
        int length = ids.shape()[rank - 1];
        if (output.isDevice()) {
            throw new UsageException(
                    "%s is a device, not a file%n  try: name a file for the logits".formatted(output.path()));
        }
        try (ModelView view = Opening.open(line.path(0), line, out)) {
            LayeredModel model = StepFloor.applied(CheckpointModels.of(view, Map.of()));
            int[] tokens = tokens(ids, model.vocabulary());
            int[] shape = {batch, length, model.vocabulary()};
            if (wide) {
                double[] logits = model.logitsWide(new WideBackend(), tokens, batch, length, (done, all) -> {});
                output.make(file -> NpyFile.write(file, shape, logits));
            } else {
                float[] logits = logits(model, tokens, batch, length, line);
                output.make(file -> NpyFile.write(file, shape, logits));
            }
            if (line.has("json")) {
                out.json(name(), ExitCode.OK.status(), json -> {
                    json.writeStringField("output", output.path().toString());
                    json.writeFieldName("shape");
                    json.writeArray(shape, 0, shape.length);
                });
            } else {
                out.line("%s  %s [%d, %d, %d]"
                        .formatted(output.path(), wide ? "float64" : "float32", shape[0], shape[1], shape[2]));
            }
        }
        return ExitCode.OK;
    }

    private static float[] logits(LayeredModel model, int[] tokens, int batch, int length, Arguments line)
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
}
