package dev.shardsmith.formats.pickle;

/** Told of what a pickle would import and call, as it is read; what was told stays true if reading fails later. */
public interface PickleListener {
    /** The stream names a class or function; {@code offset} is the byte of the operation that does so. */
    void imported(PyGlobal global, long offset);

    /** The stream asks to call something; {@code offset} is the byte of the operation that does so. */
    void called(PyObject.Kind kind, PyValue callable, PyValue args, long offset);

    /** The stream gives a state to an object, which may run code of its class. */
    void built(PyObject object, long offset);
}
