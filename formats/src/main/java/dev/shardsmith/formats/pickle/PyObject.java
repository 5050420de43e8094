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

    /** A value, or {@link Both} where there are keyword arguments, too. */
    private final Object args;

    /**
     * Nothing, the value of a single state, a single other step, or a list of steps: metadata of large checkpoints are
     * millions of objects with one state each.
     */
    private Object steps;

    private record Both(PyValue args, PyValue kwargs) {}

    /** An object made by a call; {@code args} is a tuple. */
    public PyObject(Kind kind, PyValue callable, PyValue args) {
        this(kind, callable, args, PyNone.NONE);
    }

    /** An object made by a call with keyword arguments. */
    public PyObject(Kind kind, PyValue callable, PyValue args, PyValue kwargs) {
        this.kind = kind;
        this.callable = callable;
        this.args = kwargs == PyNone.NONE ? args : new Both(args, kwargs);
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
        return args instanceof Both both ? both.args : (PyValue) args;
    }

    /** The keyword arguments of {@link Kind#NEWOBJ_EX}, else None. */
    public PyValue kwargs() {
        return args instanceof Both both ? both.kwargs : PyNone.NONE;
    }

    /** What is done to the object, in order; open to change. */
    public List<Step> steps() {
        if (!(steps instanceof StepList)) {
            StepList list = new StepList();
            for (int i = 0; i < stepCount(); i++) {
                list.add(step(i));
            }
            steps = list;
        }
        return (StepList) steps;
    }

    private static final class StepList extends ArrayList<Step> {
        private static final long serialVersionUID = 1L;

        StepList() {
            super(2);
        }
    }

    /** Adds a step after the others. */
    public void addStep(Step step) {
        if (steps != null) {
            steps().add(step);
        } else {
            steps = step instanceof State state ? state.value() : step;
        }
    }

    /** Number of steps, without making room for more. */
    int stepCount() {
        return steps instanceof StepList list ? list.size() : steps == null ? 0 : 1;
    }

    /** Step number {@code index}. */
    Step step(int index) {
        if (steps instanceof StepList list) {
            return list.get(index);
        }
        return steps instanceof PyValue state ? new State(state) : (Step) steps;
    }

    /** The last step, or null if there is none. */
    Step lastStep() {
        return stepCount() == 0 ? null : step(stepCount() - 1);
    }

    /** True if the callable is the global {@code module.name}. */
    public boolean isCallOf(String module, String name) {
        return callable instanceof PyGlobal global && global.is(module, name);
    }

    /** All entries set on the object, in order. */
    public List<PyEntry> entries() {
        List<PyEntry> all = new ArrayList<>();
        for (int i = 0; i < stepCount(); i++) {
            if (step(i) instanceof Items items) {
                all.addAll(items.entries());
            }
        }
        return all;
    }

    /** The last state given to the object. */
    public Optional<PyValue> state() {
        for (int i = stepCount() - 1; i >= 0; i--) {
            if (step(i) instanceof State state) {
                return Optional.of(state.value());
            }
        }
        return Optional.empty();
    }
}
