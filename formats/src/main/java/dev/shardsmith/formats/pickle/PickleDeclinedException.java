package dev.shardsmith.formats.pickle;

/** Says that a pickle has something that is left to {@link PickleReader}, which knows all there is. */
public final class PickleDeclinedException extends Exception {
    private static final long serialVersionUID = 1;

    PickleDeclinedException() {
        super("this pickle is left to the reader of graphs", null, false, false);
    }
}
