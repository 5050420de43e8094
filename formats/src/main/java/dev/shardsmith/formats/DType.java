package dev.shardsmith.formats;

import java.util.Locale;
import java.util.Optional;

/**
 * Element types that PyTorch 2.11 and safetensors 0.8 store, each with its names in both and its size.
 *
 * <p>Types below one byte per element ({@link #bits()} not a multiple of 8) are moved only as whole, contiguous tensors.
 * {@code float4_e2m1fn_x2} counts one element per byte, as PyTorch does: each holds two values.
 */
public enum DType {
    F64("float64", "F64", 64, Kind.FLOAT),
    F32("float32", "F32", 32, Kind.FLOAT),
    F16("float16", "F16", 16, Kind.FLOAT),
    BF16("bfloat16", "BF16", 16, Kind.FLOAT),
    F8_E4M3FN("float8_e4m3fn", "F8_E4M3", 8, Kind.FLOAT),
    F8_E5M2("float8_e5m2", "F8_E5M2", 8, Kind.FLOAT),
    F8_E4M3FNUZ("float8_e4m3fnuz", "F8_E4M3FNUZ", 8, Kind.FLOAT),
    F8_E5M2FNUZ("float8_e5m2fnuz", "F8_E5M2FNUZ", 8, Kind.FLOAT),
    F8_E8M0FNU("float8_e8m0fnu", "F8_E8M0", 8, Kind.FLOAT),
    F4_E2M1FN_X2("float4_e2m1fn_x2", "F4", 8, Kind.PACKED),
    F6_E2M3("float6_e2m3", "F6_E2M3", 6, Kind.PACKED),
    F6_E3M2("float6_e3m2", "F6_E3M2", 6, Kind.PACKED),
    I64("int64", "I64", 64, Kind.SIGNED),
    I32("int32", "I32", 32, Kind.SIGNED),
    I16("int16", "I16", 16, Kind.SIGNED),
    I8("int8", "I8", 8, Kind.SIGNED),
    U64("uint64", "U64", 64, Kind.UNSIGNED),
    U32("uint32", "U32", 32, Kind.UNSIGNED),
    U16("uint16", "U16", 16, Kind.UNSIGNED),
    U8("uint8", "U8", 8, Kind.UNSIGNED),
    BOOL("bool", "BOOL", 8, Kind.BOOL),
    C32("complex32", "", 32, Kind.COMPLEX),
    C64("complex64", "C64", 64, Kind.COMPLEX),
    C128("complex128", "", 128, Kind.COMPLEX),
    QINT8("qint8", "", 8, Kind.QUANTIZED),
    QUINT8("quint8", "", 8, Kind.QUANTIZED),
    QINT32("qint32", "", 32, Kind.QUANTIZED),
    QUINT4X2("quint4x2", "", 4, Kind.QUANTIZED),
    QUINT2X4("quint2x4", "", 2, Kind.QUANTIZED),
    BITS8("bits8", "", 8, Kind.BITS),
    BITS16("bits16", "", 16, Kind.BITS),
    BITS1X8("bits1x8", "", 8, Kind.BITS),
    BITS2X4("bits2x4", "", 8, Kind.BITS),
    BITS4X2("bits4x2", "", 8, Kind.BITS);

    /** How the bits are to be understood. */
    public enum Kind {
        FLOAT,
        SIGNED,
        UNSIGNED,
        BOOL,
        COMPLEX,
        QUANTIZED,
        BITS,
        PACKED
    }

    private final String torchName;
    private final String safetensorsName;
    private final int bits;
    private final Kind kind;

    DType(String torchName, String safetensorsName, int bits, Kind kind) {
        this.torchName = torchName;
        this.safetensorsName = safetensorsName;
        this.bits = bits;
        this.kind = kind;
    }

    /** PyTorch's name without the module: {@code bfloat16}. */
    public String torchName() {
        return torchName;
    }

    /** The code of the safetensors header, empty where that format has none. */
    public Optional<String> safetensorsName() {
        return safetensorsName.isEmpty() ? Optional.empty() : Optional.of(safetensorsName);
    }

    /** The short name for reports: the safetensors code or one made like it ({@code C128}), else PyTorch's in capitals. */
    public String shortName() {
        if (!safetensorsName.isEmpty()) {
            return safetensorsName;
        }
        return kind == Kind.COMPLEX ? name() : torchName.toUpperCase(Locale.ROOT);
    }

    /** Size of one element in bits. */
    public int bits() {
        return bits;
    }

    /** How the bits are to be understood. */
    public Kind kind() {
        return kind;
    }

    /** True where every element begins at a byte. */
    public boolean byteAligned() {
        return bits % 8 == 0;
    }

    /**
     * Size of one element in bytes.
     *
     * @throws IllegalStateException for types below one byte
     */
    public int byteSize() {
        if (!byteAligned()) {
            throw new IllegalStateException(torchName + " has " + bits + " bits per element");
        }
        return bits / 8;
    }

    /** Bytes that {@code elements} elements occupy, rounded up to whole bytes. */
    public long bytes(long elements) {
        return byteAligned()
                ? Math.multiplyExact(elements, (long) (bits / 8))
                : Math.addExact(Math.multiplyExact(elements, (long) bits), 7L) / 8;
    }

    /** Width in bytes of the unit whose bytes are reversed in files of the other byte order. */
    public int swapUnit() {
        int bytes = Math.max(1, bits / 8);
        return kind == Kind.COMPLEX ? bytes / 2 : bytes;
    }

    /** The type of PyTorch's name, without the module. */
    public static Optional<DType> ofTorchName(String name) {
        for (DType dtype : values()) {
            if (dtype.torchName.equals(name)) {
                return Optional.of(dtype);
            }
        }
        return Optional.empty();
    }

    /** The type of a safetensors code; codes are case-sensitive. */
    public static Optional<DType> ofSafetensorsName(String code) {
        for (DType dtype : values()) {
            if (!code.isEmpty() && dtype.safetensorsName.equals(code)) {
                return Optional.of(dtype);
            }
        }
        return Optional.empty();
    }
}
