package dev.shardsmith.verify.report;

import java.util.Locale;

/** Amounts as people read them. */
final class Amounts {
    private static final String UNITS = "KMGTPE";

    private Amounts() {}

    /** A whole number with its thousands apart. */
    static String count(long number) {
        return String.format(Locale.ROOT, "%,d", number);
    }

    /** Bytes with three digits and a unit, a power of 1024. */
    static String bytes(long bytes) {
        if (bytes < 1024) {
            return bytes + " B";
        }
        double value = bytes;
        int unit = -1;
        while (value >= 1023.5 && unit < UNITS.length() - 1) {
            value /= 1024;
            unit++;
        }
        String format = value < 9.995 ? "%.2f %ciB" : value < 99.95 ? "%.1f %ciB" : "%.0f %ciB";
        return String.format(Locale.ROOT, format, value, UNITS.charAt(unit));
    }
}
