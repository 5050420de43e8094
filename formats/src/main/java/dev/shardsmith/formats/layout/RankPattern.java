package dev.shardsmith.formats.layout;

import dev.shardsmith.formats.CheckpointException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * How the files of tensor-parallel ranks are named: {@code model.tp{rank}-of-{world}.pt}.
 *
 * <p>{@code {rank}} stands for a rank's number, with or without leading zeros, {@code {world}} for the number of ranks,
 * {@code *} for any characters and {@code ?} for one; a slash leads into a folder.
 *
 * @param text the pattern as written
 */
record RankPattern(String text) {
    static final String RANK = "{rank}";
    static final String WORLD = "{world}";

    private static final Pattern NUMBER = Pattern.compile("\\d{1,6}");
    private static final Pattern OF = Pattern.compile("([-_.]?of[-_.]?)(\\d{1,6})(.*)");
    private static final Pattern AFTER_OF = Pattern.compile(".*of[-_.]?");

    /** What stands in front of a rank's number when a name says that it is one. */
    private static final Pattern RANK_WORD = Pattern.compile("(?i)(?:.*[^a-z])?(?:rank|tp|mp)[-_.=]?");

    /**
     * What a name says.
     *
     * @param name the file's name, or its path inside the checkpoint
     * @param rank the rank's number as written
     * @param world the number of ranks, 0 if the name does not tell
     */
    record Named(String name, int rank, int world) {}

    /**
     * The pattern that a user gives.
     *
     * @throws CheckpointException of kind REFUSED if it does not say where the rank stands, or leads out of the checkpoint
     */
    static RankPattern parse(String text) throws CheckpointException {
        int first = text.indexOf(RANK);
        boolean outside = text.startsWith("/") || List.of(text.split("/", -1)).contains("..");
        if (first < 0 || text.indexOf(RANK, first + 1) >= 0 || outside) {
            throw CheckpointException.of(
                            CheckpointException.Kind.REFUSED,
                            "--file-pattern " + text,
                            outside
                                    ? "a pattern for rank files names files inside the checkpoint"
                                    : "a pattern for rank files has {rank} exactly once, where the rank's number stands")
                    .withHint("--file-pattern 'model_{rank}.pt', or 'model.tp{rank}-of-{world}.pt'");
        }
        return new RankPattern(text);
    }

    /**
     * The patterns that a name may have been made from, one for each number in it.
     *
     * @param worded only those where a word says that the number is a rank
     */
    static List<RankPattern> of(String name, boolean worded) {
        List<RankPattern> patterns = new ArrayList<>();
        String stem = name.contains(".") ? name.substring(0, name.lastIndexOf('.')) : name;
        Matcher number = NUMBER.matcher(stem);
        while (number.find()) {
            String before = name.substring(0, number.start());
            if (AFTER_OF.matcher(before).matches()
                    || worded && !RANK_WORD.matcher(before).matches()) {
                continue;
            }
            String after = name.substring(number.end());
            Matcher of = OF.matcher(after);
            patterns.add(new RankPattern(before + RANK + (of.matches() ? of.group(1) + WORLD + of.group(3) : after)));
        }
        return patterns;
    }

    /** The names that fit, by pattern, in the order in which they are met. */
    static Map<RankPattern, List<Named>> group(List<String> names, boolean worded) {
        Map<RankPattern, List<Named>> groups = new LinkedHashMap<>();
        for (String name : names) {
            for (RankPattern pattern : of(name, worded)) {
                List<Named> group = groups.computeIfAbsent(pattern, none -> new ArrayList<>());
                pattern.match(name).ifPresent(group::add);
            }
        }
        return groups;
    }

    /** Number of folders that the pattern leads into. */
    int depth() {
        return (int) text.chars().filter(c -> c == '/').count();
    }

    /** What a name says, if it fits the pattern. */
    Optional<Named> match(String name) {
        StringBuilder regex = new StringBuilder();
        int at = 0;
        while (at < text.length()) {
            if (text.startsWith(RANK, at)) {
                regex.append("(?<rank>\\d{1,6})");
                at += RANK.length();
            } else if (text.startsWith(WORLD, at)) {
                regex.append(regex.indexOf("(?<world>") < 0 ? "(?<world>\\d{1,6})" : "\\d{1,6}");
                at += WORLD.length();
            } else {
                char c = text.charAt(at++);
                regex.append(c == '*' ? "[^/]*" : c == '?' ? "[^/]" : Pattern.quote(String.valueOf(c)));
            }
        }
        Matcher matcher = Pattern.compile(regex.toString(), Pattern.DOTALL).matcher(name);
        if (!matcher.matches()) {
            return Optional.empty();
        }
        int world = text.contains(WORLD) ? Integer.parseInt(matcher.group("world")) : 0;
        return Optional.of(new Named(name, Integer.parseInt(matcher.group("rank")), world));
    }

    @Override
    public String toString() {
        return text;
    }
}
