package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.Shape;
import dev.shardsmith.formats.dcp.DcpCheckpoint;
import dev.shardsmith.formats.dcp.DcpTensor;
import dev.shardsmith.formats.pickle.PyDict;
import dev.shardsmith.formats.pickle.PyEntry;
import dev.shardsmith.formats.pickle.PyList;
import dev.shardsmith.formats.pickle.PyStr;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.reshard.family.DistSource;
import dev.shardsmith.reshard.family.DistTensors;
import dev.shardsmith.reshard.view.LogicalTensor;
import dev.shardsmith.reshard.view.OptimizerState;
import dev.shardsmith.reshard.view.OptimizerTensor;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.IntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The optimizer's state of a torch_dist checkpoint.
 *
 * <p>Megatron derives the keys of state that has the shape of parameters from theirs: {@code optimizer.state.exp_avg.KEY} with
 * the very shape and division of KEY. So nothing is known here of names, parts, layers or experts: a tensor of the state is
 * where its parameter is, under another key.
 */
final class DistOptimizer {
    /** What Megatron calls state that has the shape of parameters. */
    private static final String RESHARDABLE = "fully_reshardable";

    private static final Pattern STATE = Pattern.compile("((?:chained_\\d+\\.)*optimizer\\.state\\.(\\w+)\\.)(.+)");
    private static final String FLAT = "fully_sharded_model_space";

    private final DcpCheckpoint checkpoint;
    private final TorchDistKeys stored;
    private final DistTensors parameters;
    private final Map<String, PyValue> entries;
    private final Opener opener;
    private final List<OptimizerTensor> found = new ArrayList<>();
    private final Map<String, DType> parameterType = new HashMap<>();
    private final Set<String> used = new HashSet<>();

    /** Makes a logical tensor of the stored ones that hold it. */
    @FunctionalInterface
    interface Opener {
        LogicalTensor open(String name, Shape shape, List<DistSource> sources, IntFunction<DcpTensor> tensors)
                throws CheckpointException;
    }

    /**
     * The state of an optimizer.
     *
     * @param checkpoint the checkpoint
     * @param stored the model's tensors
     * @param parameters which of them make each parameter
     * @param entries the common state
     * @param opener makes logical tensors
     */
    DistOptimizer(
            DcpCheckpoint checkpoint,
            TorchDistKeys stored,
            DistTensors parameters,
            Map<String, PyValue> entries,
            Opener opener) {
        this.checkpoint = checkpoint;
        this.stored = stored;
        this.parameters = parameters;
        this.entries = entries;
        this.opener = opener;
    }

    /**
     * Finds for each tensor of the state the parameter that it belongs to.
     *
     * @throws CheckpointException if a tensor cannot be read
     */
    OptimizerState read() throws CheckpointException {
        Optional<String> declared = declared();
        List<DcpTensor> tensors = new ArrayList<>();
        for (DcpTensor tensor : checkpoint.tensors()) {
            if (TorchDistKeys.isOfOptimizer(tensor.name())) {
                tensors.add(tensor);
            }
        }
        Optional<OptimizerState> bound = bound(tensors, declared);
        if (bound.isPresent()) {
            return bound.get();
        }
        Set<String> states = new LinkedHashSet<>();
        for (DcpTensor tensor : tensors) {
            Matcher name = STATE.matcher(tensor.name());
            if (!name.matches()) {
                return strange(tensor, declared, "has no key of a known form");
            }
            states.add(name.group(1));
        }
        for (String state : states) {
            Optional<OptimizerState> problem = gather(state, declared);
            if (problem.isPresent()) {
                return problem.get();
            }
        }
        for (DcpTensor tensor : tensors) {
            if (!used.contains(tensor.name())) {
                return strange(tensor, declared, "belongs to no parameter of the model");
            }
        }
        Optional<String> missing = missing();
        if (missing.isPresent()) {
            return OptimizerState.incomplete(form(declared), missing.get());
        }
        return OptimizerState.of(form(declared), found);
    }

    private static String form(Optional<String> declared) {
        return declared.orElse("state of each parameter");
    }

    /** The form that the checkpoint itself names. */
    private Optional<String> declared() {
        Optional<String> content = Optional.ofNullable(entries.get("content_metadata"))
                .flatMap(value -> text(value, "distrib_optim_sharding_type"));
        return content.or(() -> Optional.ofNullable(entries.get("optimizer")).flatMap(DistOptimizer::declaredIn));
    }

    /** Each of several optimizers names its form. */
    private static Optional<String> declaredIn(PyValue optimizer) {
        Optional<String> own = text(optimizer, "param_state_sharding_type");
        if (own.isPresent()) {
            return own;
        }
        List<PyValue> several = new ArrayList<>();
        if (optimizer instanceof PyDict dict) {
            dict.entries().forEach(entry -> several.add(entry.value()));
        } else if (optimizer instanceof PyList list) {
            several.addAll(list.items());
        }
        return several.stream()
                .flatMap(one -> text(one, "param_state_sharding_type").stream())
                .findFirst();
    }

    private static Optional<String> text(PyValue dict, String key) {
        for (PyEntry entry : RankFile.items(dict).orElse(List.of())) {
            boolean wanted = entry.key() instanceof PyStr name && name.value().equals(key);
            if (wanted && entry.value() instanceof PyStr value) {
                return Optional.of(value.value());
            }
        }
        return Optional.empty();
    }

    /** Forms that name the ranks of the run, which their keys, objects or shapes give away. */
    private Optional<OptimizerState> bound(List<DcpTensor> tensors, Optional<String> declared) {
        List<String> names = new ArrayList<>();
        tensors.forEach(tensor -> names.add(tensor.name()));
        checkpoint.objects().stream().filter(TorchDistKeys::isOfOptimizer).forEach(names::add);
        for (String name : names) {
            if (name.contains("optimizer.distributed.")) {
                boolean whole = name.endsWith(".param_state") || name.contains(".param_state/shard_");
                String form = declared.orElse(whole ? "dp_zero_gather_scatter" : "dp_reshardable");
                return Optional.of(OptimizerState.bound(
                        form,
                        whole
                                ? "each tensor and pipeline rank has one flat buffer of all its parameters"
                                : "its tensors are the flat buffers of tensor and pipeline ranks, only data parallelism can"
                                        + " change"));
            }
            if (name.contains("optimizer.state.module.") || name.contains("optimizer.param_to_group_meta.")) {
                return Optional.of(OptimizerState.bound(
                        "fsdp_dtensor", "its names and divisions are those of Megatron's own FSDP, not of the model"));
            }
        }
        for (DcpTensor tensor : tensors) {
            if (tensor.isFlattened()) {
                return Optional.of(flat(tensor.name()));
            }
        }
        if (declared.isPresent() && !declared.get().equals(RESHARDABLE)) {
            return Optional.of(OptimizerState.bound(
                    declared.get(), "only state that is saved as " + RESHARDABLE + " is divided as the model is"));
        }
        return names.size() == tensors.size()
                ? Optional.empty()
                : Optional.of(OptimizerState.bound(
                        "objects of ranks", names.get(tensors.size()) + " is state of the rank that saved it"));
    }

    private static OptimizerState flat(String name) {
        return OptimizerState.bound(
                FLAT,
                "its tensors are flattened ranges (flattened_range) of the parameters' shards, as in " + name
                        + ", which later releases of Megatron do not load either; the model's weights are not concerned");
    }

    private static OptimizerState strange(DcpTensor tensor, Optional<String> declared, String problem) {
        return OptimizerState.bound(declared.orElse("an unknown form"), tensor.name() + " " + problem);
    }

    /** The tensors of one kind of state, parameter by parameter. */
    private Optional<OptimizerState> gather(String state, Optional<String> declared) throws CheckpointException {
        for (int i = 0; i < parameters.size(); i++) {
            if (parameters.isOther(i)) {
                continue;
            }
            String name = parameters.name(i);
            List<DistSource> sources = parameters.sources(i);
            Map<Integer, DcpTensor> parts = new LinkedHashMap<>();
            for (DistSource source : sources) {
                DcpTensor parameter = stored.tensor(source.number());
                Optional<DcpTensor> tensor = checkpoint
                        .tensor(state + parameter.name())
                        .or(() -> checkpoint.tensor(state + stored.key(source.number())));
                if (tensor.isEmpty()) {
                    continue;
                }
                if (!tensor.get().shape().equals(parameter.shape())) {
                    boolean ranges =
                            tensor.get().shape().rank() == parameter.shape().rank() + 1;
                    return Optional.of(
                            ranges
                                    ? flat(tensor.get().name())
                                    : strange(
                                            tensor.get(),
                                            declared,
                                            "has the shape " + tensor.get().shape() + ", its parameter "
                                                    + parameter.shape()));
                }
                if (tensor.get().dtype().isEmpty()) {
                    return Optional.of(strange(
                            tensor.get(),
                            declared,
                            "has the unknown element type " + tensor.get().dtypeName()));
                }
                parts.put(source.number(), tensor.get());
                parameter.dtype().ifPresent(type -> parameterType.put(name, type));
                used.add(tensor.get().name());
            }
            if (parts.isEmpty()) {
                continue;
            }
            for (DistSource source : sources) {
                if (!parts.containsKey(source.number())) {
                    String missing = state + stored.tensor(source.number()).name();
                    return Optional.of(OptimizerState.incomplete(form(declared), missing));
                }
            }
            LogicalTensor tensor = opener.open(state + name, parameters.shape(i), sources, parts::get);
            found.add(new OptimizerTensor(state, name, tensor));
        }
        return Optional.empty();
    }

    /** A tensor that is not there though others of its parameter are: a moment, or the copy in single precision. */
    private Optional<String> missing() {
        Set<String> names = new HashSet<>();
        Set<String> masters = new HashSet<>();
        for (OptimizerTensor tensor : found) {
            names.add(tensor.tensor().name());
            if (tensor.isMaster()) {
                masters.add(tensor.state());
            }
        }
        for (OptimizerTensor tensor : found) {
            String state = tensor.state();
            List<String> wanted = new ArrayList<>();
            if (state.endsWith(".exp_avg.")) {
                wanted.add(state.replace(".exp_avg.", ".exp_avg_sq."));
            } else if (state.endsWith(".exp_avg_sq.")) {
                wanted.add(state.replace(".exp_avg_sq.", ".exp_avg."));
            }
            String optimizer = state.substring(0, state.lastIndexOf('.', state.length() - 2) + 1);
            for (String master : masters) {
                if (master.startsWith(optimizer) && parameterType.get(tensor.parameter()) != DType.F32) {
                    wanted.add(master);
                }
            }
            for (String other : wanted) {
                if (!names.contains(other + tensor.parameter())) {
                    return Optional.of(other + tensor.parameter());
                }
            }
        }
        return Optional.empty();
    }
}
