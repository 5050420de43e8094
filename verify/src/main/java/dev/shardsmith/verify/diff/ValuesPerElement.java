package dev.shardsmith.verify.diff;

import dev.shardsmith.formats.DType;
import dev.shardsmith.verify.digest.ElementDecoder;

/** How many of the compared values one element is. */
public final class ValuesPerElement {
    private ValuesPerElement() {}

    /** 2 for complex types and pairs of nibbles, else 1. */
    public static int of(DType dtype) {
        return ElementDecoder.of(dtype).map(ElementDecoder::perElement).orElse(1);
    }
}
