package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.util.HashMap;
import java.util.Map;

/** The operations that would import, call or build something in Python; a listener is told, and a node is made. */
final class PickleCalls {
    private final PickleMachine machine;
    private final PickleMeter meter;
    private final PickleListener listener;
    private final Map<PyGlobal, PyGlobal> globals = new HashMap<>();

    PickleCalls(PickleMachine machine, PickleMeter meter, PickleListener listener) {
        this.machine = machine;
        this.meter = meter;
        this.listener = listener;
    }

    /** The class or function of a name; the same node each time. */
    PyGlobal global(String module, String name) throws CheckpointException {
        PyGlobal fresh = new PyGlobal(module, name);
        PyGlobal seen = globals.get(fresh);
        if (seen == null) {
            meter.grow(2 * PickleMeter.NODE + module.length() + (long) name.length());
            globals.put(fresh, fresh);
            seen = fresh;
        }
        listener.imported(seen, meter.opOffset());
        return seen;
    }

    /** Takes the name of a class or function from the stack. */
    void stackGlobal() throws CheckpointException {
        PyValue name = machine.pop();
        PyValue module = machine.pop();
        if (!(name instanceof PyStr nameText) || !(module instanceof PyStr moduleText)) {
            throw meter.malformed("a class or function is named by " + module.describe() + " and " + name.describe());
        }
        machine.push(global(moduleText.value(), nameText.value()));
    }

    void object(PyObject.Kind kind, boolean hasKwargs) throws CheckpointException {
        PyValue kwargs = hasKwargs ? machine.pop() : PyNone.NONE;
        if (hasKwargs && !(kwargs instanceof PyDict)) {
            throw meter.malformed("the keyword arguments of a call are " + kwargs.describe() + ", not a dict");
        }
        PyValue args = machine.pop();
        PyValue callable = machine.pop();
        if (!(args instanceof PyTuple)) {
            throw meter.malformed("the arguments of a call are " + args.describe() + ", not a tuple");
        }
        if (!(callable instanceof PyGlobal || callable instanceof PyObject || callable instanceof PyPersistent)) {
            throw meter.malformed(callable.describe() + " is called");
        }
        listener.called(kind, callable, args, meter.opOffset());
        machine.push(meter.node(new PyObject(kind, callable, args, kwargs)));
    }

    /** An instance of a class, made from all values above the mark. */
    void instance(PyGlobal type) throws CheckpointException {
        instance(type, 0);
    }

    /** An instance of the class that stands first above the mark, made from the values after it. */
    void instanceAboveMark() throws CheckpointException {
        machine.requireMark();
        if (machine.countAboveMark() == 0) {
            throw meter.malformed("OBJ without a class");
        }
        instance(machine.aboveMark(0), 1);
    }

    private void instance(PyValue type, int skip) throws CheckpointException {
        machine.requireMark();
        PyTuple args = new PyTuple(machine.values().subList(skip, machine.countAboveMark()));
        machine.dropToMark();
        listener.called(PyObject.Kind.INSTANCE, type, args, meter.opOffset());
        machine.push(meter.node(new PyObject(PyObject.Kind.INSTANCE, type, args)));
    }

    /** Gives a state to the object below it. */
    void build() throws CheckpointException {
        PyValue state = machine.pop();
        PyValue target = machine.peek();
        if (!(target instanceof PyObject object)) {
            throw meter.malformed("a state is given to " + target.describe());
        }
        listener.built(object, meter.opOffset());
        meter.grow(PickleMeter.NODE);
        object.addStep(new PyObject.State(state));
    }
}
