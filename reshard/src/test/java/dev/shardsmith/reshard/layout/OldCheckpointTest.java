package dev.shardsmith.reshard.layout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.execute.ExecutionOptions;
import dev.shardsmith.reshard.execute.PlanExecutor;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.ModelView;
import dev.shardsmith.reshard.view.OpenOptions;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Checkpoints from before Megatron's core library: nested names, rows in other orders, an optimizer in folders of its own. */
class OldCheckpointTest {
    private static final int HEADS = 4;
    private static final int CHANNELS = 2;
    private static final int HIDDEN = 8;
    private static final int ROWS = 3 * HEADS * CHANNELS;

    @TempDir
    Path folder;

    /** Row (head, part, channel) of today's order has the number 100 · head + 10 · part + channel. */
    private static int row(int head, int part, int channel) {
        return 100 * head + 10 * part + channel;
    }

    /** The rows of one rank as the versions have them, loop by loop. */
    private static int[] rows(int version, int rank, int world) {
        int own = HEADS / world;
        int[] rows = new int[ROWS / world];
        int at = 0;
        if (version == 0) {
            for (int part = 0; part < 3; part++) {
                for (int head = 0; head < own; head++) {
                    for (int channel = 0; channel < CHANNELS; channel++) {
                        rows[at++] = row(rank * own + head, part, channel);
                    }
                }
            }
        } else if (version == 1) {
            for (int head = 0; head < own; head++) {
                for (int channel = 0; channel < CHANNELS; channel++) {
                    for (int part = 0; part < 3; part++) {
                        rows[at++] = row(rank * own + head, part, channel);
                    }
                }
            }
        } else {
            for (int head = 0; head < own; head++) {
                for (int part = 0; part < 3; part++) {
                    for (int channel = 0; channel < CHANNELS; channel++) {
                        rows[at++] = row(rank * own + head, part, channel);
                    }
                }
            }
        }
        return rows;
    }

    private static int[] matrix(int[] rows, int columns) {
        int[] matrix = new int[rows.length * columns];
        for (int i = 0; i < matrix.length; i++) {
            matrix[i] = rows[i / columns] * 10 + i % columns;
        }
        return matrix;
    }

    private static int[] counting(int from, int size) {
        int[] values = new int[size];
        Arrays.setAll(values, i -> from + i);
        return values;
    }

    private static PyValue args(int world) {
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_layers", PyInt.of(1));
        fields.put("hidden_size", PyInt.of(HIDDEN));
        fields.put("num_attention_heads", PyInt.of(HEADS));
        fields.put("kv_channels", PyInt.of(CHANNELS));
        fields.put("model_parallel_size", PyInt.of(world));
        fields.put("group_query_attention", PyBool.FALSE);
        return MegatronArgs.create(fields).node();
    }

    /** A model of one layer in the nested dicts of the time. */
    private void write(Path iteration, String file, int version, boolean named, int world) throws Exception {
        for (int rank = 0; rank < world; rank++) {
            TestArchive archive = new TestArchive();
            Map<String, PyValue> encoder = new LinkedHashMap<>();
            encoder.put("layers.0.input_layernorm.weight", archive.tensor(counting(5, HIDDEN), HIDDEN));
            encoder.put(
                    "layers.0.attention.query_key_value.weight",
                    archive.tensor(matrix(rows(version, rank, world), HIDDEN), ROWS / world, HIDDEN));
            encoder.put(
                    "layers.0.attention.query_key_value.bias",
                    archive.tensor(rows(version, rank, world), ROWS / world));
            encoder.put("layers.0.attention.dense.bias", archive.tensor(counting(50, HIDDEN), HIDDEN));
            encoder.put("final_layernorm.weight", archive.tensor(counting(7, HIDDEN), HIDDEN));
            Map<String, PyValue> embedding = new LinkedHashMap<>();
            embedding.put(
                    "word_embeddings",
                    TestArchive.dict(Map.of(
                            "weight",
                            archive.tensor(
                                    counting(rank * 16 * HIDDEN / world, 16 * HIDDEN / world), 16 / world, HIDDEN))));
            Map<String, PyValue> language = new LinkedHashMap<>();
            language.put("embedding", TestArchive.dict(embedding));
            language.put("transformer", TestArchive.dict(encoder));
            Map<String, PyValue> entries = new LinkedHashMap<>();
            entries.put("args", args(world));
            if (named) {
                entries.put("checkpoint_version", new PyFloat(version));
            }
            entries.put("iteration", PyInt.of(5));
            entries.put("model", TestArchive.dict(Map.of("language_model", TestArchive.dict(language))));
            archive.write(iteration.resolve("mp_rank_%02d".formatted(rank)).resolve(file), TestArchive.dict(entries));
        }
        Files.writeString(
                iteration.resolveSibling("latest_checkpointed_iteration.txt"),
                iteration.endsWith("release") ? "release" : "5");
    }

    private static int[] values(ModelView view, String name) throws Exception {
        ByteBuffer bytes =
                ByteBuffer.wrap(Tensors.bytes(view.tensors().get(name))).order(ByteOrder.LITTLE_ENDIAN);
        int[] values = new int[bytes.remaining() / 4];
        for (int i = 0; i < values.length; i++) {
            values[i] = (int) bytes.getFloat();
        }
        return values;
    }

    @ParameterizedTest
    @CsvSource({"0,true,1", "0,true,2", "0,false,2", "1,true,1", "1,true,2", "1,true,4", "2,true,2", "3,true,2"})
    void queryKeyAndValueRowsAreReadInTodaysOrder(int version, boolean named, int world) throws Exception {
        write(folder.resolve("iter_0000005"), "model_optim_rng.pt", version, named, world);
        try (ModelView view = Checkpoints.open(folder, OpenOptions.defaults())) {
            assertThat(view.unknown()).isEmpty();
            assertThat(view.parallelism().tensor()).isEqualTo(world);
            int[] expected = rows(3, 0, 1);
            assertThat(values(view, "decoder.layers.0.self_attention.linear_qkv.bias"))
                    .isEqualTo(expected);
            assertThat(values(view, "decoder.layers.0.self_attention.linear_qkv.weight"))
                    .isEqualTo(matrix(expected, HIDDEN));
            assertThat(values(view, "embedding.word_embeddings.weight")).isEqualTo(counting(0, 16 * HIDDEN));
            assertThat(values(view, "decoder.final_layernorm.weight")).isEqualTo(counting(7, HIDDEN));
        }
    }

    @Test
    void whatIsWrittenHasTodaysNamesOrderAndVersion() throws Exception {
        write(folder.resolve("in/iter_0000005"), "model_optim_rng.pt", 0, true, 2);
        ConversionOptions.Builder options = new ConversionOptions.Builder();
        options.tensor = OptionalInt.of(4);
        options.allowMissing = MegatronRuns.PARTS;
        try (ModelView view = Checkpoints.open(folder.resolve("in"), OpenOptions.defaults())) {
            assertThat(view.warnings()).anyMatch(text -> text.contains("checkpoint_version 0"));
            PlanExecutor.execute(
                    Conversion.plan(view, options.build()), folder.resolve("out"), ExecutionOptions.defaults());
        }
        try (ModelView view = Checkpoints.open(folder.resolve("out"), OpenOptions.defaults())) {
            assertThat(view.state().entries().get("checkpoint_version")).isEqualTo(new PyFloat(3.0));
            assertThat(values(view, "decoder.layers.0.self_attention.linear_qkv.bias"))
                    .isEqualTo(rows(3, 0, 1));
        }
    }

    @Test
    void groupedQueriesAreNewerThanTheOldOrders() throws Exception {
        write(folder.resolve("iter_0000005"), "model_optim_rng.pt", 0, true, 1);
        TestArchive archive = new TestArchive();
        Map<String, PyValue> fields = new LinkedHashMap<>();
        fields.put("num_attention_heads", PyInt.of(HEADS));
        fields.put("num_query_groups", PyInt.of(2));
        fields.put("group_query_attention", PyBool.TRUE);
        fields.put("hidden_size", PyInt.of(HIDDEN));
        Map<String, PyValue> entries = new LinkedHashMap<>();
        entries.put("args", MegatronArgs.create(fields).node());
        entries.put("checkpoint_version", new PyFloat(1.0));
        entries.put(
                "model",
                TestArchive.dict(Map.of(
                        "decoder.layers.0.self_attention.linear_qkv.bias", archive.tensor(counting(0, 16), 16))));
        archive.write(folder.resolve("iter_0000005/mp_rank_00/model_optim_rng.pt"), TestArchive.dict(entries));
        assertThatThrownBy(() -> Checkpoints.open(folder, OpenOptions.defaults()))
                .hasMessageContaining("older than grouped queries");
    }

    @Test
    void optimizerFoldersOfTheTimeBelongToTheirModel() throws Exception {
        Path iteration = folder.resolve("release");
        write(iteration, "model_rng.pt", 2, true, 2);
        for (int rank = 0; rank < 2; rank++) {
            for (int data = 0; data < 3; data++) {
                Path shard = iteration.resolve("mp_rank_%02d_%03d".formatted(rank, data));
                Files.createDirectories(shard);
                Files.write(shard.resolve("optim.pt"), new byte[] {1});
            }
        }
        try (ModelView view = Checkpoints.open(folder, OpenOptions.defaults())) {
            assertThat(view.parallelism().tensor()).isEqualTo(2);
            assertThat(view.parallelism().pipeline()).isEqualTo(1);
            assertThat(view.iterationFolder()).hasValue("release");
            assertThat(values(view, "decoder.layers.0.self_attention.linear_qkv.bias"))
                    .isEqualTo(rows(3, 0, 1));
        }
    }
}
