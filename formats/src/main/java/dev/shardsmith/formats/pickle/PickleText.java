package dev.shardsmith.formats.pickle;

import dev.shardsmith.formats.CheckpointException;
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** How strings and numbers are spelt in pickles: UTF-8 that may hold lone surrogates, and the text forms of protocol 0. */
final class PickleText {
    private PickleText() {}

    /** Decodes UTF-8; a lone surrogate, which Python allows here, becomes Java's. */
    static String utf8(byte[] bytes, int from, int length, String source, long offset) throws CheckpointException {
        int signs = 0;
        for (int i = from; i < from + length; i++) {
            signs |= bytes[i];
        }
        if (signs >= 0) {
            return new String(bytes, from, length, StandardCharsets.ISO_8859_1);
        }
        StringBuilder text = new StringBuilder(length);
        int i = from;
        int end = from + length;
        while (i < end) {
            int first = bytes[i] & 0xff;
            int size = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
            if (size == 0 || size > end - i) {
                throw notUtf8(source, offset + i - from);
            }
            int code = size == 1 ? first : first & 0xff >> size + 1;
            for (int k = 1; k < size; k++) {
                int next = bytes[i + k] & 0xff;
                if ((next & 0xc0) != 0x80) {
                    throw notUtf8(source, offset + i - from);
                }
                code = code << 6 | next & 0x3f;
            }
            boolean tooLong = size == 3 && code < 0x800 || size == 4 && code < 0x10000;
            boolean splitPair = Character.isBmpCodePoint(code)
                    && Character.isLowSurrogate((char) code)
                    && text.length() > 0
                    && Character.isHighSurrogate(text.charAt(text.length() - 1));
            if (tooLong || code > Character.MAX_CODE_POINT || splitPair) {
                throw notUtf8(source, offset + i - from);
            }
            text.appendCodePoint(code);
            i += size;
        }
        return text.toString();
    }

    /** Encodes as Python's {@code surrogatepass} does. */
    static byte[] toUtf8(String text) {
        boolean lone = false;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (Character.isHighSurrogate(c) && i + 1 < text.length() && Character.isLowSurrogate(text.charAt(i + 1))) {
                i++;
            } else if (Character.isSurrogate(c)) {
                lone = true;
            }
        }
        if (!lone) {
            return text.getBytes(StandardCharsets.UTF_8);
        }
        ByteArrayOutputStream out = new ByteArrayOutputStream(text.length() + 8);
        text.codePoints().forEach(code -> {
            if (code >= Character.MIN_SURROGATE && code <= Character.MAX_SURROGATE) {
                out.write(0xe0 | code >> 12);
                out.write(0x80 | code >> 6 & 0x3f);
                out.write(0x80 | code & 0x3f);
            } else {
                out.writeBytes(Character.toString(code).getBytes(StandardCharsets.UTF_8));
            }
        });
        return out.toByteArray();
    }

    /** The argument of INT, where {@code 00} and {@code 01} are booleans, or null if it is no number. */
    static PyValue intLine(String line) {
        return switch (line) {
            case "00" -> PyBool.FALSE;
            case "01" -> PyBool.TRUE;
            default -> decimal(line);
        };
    }

    /** The argument of LONG, or null if it is no number. */
    static PyValue longLine(String line) {
        return decimal(line.endsWith("L") ? line.substring(0, line.length() - 1) : line);
    }

    private static PyValue decimal(String digits) {
        try {
            return digits.length() < 18 ? PyInt.of(Long.parseLong(digits)) : PyInt.of(new BigInteger(digits));
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /** The argument of FLOAT, or null if it is no number. */
    static PyFloat floatLine(String line) {
        switch (line) {
            case "inf", "+inf", "Infinity":
                return new PyFloat(Double.POSITIVE_INFINITY);
            case "-inf", "-Infinity":
                return new PyFloat(Double.NEGATIVE_INFINITY);
            case "nan", "-nan", "+nan":
                return new PyFloat(Double.NaN);
            default:
        }
        for (int i = 0; i < line.length(); i++) {
            // Java would also take hexadecimal digits and the suffixes f and d.
            if ("0123456789+-.eE".indexOf(line.charAt(i)) < 0) {
                return null;
            }
        }
        try {
            return new PyFloat(Double.parseDouble(line));
        } catch (NumberFormatException e) {
            return null;
        }
    }

    /** The bytes of STRING's quoted argument, or null if it is not well formed. */
    static byte[] quoted(String line) {
        int length = line.length();
        if (length < 2 || line.charAt(0) != line.charAt(length - 1) || "'\"".indexOf(line.charAt(0)) < 0) {
            return null;
        }
        byte[] out = new byte[length];
        int size = 0;
        int i = 1;
        while (i < length - 1) {
            char c = line.charAt(i++);
            if (c != '\\') {
                out[size++] = (byte) c;
                continue;
            }
            if (i == length - 1) {
                return null;
            }
            char escape = line.charAt(i++);
            int simple = "\\'\"abfnrtv".indexOf(escape);
            if (simple >= 0) {
                out[size++] = (byte) "\\'\"\u0007\b\f\n\r\t\u000b".charAt(simple);
            } else if (escape == 'x') {
                int value = number(line, i, Math.min(i + 2, length - 1), 16);
                if (value < 0 || i + 2 > length - 1) {
                    return null;
                }
                out[size++] = (byte) value;
                i += 2;
            } else if (escape >= '0' && escape <= '7') {
                int stop = i;
                while (stop < length - 1 && stop < i + 2 && line.charAt(stop) >= '0' && line.charAt(stop) <= '7') {
                    stop++;
                }
                out[size++] = (byte) number(line, i - 1, stop, 8);
                i = stop;
            } else {
                // Python keeps an unknown escape as it is.
                out[size++] = '\\';
                out[size++] = (byte) escape;
            }
        }
        return Arrays.copyOf(out, size);
    }

    /** The text of UNICODE's argument: Latin-1 with {@code \\uXXXX} and {@code \\UXXXXXXXX}, or null if malformed. */
    static String rawUnicodeEscape(String line) {
        if (line.indexOf('\\') < 0) {
            return line;
        }
        StringBuilder text = new StringBuilder(line.length());
        int i = 0;
        while (i < line.length()) {
            char c = line.charAt(i);
            char next = i + 1 < line.length() ? line.charAt(i + 1) : 0;
            if (c != '\\') {
                text.append(c);
                i++;
            } else if (next != 'u' && next != 'U') {
                // A backslash and what follows it stand for themselves, so that the second of two starts no escape.
                text.append(c);
                i++;
                if (next == '\\') {
                    text.append(next);
                    i++;
                }
            } else {
                int digits = next == 'u' ? 4 : 8;
                int code = i + 2 + digits <= line.length() ? number(line, i + 2, i + 2 + digits, 16) : -1;
                if (code < 0 || code > Character.MAX_CODE_POINT) {
                    return null;
                }
                text.appendCodePoint(code);
                i += 2 + digits;
            }
        }
        return text.toString();
    }

    private static int number(String text, int from, int to, int radix) {
        long value = from < to ? 0 : -1;
        for (int i = from; i < to; i++) {
            int digit = Character.digit(text.charAt(i), radix);
            if (digit < 0) {
                return -1;
            }
            value = value * radix + digit;
        }
        return value > Integer.MAX_VALUE ? -1 : (int) value;
    }

    private static CheckpointException notUtf8(String source, long offset) {
        return CheckpointException.malformed(source, offset, "a string is not valid UTF-8");
    }
}
