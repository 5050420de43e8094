package dev.shardsmith.formats.pickle;

import java.util.Map;

/** The names that a few classes have in pickles up to protocol 2, as CPython's pickler writes them. */
final class Python2Names {
    private static final Map<String, String> MODULES = Map.of("builtins", "__builtin__", "copyreg", "copy_reg");

    private static final Map<PyGlobal, PyGlobal> NAMES = Map.of(
            new PyGlobal("builtins", "range"), new PyGlobal("__builtin__", "xrange"),
            new PyGlobal("builtins", "int"), new PyGlobal("__builtin__", "long"),
            new PyGlobal("builtins", "str"), new PyGlobal("__builtin__", "unicode"),
            new PyGlobal("builtins", "chr"), new PyGlobal("__builtin__", "unichr"),
            new PyGlobal("functools", "reduce"), new PyGlobal("__builtin__", "reduce"),
            new PyGlobal("sys", "intern"), new PyGlobal("__builtin__", "intern"));

    private static final Map<PyGlobal, PyGlobal> MODERN = Map.of(
            new PyGlobal("__builtin__", "xrange"), new PyGlobal("builtins", "range"),
            new PyGlobal("__builtin__", "long"), new PyGlobal("builtins", "int"),
            new PyGlobal("__builtin__", "unicode"), new PyGlobal("builtins", "str"),
            new PyGlobal("__builtin__", "basestring"), new PyGlobal("builtins", "str"),
            new PyGlobal("__builtin__", "unichr"), new PyGlobal("builtins", "chr"),
            new PyGlobal("__builtin__", "reduce"), new PyGlobal("functools", "reduce"),
            new PyGlobal("__builtin__", "intern"), new PyGlobal("sys", "intern"));

    private Python2Names() {}

    static PyGlobal toPython2(PyGlobal global) {
        PyGlobal named = NAMES.get(global);
        if (named != null) {
            return named;
        }
        String module = MODULES.get(global.module());
        if (module == null) {
            return global;
        }
        PyGlobal renamed = new PyGlobal(module, global.name());
        // builtins.unicode is nothing in Python 3; as __builtin__.unicode it would be read as builtins.str.
        return MODERN.containsKey(renamed) ? global : renamed;
    }

    static PyGlobal toPython3(PyGlobal global) {
        PyGlobal named = MODERN.get(global);
        if (named != null) {
            return named;
        }
        return switch (global.module()) {
            case "__builtin__" -> new PyGlobal("builtins", global.name());
            case "copy_reg" -> new PyGlobal("copyreg", global.name());
            default -> global;
        };
    }
}
