package dev.shardsmith.reshard.family;

/** Numbers inside of keys. */
final class Digits {
    /** As many digits as always fit an int. */
    private static final int MOST = 9;

    private Digits() {}

    /** Behind the digits that begin at a position, which are nine at most; the position itself if there are none. */
    static int end(String key, int start) {
        int end = start;
        while (end < key.length() && end < start + MOST && isDigit(key.charAt(end))) {
            end++;
        }
        return end;
    }

    /** True for 0 to 9, whatever other scripts have. */
    static boolean isDigit(char character) {
        return character >= '0' && character <= '9';
    }
}
