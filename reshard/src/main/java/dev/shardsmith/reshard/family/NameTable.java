package dev.shardsmith.reshard.family;

import dev.shardsmith.reshard.family.MegatronName.Scope;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Names of a Megatron model taken apart, each once, as pairs of numbers: one of its prefix and one of its suffix.
 *
 * <p>A million names have a thousand prefixes and a few thousand suffixes. Whatever follows from a suffix or a prefix is so found
 * out once for each of these and not for each name.
 */
public final class NameTable {
    /** One name of each prefix: its scope, prefix and layer are those of all. */
    private final List<MegatronName> prefixes;

    /** One name of each suffix; the same text in two scopes is two suffixes. */
    private final List<MegatronName> suffixes;

    private final Map<String, Integer> prefixNumbers;
    private final Map<Scope, Map<String, Integer>> suffixNumbers;

    /** The suffix that came after each when that was there last: layers have the same parameters in the same order. */
    private int[] followers = new int[16];

    private int[] prefixOf;
    private int[] suffixOf;
    private int size;

    /** An empty table. */
    public NameTable() {
        this.prefixes = new ArrayList<>();
        this.suffixes = new ArrayList<>();
        this.prefixNumbers = new HashMap<>();
        this.suffixNumbers = new EnumMap<>(Scope.class);
        this.prefixOf = new int[16];
        this.suffixOf = new int[16];
    }

    /** A table with the prefixes and suffixes of another. */
    private NameTable(NameTable other, int[] prefixOf, int[] suffixOf) {
        this.prefixes = other.prefixes;
        this.suffixes = other.suffixes;
        this.prefixNumbers = other.prefixNumbers;
        this.suffixNumbers = other.suffixNumbers;
        this.prefixOf = prefixOf;
        this.suffixOf = suffixOf;
        this.size = prefixOf.length;
    }

    /** The table of names in their order. */
    static NameTable of(Collection<String> names) {
        NameTable table = new NameTable();
        names.forEach(table::add);
        return table;
    }

    /** Adds a name at the end. */
    public void add(String name) {
        if (size == prefixOf.length) {
            prefixOf = Arrays.copyOf(prefixOf, Math.max(16, 2 * size));
            suffixOf = Arrays.copyOf(suffixOf, prefixOf.length);
        }
        int prefix = size == 0 ? -1 : prefixOf[size - 1];
        int suffix = -1;
        if (prefix >= 0 && prefixes.get(prefix).scope() == Scope.LAYER) {
            suffix = follower(name, prefixes.get(prefix).prefix());
        }
        if (suffix < 0) {
            MegatronName parsed = MegatronName.parse(name);
            prefix = number(parsed.prefix(), parsed, prefixNumbers, prefixes);
            suffix = number(
                    parsed.suffix(),
                    parsed,
                    suffixNumbers.computeIfAbsent(parsed.scope(), scope -> new HashMap<>()),
                    suffixes);
        }
        if (size > 0) {
            follow(suffixOf[size - 1], suffix);
        }
        prefixOf[size] = prefix;
        suffixOf[size++] = suffix;
    }

    /** The number of a name's suffix if it is in the layer and has the suffix that is expected; else -1. */
    private int follower(String name, String layer) {
        int last = suffixOf[size - 1];
        int next = last < followers.length ? followers[last] - 1 : -1;
        if (next < 0 || suffixes.get(next).scope() != Scope.LAYER) {
            return -1;
        }
        String suffix = suffixes.get(next).suffix();
        return name.length() == layer.length() + suffix.length()
                        && name.startsWith(layer)
                        && name.startsWith(suffix, layer.length())
                ? next
                : -1;
    }

    private void follow(int last, int next) {
        if (last >= followers.length) {
            followers = Arrays.copyOf(followers, Math.max(2 * followers.length, last + 1));
        }
        followers[last] = next + 1;
    }

    private static int number(
            String text, MegatronName name, Map<String, Integer> numbers, List<MegatronName> representatives) {
        Integer known = numbers.get(text);
        if (known != null) {
            return known;
        }
        numbers.put(text, representatives.size());
        representatives.add(name);
        return representatives.size() - 1;
    }

    /** These of the names, in this order. */
    NameTable select(int[] numbers) {
        int[] newPrefixes = new int[numbers.length];
        int[] newSuffixes = new int[numbers.length];
        for (int i = 0; i < numbers.length; i++) {
            newPrefixes[i] = prefixOf[numbers[i]];
            newSuffixes[i] = suffixOf[numbers[i]];
        }
        return new NameTable(this, newPrefixes, newSuffixes);
    }

    /** How many names there are. */
    public int size() {
        return size;
    }

    /** The number of a name's prefix. */
    int prefix(int name) {
        return prefixOf[name];
    }

    /** The number of a name's suffix within its scope. */
    int suffix(int name) {
        return suffixOf[name];
    }

    /** A name of each prefix, by its number; its suffix tells nothing. */
    List<MegatronName> prefixes() {
        return prefixes;
    }

    /** A name of each suffix, by its number; its prefix and layer tell nothing. */
    List<MegatronName> suffixes() {
        return suffixes;
    }

    /** A name as it was. */
    String name(int name) {
        return prefixes.get(prefixOf[name]).prefix()
                + suffixes.get(suffixOf[name]).suffix();
    }
}
