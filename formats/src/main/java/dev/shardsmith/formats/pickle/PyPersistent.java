package dev.shardsmith.formats.pickle;

/** A reference to something outside the pickle; PyTorch names storages this way. Compares by identity. */
public final class PyPersistent implements PyValue {
    private final PyValue id;

    /** A reference with the given id. */
    public PyPersistent(PyValue id) {
        this.id = id;
    }

    /** The id: a tuple, or a string in protocol 0. */
    public PyValue id() {
        return id;
    }
}
