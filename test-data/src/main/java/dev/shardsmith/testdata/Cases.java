package dev.shardsmith.testdata;

import java.util.random.RandomGenerator;
import java.util.random.RandomGeneratorFactory;

/**
 * Runs a property over many seeded random cases; a failure names the seed that repeats it alone.
 *
 * <p>{@code -Dcases.seed=N} runs one case, {@code -Dcases.count=N} changes how many run.
 */
public final class Cases {
    private Cases() {}

    /** A check of one random case. */
    @FunctionalInterface
    public interface Property {
        /** Throws if the property does not hold for what {@code random} gives. */
        void check(RandomGenerator random) throws Exception;
    }

    /** Checks a property for {@code count} seeds. */
    public static void forAll(int count, Property property) {
        long only = Long.parseLong(setting("cases.seed", "-1"));
        long first = only >= 0 ? only : 0;
        long last = only >= 0 ? only : Long.parseLong(setting("cases.count", Integer.toString(count))) - 1;
        for (long seed = first; seed <= last; seed++) {
            try {
                property.check(random(seed));
            } catch (Throwable failure) {
                throw new AssertionError("case failed, repeat it with -Dcases.seed=" + seed, failure);
            }
        }
    }

    /** The generator of a seed. */
    public static RandomGenerator random(long seed) {
        return RandomGeneratorFactory.of("L64X128MixRandom").create(seed);
    }

    private static String setting(String name, String otherwise) {
        String value = System.getProperty(name);
        return value == null || value.isEmpty() || value.startsWith("$") ? otherwise : value;
    }
}
