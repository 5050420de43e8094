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
                PyPersistent {
    /** What sort of value it is, for messages: {@code a list}. */
    default String describe() {
        if (this instanceof PyGlobal global) {
            return global.qualifiedName();
        }
        if (this instanceof PyObject object) {
            return object.callable() instanceof PyGlobal type ? "a " + type.qualifiedName() : "an object";
        }
        if (this instanceof PyNone) {
            return "None";
        }
        if (this instanceof PyBool) {
            return "a bool";
        }
        if (this instanceof PyInt) {
            return "an int";
        }
        if (this instanceof PyFloat) {
            return "a float";
        }
        if (this instanceof PyStr) {
            return "a string";
        }
        if (this instanceof PyBytes) {
            return "a byte string";
        }
        if (this instanceof PyList) {
            return "a list";
        }
        if (this instanceof PyTuple) {
            return "a tuple";
        }
        if (this instanceof PyDict) {
            return "a dict";
        }
        return this instanceof PySet ? "a set" : "a persistent reference";
    }
}
