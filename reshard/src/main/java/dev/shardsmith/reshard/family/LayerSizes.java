package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.Shape;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.IntFunction;

/**
 * The parameters of a layer and their shapes; equal for layers of one kind and one size.
 *
 * @param suffixes numbers of the parameters' suffixes in a {@link NameTable}
 * @param shapes shapes of the undivided parameters
 */
record LayerSizes(int[] suffixes, Shape[] shapes) {
    /**
     * The sizes of a layer.
     *
     * @param layer the numbers of its names
     * @param names all names
     * @param shapes the shape of each name by its number
     */
    static LayerSizes of(int[] layer, NameTable names, IntFunction<Shape> shapes) {
        int[] suffixes = new int[layer.length];
        Shape[] sizes = new Shape[layer.length];
        for (int i = 0; i < layer.length; i++) {
            suffixes[i] = names.suffix(layer[i]);
            sizes[i] = shapes.apply(layer[i]);
        }
        return new LayerSizes(suffixes, sizes);
    }

    /** The shapes by suffix. */
    Map<String, Shape> bySuffix(NameTable names) {
        Map<String, Shape> bySuffix = new LinkedHashMap<>();
        for (int i = 0; i < suffixes.length; i++) {
            bySuffix.put(names.suffixes().get(suffixes[i]).suffix(), shapes[i]);
        }
        return bySuffix;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof LayerSizes that
                && Arrays.equals(suffixes, that.suffixes)
                && Arrays.equals(shapes, that.shapes);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(suffixes) + Arrays.hashCode(shapes);
    }
}
