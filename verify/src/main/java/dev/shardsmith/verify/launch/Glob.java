package dev.shardsmith.verify.launch;

/** Shell patterns of {@code case}: {@code *} any text, {@code ?} one character; all else is itself. */
final class Glob {
    private Glob() {}

    static boolean matches(String pattern, String text) {
        int p = 0;
        int t = 0;
        int star = -1;
        int mark = 0;
        while (t < text.length()) {
            boolean here = p < pattern.length();
            if (here && pattern.charAt(p) == '*') {
                star = p++;
                mark = t;
            } else if (here && (pattern.charAt(p) == '?' || pattern.charAt(p) == text.charAt(t))) {
                p++;
                t++;
            } else if (star >= 0) {
                p = star + 1;
                t = ++mark;
            } else {
                return false;
            }
        }
        while (p < pattern.length() && pattern.charAt(p) == '*') {
            p++;
        }
        return p == pattern.length();
    }
}
