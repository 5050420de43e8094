package dev.shardsmith.verify.diff;

import java.util.ArrayList;
import java.util.List;

/** The few worst elements seen so far, worst first; of equally bad ones those with the lowest index. */
final class WorstElements {
    private final int limit;
    private List<WorstElement> worst = new ArrayList<>(0);
    private double threshold = -1;

    WorstElements(int limit) {
        this.limit = limit;
    }

    /** The difference that an element needs to exceed to be taken. Elements come in ascending order of their index. */
    double threshold() {
        return threshold;
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
