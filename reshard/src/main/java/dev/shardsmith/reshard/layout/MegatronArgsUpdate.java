package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.pickle.PyBool;
import dev.shardsmith.formats.pickle.PyFloat;
import dev.shardsmith.formats.pickle.PyInt;
import dev.shardsmith.formats.pickle.PyNone;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.MegatronTarget;
import dev.shardsmith.reshard.plan.ConversionOptions;
import dev.shardsmith.reshard.state.MegatronArgs;
import dev.shardsmith.reshard.view.Parallelism;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * The fields of the saved options that a conversion must rewrite; everything else stays as it is.
 *
 * <p>Megatron compares or copies these when it loads a checkpoint, so wrong values make the result unloadable.
 */
final class MegatronArgsUpdate {
    private final MegatronArgs args;
    private final Map<String, PyValue> changes = new LinkedHashMap<>();

    private MegatronArgsUpdate(MegatronArgs args) {
        this.args = args;
    }

    /**
     * The options of a target.
     *
     * @param args the source's
     * @param from parallel sizes of the source
     * @param to parallel sizes of the target
     * @param pattern the pattern to save, if the model has one
     * @param vocabulary rows of the embedding, if the model has one
     * @param format value of {@code ckpt_format}
     * @param options what the user wants
     */
    static MegatronArgs apply(
            MegatronArgs args,
            Parallelism from,
            Parallelism to,
            Optional<String> pattern,
            Optional<Long> vocabulary,
            String format,
            ConversionOptions options) {
        MegatronArgsUpdate update = new MegatronArgsUpdate(args);
        update.parallelSizes(from, to);
        pattern.ifPresent(update::pattern);
        vocabulary.ifPresent(rows -> update.vocabulary(rows, to.tensor()));
        update.set("ckpt_format", new PyStr(format));
        if (options.resetIterations()) {
            for (String counter : new String[] {"iteration", "consumed_train_samples", "consumed_valid_samples"}) {
                update.set(counter, PyInt.of(0));
            }
        }
        MegatronArgs changed = args.withChanged(update.changes);
        Map<String, PyValue> user = new LinkedHashMap<>();
        options.set().forEach((name, text) -> user.put(name, literal(text)));
        return user.isEmpty() ? changed : changed.withSet(user);
    }

    private void parallelSizes(Parallelism from, Parallelism to) {
        if (from.equals(to)) {
            return;
        }
        PyValue none = PyNone.NONE;
        set("tensor_model_parallel_size", PyInt.of(to.tensor()));
        set("pipeline_model_parallel_size", PyInt.of(to.pipeline()));
        set("transformer_pipeline_model_parallel_size", PyInt.of(to.pipeline()));
        set("virtual_pipeline_model_parallel_size", to.virtual() > 1 ? PyInt.of(to.virtual()) : none);
        for (String field : new String[] {
            "num_layers_per_virtual_pipeline_stage",
            "num_virtual_stages_per_pipeline_rank",
            "pipeline_model_parallel_layout",
            "decoder_first_pipeline_num_layers",
            "decoder_last_pipeline_num_layers"
        }) {
            set(field, none);
        }
        set("account_for_embedding_in_pipeline_split", PyBool.FALSE);
        set("account_for_loss_in_pipeline_split", PyBool.FALSE);
        if (to.tensor() == 1) {
            set("sequence_parallel", PyBool.FALSE);
        }
        if (args.integer("expert_tensor_parallel_size").isPresent()) {
            set("expert_tensor_parallel_size", PyInt.of(to.expertTensor()));
        }
        set("expert_model_parallel_size", PyInt.of(to.expert()));
        long context = args.integer("context_parallel_size", 1);
        set("data_parallel_size", PyInt.of(to.expert()));
        set("world_size", PyInt.of((long) to.tensor() * to.pipeline() * Math.max(1, context) * to.expert()));
        set("rank", PyInt.of(0));
        set("local_rank", PyInt.of(0));
        if (to.pipeline() == 1) {
            set("overlap_p2p_comm", PyBool.FALSE);
        }
        if (to.pipeline() == 1 || to.virtual() == 1) {
            set("align_param_gather", PyBool.FALSE);
        }
    }

    private void vocabulary(long rows, int tensor) {
        set("padded_vocab_size", PyInt.of(rows));
        if (args.has("make_vocab_size_divisible_by")
                && args.integer("make_vocab_size_divisible_by").isEmpty()) {
            set("make_vocab_size_divisible_by", PyInt.of(MegatronTarget.divisor(Optional.of(args), rows, tensor)));
        }
    }

    private void pattern(String text) {
        for (String field : new String[] {"hybrid_layer_pattern", "hybrid_override_pattern"}) {
            if (args.text(field).isPresent()) {
                set(field, new PyStr(text));
            }
        }
    }

    /** Sets a field to a new value; one that has this value already keeps its node. */
    private void set(String field, PyValue value) {
        if (args.has(field) && !value.equals(args.value(field).orElse(PyNone.NONE))) {
            changes.put(field, value);
        }
    }

    /** A value as a user types it: None, True, False, a number, else a string. */
    private static PyValue literal(String text) {
        switch (text) {
            case "None":
                return PyNone.NONE;
            case "True":
                return PyBool.TRUE;
            case "False":
                return PyBool.FALSE;
            default:
                break;
        }
        if (text.matches("[+-]?\\d{1,18}")) {
            return PyInt.of(Long.parseLong(text));
        }
        try {
            return new PyFloat(Double.parseDouble(text));
        } catch (NumberFormatException e) {
            return new PyStr(text);
        }
    }
}
