package dev.shardsmith.formats.pickle;

/**
 * A node of an unpickled graph. Never executed, only looked at.
 *
 * <p>Scalars, strings and globals compare by value. Containers and objects compare by identity, may be shared, and lists,
 * dicts, sets and objects may contain themselves.
 */
public sealed interface PyValue
        permits PyNone,
                PyBool,
                PyInt,
                PyFloat,
                PyStr,
                PyBytes,
                PyList,
                PyTuple,
                PyDict,
                PySet,
                PyGlobal,
                PyObject,
                PyPersistent {}
