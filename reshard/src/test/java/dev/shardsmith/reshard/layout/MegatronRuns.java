package dev.shardsmith.reshard.layout;

import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.rule.Glob;
import dev.shardsmith.reshard.sample.SampleModel;
import dev.shardsmith.reshard.sample.SampleSpec;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;

/** Conversions from folder to folder, each into a new one. */
record MegatronRuns(Path folder) {
    /** Leave for models of which a test has a few tensors only. */
    static final List<Glob> PARTS = List.of(Glob.of("*"));

    /** Writes a sample. */
    Path sample(SampleSpec spec, Consumer<ConversionOptions.Builder> change) throws IOException {
        try (ModelView view = SampleModel.of(spec)) {
            return write(view, change);
        }
    }

    /** Converts a checkpoint. */
    Path convert(Path from, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        change.accept(options);
        try (ModelView view = Checkpoints.open(from, OpenOptions.defaults().withRules(options.rules))) {
            return write(view, change);
        }
    }

    /** Converts an open checkpoint. */
    Path write(ModelView view, Consumer<ConversionOptions.Builder> change) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        change.accept(options);
        Path out = Files.createTempDirectory(folder, "run").resolve("out");
        PlanExecutor.execute(Conversion.plan(view, options.build()), out, ExecutionOptions.defaults());
        return out;
    }

    /** Opens a checkpoint. */
    static ModelView open(Path root) throws IOException {
        return Checkpoints.open(root, OpenOptions.defaults());
    }

    /** Shape and digest of every logical tensor. */
    static Map<String, String> digests(Path root) throws IOException {
        try (ModelView view = open(root)) {
            Map<String, String> digests = new TreeMap<>();
            for (LogicalTensor tensor : view.tensors().values()) {
                digests.put(tensor.name(), tensor.shape().toString().replace(" ", "") + Tensors.sha256(tensor));
            }
            return digests;
        }
    }
}
