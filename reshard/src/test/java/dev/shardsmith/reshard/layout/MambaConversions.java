package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.FilePool;
import dev.shardsmith.formats.json.Json;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.plan.Plan;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.ModelView.Layout;
import dev.shardsmith.reshard.view.OpenOptions;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.TreeMap;

/** Conversions of small models, and what can be seen of their results. */
final class MambaConversions {
    private MambaConversions() {}

    static void convert(Path from, Path to, Layout layout, int world) throws IOException {
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.to = Optional.of(layout);
        options.tensor = OptionalInt.of(world);
        convert(from, to, options);
    }

    /** Converts and returns the plan's notes. */
    static List<String> convert(Path from, Path to, ConversionOptions.Builder options) throws IOException {
        try (ModelView source = Checkpoints.open(from, OpenOptions.defaults())) {
            Plan plan = Conversion.plan(source, options.build());
            assertThat(plan.ledger().balanced()).isTrue();
            PlanExecutor.execute(plan, to, ExecutionOptions.defaults());
            return plan.notes();
        }
    }

    static Map<String, DType> types(Path path) throws IOException {
        Map<String, DType> types = new TreeMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            view.tensors().values().forEach(tensor -> types.put(tensor.name(), tensor.dtype()));
        }
        return types;
    }

    static Map<String, String> digests(Path path) throws IOException {
        Map<String, String> digests = new TreeMap<>();
        try (ModelView view = Checkpoints.open(path, OpenOptions.defaults())) {
            for (LogicalTensor tensor : view.tensors().values()) {
                digests.put(tensor.name(), tensor.dtype() + " " + tensor.shape() + " " + Tensors.sha256(tensor));
            }
        }
        return digests;
    }

    static Map<String, Object> json(Path file) throws IOException {
        try (FilePool pool = new FilePool()) {
            return Json.readObject(pool.file(file));
        }
    }
}
