package dev.shardsmith.reshard.layout;

import dev.shardsmith.formats.DType;
import dev.shardsmith.reshard.sample.SampleSpec;

/** Small models for tests. */
final class SampleSpecs {
    private SampleSpecs() {}

    /** One MLP between embedding and output layer of 16 rows each. */
    static SampleSpec mlp(DType dtype) {
        return of("-", dtype);
    }

    /** A model of some layers. */
    static SampleSpec of(String pattern, DType dtype) {
        return new SampleSpec(
                pattern, 4, 16, 2, 2, 2, 2, 2, 2, 2, 8, false, false, false, true, true, 2, 8, 0, true, dtype, 7);
    }
}
