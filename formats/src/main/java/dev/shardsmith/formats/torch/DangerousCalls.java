package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.pickle.PickleListener;
import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyValue;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.Set;

/** Notes the first call of a pickle that would do harm, so that the file is neither trusted nor copied. */
final class DangerousCalls implements PickleListener {
    private PyGlobal callable;
    private long offset;

    /** The first dangerous name, which matters once something could call whatever it is given. */
    private PyGlobal named;

    private long namedOffset;
    private boolean anyPartial;
    private final Set<PyGlobal> judged = Collections.newSetFromMap(new IdentityHashMap<>());

    /** What was called and is harmless, whatever it is called with; most calls of a file are of the same few functions. */
    private final Set<PyGlobal> harmless = Collections.newSetFromMap(new IdentityHashMap<>());

    @Override
    public void imported(PyGlobal global, long at) {
        // A name alone does nothing; many names are those of types.
        if (named == null
                && judged.add(global)
                && !CallPolicy.dependsOnArguments(global)
                && GlobalPolicy.riskOf(global) == GlobalRisk.DANGEROUS) {
            named = global;
            namedOffset = at;
        }
    }

    @Override
    public void called(PyObject.Kind kind, PyValue what, PyValue args, long at) {
        if (callable == null && CallPolicy.isCallOfPartial(what)) {
            callable = (PyGlobal) ((PyObject) what).callable();
            offset = at;
        }
        if (callable != null || !(what instanceof PyGlobal global) || harmless.contains(global)) {
            return;
        }
        anyPartial |= CallPolicy.isPartial(global);
        if (CallPolicy.riskOfCall(global, args) == GlobalRisk.DANGEROUS) {
            callable = global;
            offset = at;
        } else if (!CallPolicy.dependsOnArguments(global)) {
            harmless.add(global);
        }
    }

    @Override
    public void built(PyObject object, long at) {
        // Objects of dangerous classes are noted when they are made.
    }

    /** Fails if there was such a call. */
    void refuse(String source) throws CheckpointException {
        if (callable == null && anyPartial && named != null) {
            // Its state can put any function of the file into a partial one.
            callable = named;
            offset = namedOffset;
        }
        if (callable != null) {
            throw CheckpointException.of(
                            CheckpointException.Kind.UNSAFE,
                            source + " at byte " + offset,
                            "loading this file in Python would call " + callable.qualifiedName())
                    .withHint("do not load it; shardsmith scan FILE lists what it would do");
        }
    }
}
