package dev.shardsmith.formats.torch;

import dev.shardsmith.formats.DType;
import dev.shardsmith.formats.pickle.PyGlobal;
import java.util.Map;
import java.util.Optional;

/** PyTorch's storage classes and their element types; no other type has one. */
final class StorageTypes {
    private static final Map<String, DType> CLASSES = Map.ofEntries(
            Map.entry("DoubleStorage", DType.F64),
            Map.entry("FloatStorage", DType.F32),
            Map.entry("HalfStorage", DType.F16),
            Map.entry("BFloat16Storage", DType.BF16),
            Map.entry("LongStorage", DType.I64),
            Map.entry("IntStorage", DType.I32),
            Map.entry("ShortStorage", DType.I16),
            Map.entry("CharStorage", DType.I8),
            Map.entry("ByteStorage", DType.U8),
            Map.entry("BoolStorage", DType.BOOL),
            Map.entry("ComplexFloatStorage", DType.C64),
            Map.entry("ComplexDoubleStorage", DType.C128),
            Map.entry("QInt8Storage", DType.QINT8),
            Map.entry("QUInt8Storage", DType.QUINT8),
            Map.entry("QInt32Storage", DType.QINT32),
            Map.entry("QUInt4x2Storage", DType.QUINT4X2),
            Map.entry("QUInt2x4Storage", DType.QUINT2X4));

    private StorageTypes() {}

    /** True for a class of storages, typed or untyped. */
    static boolean isStorage(PyGlobal global) {
        return isUntyped(global) || elementType(global).isPresent();
    }

    static boolean isUntyped(PyGlobal global) {
        return isTorch(global)
                && (global.name().equals("UntypedStorage") || global.name().equals("_UntypedStorage"));
    }

    static Optional<DType> elementType(PyGlobal global) {
        return isTorch(global) ? Optional.ofNullable(CLASSES.get(global.name())) : Optional.empty();
    }

    /** Bytes of one element as the storage counts: the packed types count bytes. */
    static int itemSize(Optional<DType> elementType) {
        return elementType.filter(DType::byteAligned).map(DType::byteSize).orElse(1);
    }

    /** The class for an element type; empty where a storage of it has to be untyped. */
    static Optional<String> className(DType dtype) {
        return CLASSES.entrySet().stream()
                .filter(entry -> entry.getValue() == dtype)
                .map(Map.Entry::getKey)
                .findFirst();
    }

    private static boolean isTorch(PyGlobal global) {
        return global.module().equals("torch") || global.module().startsWith("torch.");
    }
}
