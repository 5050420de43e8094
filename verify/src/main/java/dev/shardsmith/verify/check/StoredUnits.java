package dev.shardsmith.verify.check;

import dev.shardsmith.verify.forward.WeightSource;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Collectors;

/** Whether the weights of two sides were rounded to different types. */
final class StoredUnits {
    private StoredUnits() {}

    /** The coarsest rounding of both sides if they differ in it, else 0: equal types hold equal values. */
    static double difference(List<WeightSource> left, List<WeightSource> right) {
        TreeSet<Double> a = units(left);
        TreeSet<Double> b = units(right);
        return a.equals(b) || a.isEmpty() || b.isEmpty() ? 0 : Math.max(a.last(), b.last());
    }

    private static TreeSet<Double> units(List<WeightSource> weights) {
        return weights.stream().map(WeightSource::unit).collect(Collectors.toCollection(TreeSet::new));
    }
}
