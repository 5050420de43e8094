package dev.shardsmith.reshard.pattern;

/**
 * The layers that one pipeline rank builds as one model chunk.
 *
 * @param pp pipeline rank
 * @param vp virtual stage (chunk) of that rank; 0 without virtual stages
 * @param offset global number of the first layer
 * @param layers the symbols of the layers, one a layer
 */
public record Stage(int pp, int vp, int offset, String layers) {
    /** Number of layers. */
    public int layerCount() {
        return layers.length();
    }

    /** Whether a layer with this global number is built here. */
    public boolean holds(int globalLayer) {
        return globalLayer >= offset && globalLayer - offset < layers.length();
    }
}
