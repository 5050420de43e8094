package dev.shardsmith.formats.pickle;

import java.math.BigDecimal;
import java.math.MathContext;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

/** What simple Python values say, whichever way the stream spells them. */
public final class PythonText {
    private static final int LONGEST = 200;

    /** Classes inside classes inside classes: deeper is no program. */
    private static final int DEEPEST_CLASS = 8;

    private PythonText() {}

    /** The text of a string, or of a byte string of Python 2, which was its usual string. */
    public static Optional<String> string(PyValue value) {
        if (value instanceof PyStr text) {
            return Optional.of(text.value());
        }
        return value instanceof PyBytes bytes && bytes.kind() == PyBytes.Kind.PYTHON2_STR
                ? Optional.of(new String(bytes.bytes(), StandardCharsets.UTF_8))
                : Optional.empty();
    }

    /**
     * The bytes of a {@code bytes} or {@code bytearray}; protocols up to 2 spell these as calls of {@code _codecs.encode},
     * {@code bytes} and {@code bytearray}.
     */
    public static Optional<byte[]> bytes(PyValue value) {
        if (value instanceof PyBytes bytes) {
            return Optional.of(bytes.bytes());
        }
        if (!(value instanceof PyObject object) || !(object.callable() instanceof PyGlobal named)) {
            return Optional.empty();
        }
        PyGlobal callable = Python2Names.toPython3(named);
        PyTuple args = object.args() instanceof PyTuple tuple ? tuple : PyTuple.EMPTY;
        boolean encode = callable.is("_codecs", "encode");
        boolean constructor = callable.is("builtins", "bytes") || callable.is("builtins", "bytearray");
        if (constructor && args.items().isEmpty()) {
            return Optional.of(new byte[0]);
        }
        if (constructor
                && args.items().size() == 1
                && !(args.items().get(0) instanceof PyObject inner && isConstructor(inner))) {
            return bytes(args.items().get(0));
        }
        if ((encode || constructor)
                && args.items().size() == 2
                && args.items().get(0) instanceof PyStr text
                && args.items().get(1) instanceof PyStr encoding
                && (encoding.value().equals("latin1") || encoding.value().equals("latin-1"))
                && text.value().chars().allMatch(c -> c < 0x100)) {
            return Optional.of(text.value().getBytes(StandardCharsets.ISO_8859_1));
        }
        return Optional.empty();
    }

    private static boolean isConstructor(PyObject object) {
        return object.callable() instanceof PyGlobal named
                && Python2Names.toPython3(named).module().equals("builtins");
    }

    /** The name of a class or function as Python 3 has it. */
    public static PyGlobal modern(PyGlobal global) {
        return Python2Names.toPython3(global);
    }

    /** Python's {@code str()} of a simple value; of others the class in angle brackets. */
    public static String str(PyValue value) {
        return string(value).orElseGet(() -> repr(value));
    }

    /** Python's {@code repr()} of a simple value or a short tuple of such; of others the class in angle brackets. */
    public static String repr(PyValue value) {
        if (value instanceof PyInt) {
            return value.toString();
        }
        if (value instanceof PyBool bool) {
            return bool.value() ? "True" : "False";
        }
        if (value instanceof PyNone) {
            return "None";
        }
        if (value instanceof PyFloat real) {
            return real(real.value());
        }
        Optional<String> text = string(value);
        if (text.isPresent()) {
            return quote(text.get());
        }
        Optional<byte[]> bytes = bytes(value);
        if (bytes.isPresent()) {
            int shown = Math.min(bytes.get().length, LONGEST);
            return "b" + quote(new String(bytes.get(), 0, shown, StandardCharsets.ISO_8859_1));
        }
        if (value instanceof PyTuple tuple && tuple.items().stream().noneMatch(PyTuple.class::isInstance)) {
            StringBuilder out = new StringBuilder("(");
            for (PyValue item : tuple.items()) {
                out.append(out.length() > 1 ? ", " : "").append(repr(item));
                if (out.length() > LONGEST) {
                    return out.append(", …)").toString();
                }
            }
            return out.append(tuple.items().size() == 1 ? ",)" : ")").toString();
        }
        return "<" + kind(value) + ">";
    }

    /** What sort of value it is, whichever way the stream spells it: protocols up to 3 call the constructor of sets. */
    private static String kind(PyValue value) {
        Optional<String> name = qualifiedName(value);
        if (name.isPresent()) {
            return name.get();
        }
        if (!(value instanceof PyObject object)) {
            return value.describe();
        }
        String type = qualifiedName(object.callable()).orElse("object");
        return type.equals("builtins.set") || type.equals("builtins.frozenset") ? "a set" : "a " + type;
    }

    /**
     * The full name of a class or function, as Python 3 has it; empty for other values.
     *
     * <p>Protocols before 4 have no names with dots and fetch a class inside another one by a call of {@code getattr}.
     */
    public static Optional<String> qualifiedName(PyValue value) {
        String inner = "";
        PyValue outer = value;
        for (int depth = 0; depth < DEEPEST_CLASS && outer instanceof PyObject call; depth++) {
            if (!(call.callable() instanceof PyGlobal function)
                    || !modern(function).is("builtins", "getattr")
                    || !(call.args() instanceof PyTuple pair)
                    || pair.items().size() != 2
                    || string(pair.items().get(1)).isEmpty()) {
                return Optional.empty();
            }
            inner = "." + str(pair.items().get(1)) + inner;
            outer = pair.items().get(0);
        }
        return outer instanceof PyGlobal named ? Optional.of(modern(named).qualifiedName() + inner) : Optional.empty();
    }

    /** Python's shortest text that gives the same float again. */
    public static String real(double value) {
        if (Double.isNaN(value)) {
            return "nan";
        }
        if (Double.isInfinite(value)) {
            return value > 0 ? "inf" : "-inf";
        }
        if (value == 0) {
            return 1 / value < 0 ? "-0.0" : "0.0";
        }
        BigDecimal exact = new BigDecimal(value);
        BigDecimal shortest = exact;
        for (int digits = 1; digits <= 17; digits++) {
            shortest = exact.round(new MathContext(digits));
            if (shortest.doubleValue() == value) {
                break;
            }
        }
        shortest = shortest.stripTrailingZeros();
        int exponent = shortest.precision() - shortest.scale() - 1;
        if (exponent >= -4 && exponent < 16) {
            String plain = shortest.toPlainString();
            return plain.indexOf('.') < 0 ? plain + ".0" : plain;
        }
        String digits = shortest.unscaledValue().abs().toString();
        return (value < 0 ? "-" : "")
                + digits.charAt(0)
                + (digits.length() > 1 ? "." + digits.substring(1) : "")
                + "e"
                + (exponent < 0 ? "-" : "+")
                + (Math.abs(exponent) < 10 ? "0" : "")
                + Math.abs(exponent);
    }

    private static String quote(String text) {
        char quote = text.indexOf('\'') >= 0 && text.indexOf('"') < 0 ? '"' : '\'';
        StringBuilder out = new StringBuilder().append(quote);
        text.codePoints().limit(LONGEST).forEach(code -> {
            switch (code) {
                case '\n' -> out.append("\\n");
                case '\r' -> out.append("\\r");
                case '\t' -> out.append("\\t");
                case '\\' -> out.append("\\\\");
                default -> {
                    if (code == quote) {
                        out.append('\\').append(quote);
                    } else if (code < ' ' || code >= 0x7f && code < 0xa0) {
                        out.append("\\x%02x".formatted(code));
                    } else {
                        out.appendCodePoint(code);
                    }
                }
            }
        });
        return out.append(quote).toString();
    }
}
