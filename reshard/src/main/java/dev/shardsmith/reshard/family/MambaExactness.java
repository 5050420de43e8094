package dev.shardsmith.reshard.family;

import dev.shardsmith.formats.CheckpointException;
import dev.shardsmith.formats.CheckpointException.Kind;
import dev.shardsmith.reshard.family.MambaRules.Unit;
import dev.shardsmith.reshard.family.MambaTable.Part;
import dev.shardsmith.reshard.rule.Component;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;

/** Whether the lengths of a part on the ranks are those that the rule gives, or which rank is off and by how much. */
final class MambaExactness {
    private static final int MOST_RANKS = 3;

    /** One rank's length, and what it would have to be for all to fit. */
    private record Suspect(int rank, long found, long expected, long unit) {
        long off() {
            return Math.abs(expected - found);
        }
    }

    private MambaExactness() {}

    /**
     * Checks the lengths of one part.
     *
     * @param whole the undivided layer
     * @return a warning if they fit, but not in the rule's unit
     * @throws CheckpointException if they fit in no unit at all
     */
    static Optional<String> check(
            String key, int axis, Part part, List<Long> lengths, MambaRules rules, MambaSizes whole)
            throws CheckpointException {
        int world = lengths.size();
        long width = lengths.stream().mapToLong(Long::longValue).sum();
        Unit unit = rules.unit(part, whole, width, world);
        if (fits(lengths, unit.unit())) {
            boolean refused = unit.even() && lengths.stream().distinct().count() > 1;
            return refused
                    ? Optional.of(unit.words() + " are divided unevenly, " + lengths
                            + ": the reference does not load such shards")
                    : Optional.empty();
        }
        long common = common(lengths);
        if (common > 0 && fits(lengths, common)) {
            boolean uneven = lengths.stream().distinct().count() > 1;
            boolean told = part.width().equals("h") ? uneven : unit.unit() > 1 && unit.unit() < width;
            return told
                    ? Optional.of((part.width().equals("h") ? "MLP channels" : unit.words())
                            + " are divided in multiples of " + common + ", not of " + unit.unit())
                    : Optional.empty();
        }
        List<Long> ordered = new ArrayList<>(lengths);
        ordered.sort(Comparator.reverseOrder());
        boolean inOrder = unit.unit() > 1 && fits(ordered, unit.unit()) || common > 1 && fits(ordered, common);
        if (!ordered.equals(lengths) && inOrder) {
            throw CheckpointException.of(
                            Kind.INCONSISTENT,
                            key,
                            "the ranks hold " + lengths + " " + lines(axis) + "; in the order " + ordered
                                    + " they would fit: the files of ranks are swapped or out of order")
                    .withHint("see which file is which rank's, and name them so");
        }
        boolean wholeAxis = List.of("V", "d", "any").contains(part.width());
        String what = (wholeAxis ? "" : part.name() + " ") + lines(axis);
        List<Suspect> suspects = suspects(lengths, part, rules, whole);
        throw CheckpointException.of(
                        Kind.INCONSISTENT,
                        key,
                        (suspects.isEmpty()
                                        ? all(lengths, width, unit.unit(), what)
                                        : one(suspects, lengths.size(), what))
                                + "; no multiple_of gives " + lengths)
                .withHint("compare the rank's file with its original: it may be of another run or world size");
    }

    /** The word for what an axis counts. */
    static String lines(int axis) {
        return axis == 0 ? "rows" : "columns";
    }

    private static String one(List<Suspect> suspects, int world, String what) {
        Suspect first = suspects.get(0);
        StringBuilder text = new StringBuilder("rank " + first.rank() + " of " + world + " holds " + first.found() + " "
                + what + ", the rule gives it " + first.expected() + ": off by " + first.off());
        for (Suspect other : suspects.subList(1, Math.min(2, suspects.size()))) {
            text.append("; or rank ")
                    .append(other.rank())
                    .append(", which holds ")
                    .append(other.found());
            text.append(", should hold ").append(other.expected());
        }
        return text.toString();
    }

    private static String all(List<Long> lengths, long width, long unit, String what) {
        Component rule = new Component("", width, width % unit == 0 ? unit : 1);
        List<String> off = new ArrayList<>();
        for (int rank = 0; rank < lengths.size() && off.size() < MOST_RANKS; rank++) {
            long expected = rule.length(rank, lengths.size());
            if (expected != lengths.get(rank)) {
                off.add("rank " + rank + " of " + lengths.size() + " holds " + lengths.get(rank) + " " + what
                        + ", the rule gives it " + expected + ": off by " + Math.abs(expected - lengths.get(rank)));
            }
        }
        return String.join("; ", off);
    }

    /** The ranks of which one alone, with another length, would make all fit; the likeliest first. */
    private static List<Suspect> suspects(List<Long> lengths, Part part, MambaRules rules, MambaSizes whole) {
        List<Suspect> suspects = new ArrayList<>();
        long least = Long.MAX_VALUE;
        for (int rank = 0; rank < lengths.size(); rank++) {
            Suspect best = null;
            List<Long> others = new ArrayList<>(lengths);
            others.remove(rank);
            long common = common(others);
            for (long expected : candidates(others, common)) {
                List<Long> mended = new ArrayList<>(lengths);
                mended.set(rank, expected);
                long width = mended.stream().mapToLong(Long::longValue).sum();
                long unit = rules.unit(part, whole, width, lengths.size()).unit();
                boolean ofRule = fits(mended, unit);
                if (ofRule || fits(mended, common(mended))) {
                    Suspect found = new Suspect(rank, lengths.get(rank), expected, ofRule ? unit : common);
                    best = best == null || found.off() < best.off() ? found : best;
                }
            }
            if (best != null && best.off() < least) {
                suspects.clear();
                least = best.off();
            }
            if (best != null && best.off() == least) {
                suspects.add(best);
            }
        }
        return suspects;
    }

    private static TreeSet<Long> candidates(List<Long> others, long common) {
        TreeSet<Long> lengths = new TreeSet<>();
        for (long length : others) {
            lengths.add(length);
            lengths.add(length + common);
            lengths.add(Math.max(0, length - common));
        }
        return lengths;
    }

    private static long common(List<Long> lengths) {
        BigInteger common = BigInteger.ZERO;
        for (long length : lengths) {
            common = common.gcd(BigInteger.valueOf(length));
        }
        return common.longValueExact();
    }

    private static boolean fits(List<Long> lengths, long unit) {
        long width = lengths.stream().mapToLong(Long::longValue).sum();
        if (unit < 1 || width % unit != 0) {
            return false;
        }
        Component component = new Component("", width, unit);
        for (int rank = 0; rank < lengths.size(); rank++) {
            if (component.length(rank, lengths.size()) != lengths.get(rank)) {
                return false;
            }
        }
        return true;
    }
}
