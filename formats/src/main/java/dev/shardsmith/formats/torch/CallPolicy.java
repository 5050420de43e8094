package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.pickle.PyGlobal;
import dev.shardsmith.formats.pickle.PyObject;
import dev.shardsmith.formats.pickle.PyTuple;
import dev.shardsmith.formats.pickle.PyValue;
import dev.shardsmith.formats.pickle.PythonText;

/** Judges calls, some of which are as harmful as what they are called with. */
final class CallPolicy {
    private CallPolicy() {}

    /** The risk of a call: fetching a nested class from a class is what pickles of protocol 2 do for it. */
    static GlobalRisk riskOfCall(PyGlobal callable, PyValue args) {
        if (PythonText.modern(callable).is("builtins", "getattr")
                && args instanceof PyTuple tuple
                && tuple.items().size() == 2
                && tuple.items().get(0) instanceof PyGlobal outer
                && PythonText.string(tuple.items().get(1)).isPresent()
                && !PythonText.string(tuple.items().get(1)).get().startsWith("_")) {
            return GlobalPolicy.riskOf(outer) == GlobalRisk.DANGEROUS
                            || GlobalPolicy.isRisky(PythonText.str(tuple.items().get(1)))
                    ? GlobalRisk.DANGEROUS
                    : GlobalRisk.UNKNOWN;
        }
        if (isPartial(callable)) {
            return riskOfPartial(args);
        }
        return GlobalPolicy.riskOf(callable);
    }

    /** A function with some of its arguments is as harmless as the function, as long as nobody calls it. */
    private static GlobalRisk riskOfPartial(PyValue args) {
        PyValue function = args instanceof PyTuple tuple && tuple.size() > 0 ? tuple.get(0) : args;
        boolean harmless = function instanceof PyGlobal named
                ? GlobalPolicy.riskOf(named) != GlobalRisk.DANGEROUS
                : function instanceof PyObject made && !isCallOfPartial(made);
        return harmless ? GlobalRisk.UNKNOWN : GlobalRisk.DANGEROUS;
    }

    /** True for {@code functools.partial}. */
    static boolean isPartial(PyGlobal global) {
        return PythonText.modern(global).is("functools", "partial");
    }

    /** True for what {@code functools.partial} makes, whose call would be that of a function that may be any by then. */
    static boolean isCallOfPartial(PyValue value) {
        return value instanceof PyObject object
                && object.callable() instanceof PyGlobal callable
                && isPartial(callable);
    }

    /** True if the risk of a name depends on what it is called with. */
    static boolean dependsOnArguments(PyGlobal global) {
        return PythonText.modern(global).is("builtins", "getattr") || isPartial(global);
    }
}
