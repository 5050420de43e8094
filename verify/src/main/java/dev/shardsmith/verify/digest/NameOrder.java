package dev.shardsmith.verify.digest;

import java.util.Comparator;

/** The order of names in which {@code layers.2} comes before {@code layers.10}. */
enum NameOrder implements Comparator<String> {
    /** Digits that follow each other count as one number; everything else goes by its characters. */
    NUMBERS_BY_VALUE;

    @Override
    public int compare(String left, String right) {
        int i = 0;
        int j = 0;
        while (i < left.length() && j < right.length()) {
            int order;
            if (isDigit(left.charAt(i)) && isDigit(right.charAt(j))) {
                String one = digits(left, i);
                String other = digits(right, j);
                i += one.length();
                j += other.length();
                order = byValue(one, other);
            } else {
                order = Character.compare(left.charAt(i++), right.charAt(j++));
            }
            if (order != 0) {
                return order;
            }
        }
        int rest = Integer.compare(left.length() - i, right.length() - j);
        // Names that differ in leading zeros alone still have an order.
        return rest != 0 ? rest : left.compareTo(right);
    }

    private static int byValue(String left, String right) {
        String one = withoutZeros(left);
        String other = withoutZeros(right);
        return one.length() != other.length() ? Integer.compare(one.length(), other.length()) : one.compareTo(other);
    }

    private static String withoutZeros(String digits) {
        int zeros = 0;
        while (zeros < digits.length() && digits.charAt(zeros) == '0') {
            zeros++;
        }
        return digits.substring(zeros);
    }

    private static String digits(String name, int from) {
        int end = from;
        while (end < name.length() && isDigit(name.charAt(end))) {
            end++;
        }
        return name.substring(from, end);
    }

    private static boolean isDigit(char c) {
        return c >= '0' && c <= '9';
    }
}
