package dev.shardsmith.verify.forward;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * A way through the weights of some outputs, a tile at a time: as many columns as fit, whole rows if possible.
 *
 * @param weight [out, in]
 * @param step inputs that a tile is a multiple of, but for the last
 */
record TileWalk(WeightTiles weight, int in, int step) {
    /** Elements of a tile, and of those of all threads together. */
    private static final int TILE = 1 << 19;

    private static final int ALL_TILES = 1 << 23;

    /** Room for one tile after the other. */
    static final class Room {
        private final ElementReader reader = new ElementReader();
        private float[] tile = new float[0];

        private float[] of(int elements) {
            if (tile.length < elements) {
                tile = new float[elements];
            }
            return tile;
        }
    }

    /** What is done with a tile. */
    interface Use {
        /**
         * Does it.
         *
         * @param tile [outputs, columns]
         * @param column number of its first column in the weight
         */
        void with(float[] tile, int column, int columns);
    }

    /**
     * Reads the weights of outputs [first, first + count).
     *
     * @throws UncheckedIOException if they cannot be read
     */
    void forEach(Room room, int first, int count, Use use) {
        int most = Math.min(TILE, ALL_TILES / Runtime.getRuntime().availableProcessors());
        int columns = Math.min(in, Math.max(step, most / count / step * step));
        float[] tile = room.of(Math.multiplyExact(count, columns));
        for (int column = 0; column < in; column += columns) {
            int some = Math.min(columns, in - column);
            try {
                weight.read(room.reader, first, count, column, some, tile);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            use.with(tile, column, some);
        }
    }
}
