package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * An object as the stream describes it: what would be called with which arguments, and what would be done to the result.
 *
 * <p>{@link #steps()} keeps items and states in the order of the stream: an {@code OrderedDict} gets its items before its
 * attributes.
 */
public final class PyObject implements PyValue {
    /** Which opcode made the object. */
    public enum Kind {
        /** {@code callable(*args)} */
        REDUCE,
        /** {@code cls.__new__(cls, *args)} */
        NEWOBJ,
        /** {@code cls.__new__(cls, *args, **kwargs)} */
        NEWOBJ_EX,
        /** Opcodes INST and OBJ of protocols 0 and 1. */
        INSTANCE
    }

    /** What is done to the object after it was made. */
    public sealed interface Step permits Items, Appends, Adds, State {}

    /** Entries set as in a dict. */
    public record Items(List<PyEntry> entries) implements Step {}

    /** Values appended as to a list. */
    public record Appends(List<PyValue> values) implements Step {}

    /** Values added as to a set. */
    public record Adds(List<PyValue> values) implements Step {}

    /** The state given to {@code __setstate__} or put into {@code __dict__}. */
    public record State(PyValue value) implements Step {}

    private final Kind kind;
    private final PyValue callable;
    private final PyValue args;
    private final PyValue kwargs;

    /** The only step, as long as there is not more than one and nobody asked for the list: most objects have one. */
    private Step only;

    private List<Step> steps;

    /** An object made by a call; {@code args} is a tuple. */
    public PyObject(Kind kind, PyValue callable, PyValue args) {
        this(kind, callable, args, PyNone.NONE);
    }

    /** An object made by a call with keyword arguments. */
    public PyObject(Kind kind, PyValue callable, PyValue args, PyValue kwargs) {
        this.kind = kind;
        this.callable = callable;
        this.args = args;
        this.kwargs = kwargs;
    }

    /** Which opcode made the object. */
    public Kind kind() {
        return kind;
    }

    /** What would be called; mostly a {@link PyGlobal}. */
    public PyValue callable() {
        return callable;
    }

    /** The positional arguments; mostly a {@link PyTuple}. */
    public PyValue args() {
        return args;
    }

    /** The keyword arguments of {@link Kind#NEWOBJ_EX}, else None. */
    public PyValue kwargs() {
        return kwargs;
    }

    /** What is done to the object, in order; open to change. */
    public List<Step> steps() {
        if (steps == null) {
            steps = new ArrayList<>(2);
            if (only != null) {
                steps.add(only);
                only = null;
            }
        }
        return steps;
    }

    /** Adds a step after the others. */
    public void addStep(Step step) {
        if (steps == null && only == null) {
            only = step;
        } else {
            steps().add(step);
        }
    }

    /** The steps as they are, without making room for more. */
    private List<Step> stepsNow() {
        if (steps != null) {
            return steps;
        }
        return only == null ? List.of() : List.of(only);
    }

    /** Number of steps, without making room for more. */
    int stepCount() {
        return steps == null ? (only == null ? 0 : 1) : steps.size();
    }

    /** Step number {@code index}. */
    Step step(int index) {
        return steps == null ? only : steps.get(index);
    }

    /** The last step, or null if there is none. */
    Step lastStep() {
        return steps == null || steps.isEmpty() ? only : steps.get(steps.size() - 1);
    }

    /** True if the callable is the global {@code module.name}. */
    public boolean isCallOf(String module, String name) {
        return callable instanceof PyGlobal global && global.is(module, name);
    }

    /** All entries set on the object, in order. */
    public List<PyEntry> entries() {
        List<PyEntry> all = new ArrayList<>();
        for (Step step : stepsNow()) {
            if (step instanceof Items items) {
                all.addAll(items.entries());
            }
        }
        return all;
    }

    /** The last state given to the object. */
    public Optional<PyValue> state() {
        PyValue last = null;
        for (Step step : stepsNow()) {
            if (step instanceof State state) {
                last = state.value();
            }
        }
        return Optional.ofNullable(last);
    }
}
