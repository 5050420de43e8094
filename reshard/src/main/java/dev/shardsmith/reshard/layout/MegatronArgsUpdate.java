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
import dev.shardsmith.reshard.view.ExpertForm;
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
    private final Map<String, PyValue> additions = new LinkedHashMap<>();

    private MegatronArgsUpdate(MegatronArgs args) {
        this.args = args;
    }

    /**
     * The options of a target.
     *
     * @param args the source's
     * @param from parallel sizes of the source
     * @param goal what the target is to be
     * @param vocabulary rows of the embedding, if the model has one
     * @param format value of {@code ckpt_format}
     */
    static MegatronArgs apply(
            MegatronArgs args, Parallelism from, MegatronGoal goal, Optional<Long> vocabulary, String format) {
        MegatronArgsUpdate update = new MegatronArgsUpdate(args);
        ConversionOptions options = goal.options();
        boolean resized = !from.equals(goal.sizes()) || !update.says(goal.sizes());
        if (resized) {
            update.parallelSizes(goal.sizes());
        }
        if (resized || goal.moves().changed()) {
            update.stages(goal);
        }
        goal.stages().pattern().ifPresent(update::pattern);
        if (goal.moves().changed()) {
            update.layers(goal);
        }
        options.experts().ifPresent(update::experts);
        vocabulary.ifPresent(rows -> update.vocabulary(rows, goal.sizes().tensor()));
        update.set("ckpt_format", new PyStr(format));
        if (options.resetIterations()) {
            for (String counter : new String[] {"iteration", "consumed_train_samples", "consumed_valid_samples"}) {
                update.set(counter, PyInt.of(0));
            }
        }
        MegatronArgs changed = args.withChanged(update.changes);
        MegatronArgs grown = update.additions.isEmpty() ? changed : changed.withSet(update.additions);
        return withSet(grown, options);
    }

    /** Options with the fields that the user sets. */
    static MegatronArgs withSet(MegatronArgs args, ConversionOptions options) {
        Map<String, PyValue> set = new LinkedHashMap<>();
        options.set().forEach((name, text) -> set.put(name, literal(text)));
        return set.isEmpty() ? args : args.withSet(set);
    }

    /** Whether the options have these sizes: those beside a Hugging Face folder are of the run whose model it was. */
    private boolean says(Parallelism sizes) {
        return args.integer("tensor_model_parallel_size", sizes.tensor()) == sizes.tensor()
                && args.integer("pipeline_model_parallel_size", sizes.pipeline()) == sizes.pipeline()
                && args.integer("expert_model_parallel_size", sizes.expert()) == sizes.expert();
    }

    private void parallelSizes(Parallelism to) {
        set("tensor_model_parallel_size", PyInt.of(to.tensor()));
        set("pipeline_model_parallel_size", PyInt.of(to.pipeline()));
        set("transformer_pipeline_model_parallel_size", PyInt.of(to.pipeline()));
        if (to.tensor() == 1) {
            set("sequence_parallel", PyBool.FALSE);
        }
        if (args.integer("expert_tensor_parallel_size").isPresent() || to.expertTensor() != to.tensor()) {
            set("expert_tensor_parallel_size", PyInt.of(to.expertTensor()));
        }
        set("expert_model_parallel_size", PyInt.of(to.expert()));
        long dense = Math.multiplyExact((long) to.tensor(), Math.max(1, args.integer("context_parallel_size", 1)));
        long copies = copies(dense, Math.multiplyExact((long) to.expertTensor(), to.expert()));
        set("data_parallel_size", PyInt.of(copies));
        set("world_size", PyInt.of(Math.multiplyExact(Math.multiplyExact(dense, copies), (long) to.pipeline())));
        set("rank", PyInt.of(0));
        set("local_rank", PyInt.of(0));
        if (to.pipeline() == 1) {
            set("overlap_p2p_comm", PyBool.FALSE);
        }
        if (to.pipeline() == 1 || to.virtual() == 1) {
            set("align_param_gather", PyBool.FALSE);
        }
    }

    /**
     * The least data parallelism of a run: a stage's ranks are divided into groups for dense layers, and once more into groups
     * for experts, so their number is a multiple of both sizes.
     */
    private static long copies(long dense, long experts) {
        long rest = dense;
        for (long common = experts; common != 0; ) {
            long next = rest % common;
            rest = common;
            common = next;
        }
        return experts / rest;
    }

    /** What describes the stages; a pattern with pipes says everything, a Transformer has counts for its edge stages only. */
    private void stages(MegatronGoal goal) {
        int virtual = goal.sizes().virtual();
        set("virtual_pipeline_model_parallel_size", virtual > 1 ? PyInt.of(virtual) : PyNone.NONE);
        if (goal.stages().kept()) {
            return;
        }
        for (String field : new String[] {
            "num_layers_per_virtual_pipeline_stage",
            "num_virtual_stages_per_pipeline_rank",
            "pipeline_model_parallel_layout",
            "decoder_first_pipeline_num_layers",
            "decoder_last_pipeline_num_layers"
        }) {
            set(field, PyNone.NONE);
        }
        set("account_for_embedding_in_pipeline_split", PyBool.FALSE);
        set("account_for_loss_in_pipeline_split", PyBool.FALSE);
        goal.stages().edges().ifPresent(edges -> {
            changes.remove("decoder_first_pipeline_num_layers");
            changes.remove("decoder_last_pipeline_num_layers");
            add("decoder_first_pipeline_num_layers", PyInt.of(edges.first().orElseThrow()));
            add("decoder_last_pipeline_num_layers", PyInt.of(edges.last().orElseThrow()));
        });
    }

    /** A model of other layers, or of layers of another make. */
    private void layers(MegatronGoal goal) {
        PyValue before = args.value("num_layers").orElse(PyNone.NONE);
        PyValue layers = PyInt.of(goal.moves().layers());
        add("num_layers", layers);
        for (String field : new String[] {"encoder_num_layers", "decoder_num_layers"}) {
            if (args.value(field).equals(Optional.of(before))) {
                set(field, layers);
            }
        }
        switch (goal.moves().model()) {
            case HYBRID -> {
                goal.stages().pattern().ifPresent(text -> {
                    if (args.text("hybrid_layer_pattern").isEmpty()
                            && args.text("hybrid_override_pattern").isEmpty()) {
                        add("hybrid_layer_pattern", new PyStr(text));
                    }
                });
                add("is_hybrid_model", PyBool.TRUE);
                for (String field : new String[] {"hybrid_attention_ratio", "hybrid_mlp_ratio"}) {
                    set(field, new PyFloat(0.0));
                }
            }
            case TRANSFORMER -> {
                for (String field : new String[] {
                    "hybrid_layer_pattern", "hybrid_override_pattern", "mtp_hybrid_override_pattern", "spec"
                }) {
                    set(field, PyNone.NONE);
                }
                set("is_hybrid_model", PyBool.FALSE);
            }
        }
    }

    private void experts(ExpertForm form) {
        set("moe_grouped_gemm", PyBool.of(form != ExpertForm.SEQUENTIAL));
        set("moe_single_grouped_weight", PyBool.of(form == ExpertForm.STACKED));
        set("moe_use_legacy_grouped_gemm", PyBool.of(form == ExpertForm.FLAT));
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

    /** Sets a field whether the options have it or not. */
    private void add(String field, PyValue value) {
        if (args.has(field)) {
            set(field, value);
        } else {
            additions.put(field, value);
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
