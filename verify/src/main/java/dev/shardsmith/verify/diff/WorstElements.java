package dev.shardsmith.verify.diff;

import java.util.ArrayList;
import java.util.List;

/** The few worst elements seen so far, worst first; of equally bad ones those with the lowest index. */
final class WorstElements {
    /** Below any difference. */
    static final double NO_THRESHOLD = -1;

    private final int limit;
    private List<WorstElement> worst = new ArrayList<>(0);
    private double threshold = NO_THRESHOLD;

    WorstElements(int limit) {
        this.limit = limit;
    }

    /** The difference that an element needs to exceed to be taken. Elements come in ascending order of their index. */
    double threshold() {
        return threshold;
    }

    /** Takes no element that differs less. Nothing was added yet. */
    void requireAtLeast(double difference) {
        threshold = difference < 0 ? NO_THRESHOLD : Math.nextDown(difference);
    }

    void add(WorstElement element) {
        int place = worst.size();
        while (place > 0 && element.before(worst.get(place - 1))) {
            place--;
        }
        if (place >= limit) {
            return;
        }
        worst.add(place, element);
        if (worst.size() > limit) {
            worst.remove(limit);
        }
        if (worst.size() == limit) {
            threshold = worst.get(limit - 1).difference();
        }
    }

    void addAll(WorstElements others) {
        others.worst.forEach(this::add);
    }

    /** Keeps the elements in little room; none can be added then. */
    void complete() {
        worst = List.copyOf(worst);
    }

    List<WorstElement> list() {
        return List.copyOf(worst);
    }
}
