package dev.shardsmith.formats.pickle;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * The strings of a pickle: letters of those that are soon forgotten, all of them ASCII, and strings that are kept.
 *
 * <p>A kept one is told by its number. One that is not kept is told by where its letters begin, and in the lowest bits how many they
 * are.
 */
final class PickleNodeTexts {
    private static final int LENGTH_BITS = 20;

    /** Bytes of letters that may be in use at once. */
    private static final int MAX_LETTERS = 1 << 27;

    private final List<String> kept = new ArrayList<>();
    private byte[] letters = new byte[1 << 12];
    private int top;

    boolean is(long number, boolean isKept, String text) {
        if (isKept) {
            return kept.get((int) number).equals(text);
        }
        return count(number) == text.length() && follows(number, text, 0);
    }

    String get(long number, boolean isKept) {
        return isKept ? kept.get((int) number) : fresh(number);
    }

    @SuppressWarnings("deprecation") // the letters are all ASCII, and this way takes them as they are
    private String fresh(long number) {
        return new String(letters, 0, begin(number), count(number));
    }

    boolean isPartOf(long number, boolean isKept, String whole, int at) {
        if (isKept) {
            String part = kept.get((int) number);
            return part.indexOf('.') < 0 && whole.startsWith(part, at);
        }
        return count(number) <= whole.length() - at && follows(number, whole, at) && !hasDot(number);
    }

    int length(long number, boolean isKept) {
        return isKept ? kept.get((int) number).length() : count(number);
    }

    private boolean follows(long number, String whole, int at) {
        int begin = begin(number);
        int count = count(number);
        for (int i = 0; i < count; i++) {
            if (letters[begin + i] != whole.charAt(at + i)) {
                return false;
            }
        }
        return true;
    }

    private boolean hasDot(long number) {
        int begin = begin(number);
        int end = begin + count(number);
        for (int i = begin; i < end; i++) {
            if (letters[i] == '.') {
                return true;
            }
        }
        return false;
    }

    /** Where the letters of a text of a length are to be put. */
    int room(int length) throws PickleDeclinedException {
        if (length >= 1 << LENGTH_BITS || top > MAX_LETTERS - length) {
            throw new PickleDeclinedException();
        }
        if (length > letters.length - top) {
            letters = Arrays.copyOf(letters, Math.max(top + length, 2 * letters.length));
        }
        return top;
    }

    byte[] letters() {
        return letters;
    }

    /** The text whose letters lie where {@link #room} said. */
    long add(int length) {
        long number = (long) top << LENGTH_BITS | length;
        top += length;
        return number;
    }

    long keep(String text) {
        kept.add(text);
        return kept.size() - 1L;
    }

    int top() {
        return top;
    }

    void forgetSince(int oldTop) {
        top = oldTop;
    }

    private static int begin(long number) {
        return (int) (number >>> LENGTH_BITS);
    }

    private static int count(long number) {
        return (int) number & (1 << LENGTH_BITS) - 1;
    }
}
