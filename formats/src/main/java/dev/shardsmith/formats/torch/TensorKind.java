package dev.shardsmith.formats.torch;

/** How a tensor's values are kept. */
public enum TensorKind {
    /** Elements in a storage, found by offset and strides. */
    STRIDED,
    /** A strided tensor of integers with a scale and a zero point, or one of each per channel. */
    QUANTIZED,
    /** Coordinates and values. */
    SPARSE_COO,
    /** Compressed rows. */
    SPARSE_CSR,
    /** Compressed columns. */
    SPARSE_CSC,
    /** Compressed rows of blocks. */
    SPARSE_BSR,
    /** Compressed columns of blocks. */
    SPARSE_BSC,
    /** Several tensors of different shapes in one buffer. */
    NESTED,
    /** Shape and type only. */
    META,
    /** The shell of a subclass; the values are in tensors among its attributes. */
    SUBCLASS,
    /** Kept as something else than a storage, such as an array of NumPy. */
    FOREIGN,
    /** A parameter or buffer that was never given a shape. */
    UNINITIALIZED
}
